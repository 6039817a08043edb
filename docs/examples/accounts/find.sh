#!/bin/sh
# Finds accounts with a wrong topic, and prints the eight most likely ones.
set -e
graphcleaner import accounts.graph --replace --yes \
  --nodes accounts.csv --columns id=handle,label=topic \
  --edges follows.csv --edge-columns src=follower,dst=followed
graphcleaner clean accounts.graph
graphcleaner shell accounts.graph -c 'suspects limit 8 return id, name, label, suggested, score'
graphcleaner export accounts.graph suspects --out suspects.csv
