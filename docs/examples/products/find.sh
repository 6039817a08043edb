#!/bin/sh
# Finds products with a wrong category, and prints the eight most likely ones.
set -e
graphcleaner import products.graph --replace --yes \
  --nodes products.csv --columns id=sku,label=category \
  --edges bought_together.csv --edge-columns src=sku,dst=bought_with
graphcleaner clean products.graph
graphcleaner shell products.graph -c 'suspects limit 8 return id, title, label, suggested, score'
graphcleaner export products.graph suspects --out suspects.csv
