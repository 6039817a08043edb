"""Finds products with a wrong category, and prints the eight most likely ones."""

import graphcleaner
import pandas

nodes, edges = pandas.read_csv("products.csv"), pandas.read_csv("bought_together.csv")
found = graphcleaner.clean(nodes, edges, columns={"id": "sku", "label": "category"}, edge_columns={"src": "sku", "dst": "bought_with"})
suspects = found[found.is_label_issue].sort_values("score", ascending=False).merge(nodes[["sku", "title"]])
print(len(suspects), "suspects")
print(suspects[["sku", "title", "given_label", "suggested_label", "score"]].head(8).round(3).to_string(index=False))
