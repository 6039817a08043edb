"""Finds accounts with a wrong topic, and prints the eight most likely ones."""

import graphcleaner
import pandas

nodes, edges = pandas.read_csv("accounts.csv"), pandas.read_csv("follows.csv")
found = graphcleaner.clean(nodes, edges, columns={"id": "handle", "label": "topic"}, edge_columns={"src": "follower", "dst": "followed"})
suspects = found[found.is_label_issue].sort_values("score", ascending=False).merge(nodes[["handle", "name"]])
print(len(suspects), "suspects")
print(suspects[["handle", "name", "given_label", "suggested_label", "score"]].head(8).round(3).to_string(index=False))
