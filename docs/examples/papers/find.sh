#!/bin/sh
# Finds papers with a wrong field, and prints the eight most likely ones.
set -e
graphcleaner import papers.graph --replace --yes \
  --nodes papers.csv --columns id=paper,label=field \
  --edges citations.csv --edge-columns src=citing,dst=cited
graphcleaner clean papers.graph
graphcleaner shell papers.graph -c 'suspects limit 8 return id, title, label, suggested, score'
graphcleaner export papers.graph suspects --out suspects.csv
