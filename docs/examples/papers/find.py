"""Finds papers with a wrong field, and prints the eight most likely ones."""

import graphcleaner
import pandas

nodes, edges = pandas.read_csv("papers.csv"), pandas.read_csv("citations.csv")
found = graphcleaner.clean(nodes, edges, columns={"id": "paper", "label": "field"},
                           edge_columns={"src": "citing", "dst": "cited"})
suspects = found[found.is_label_issue].sort_values("score", ascending=False).merge(nodes[["paper", "title"]])
print(len(suspects), "suspects")
print(suspects[["paper", "title", "given_label", "suggested_label", "score"]].head(8).round(3).to_string(index=False))
