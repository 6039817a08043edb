#!/usr/bin/env bash
# Imports, cleans and queries small data sets, and prints the table of docs/speed.md.
set -euo pipefail

if [ "${1-}" = --help ] || [ "${1-}" = -h ]; then
  cat <<'USAGE'
Usage: GRAPHCLEANER_DATA=FOLDER docs/measure.sh [NAME …]
Imports, cleans and queries data sets, once each, and prints the table of docs/speed.md. Run it from the root of the repository.
The folder has NAME/csv for each, with nodes.csv, edges.csv and, where there are some, features.npz and split.csv.
USAGE
  exit
fi
: "${GRAPHCLEANER_DATA:?set it to the folder of the data sets}"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
CGO_ENABLED=0 go build -o "$scratch/graphcleaner" .

# timed FILE COMMAND ...: its seconds go to FILE
timed() {
  local file=$1 began
  shift
  began=$(date +%s%N)
  "$@"
  echo "$(($(date +%s%N) - began))" | awk '{printf "%.2f", $1 / 1e9}' >"$file"
}

peak() { sed -n 's/.*"peak_rss_bytes": *\([0-9]*\).*/\1/p' "$1" | awk '{printf "%.0f", $1 / 1048576}'; }

echo "| data set | nodes | edges | import | clean | peak memory of import, clean | query | suspects |"
echo "|---|---|---|---|---|---|---|---|"
for name in ${*:-cora citeseer amazon_photo amazon_computers pubmed ogbn_arxiv}; do
  data=$GRAPHCLEANER_DATA/$name/csv db=$scratch/$name.graph out=$scratch/$name
  files=(--nodes "$data/nodes.csv" --edges "$data/edges.csv")
  for features in "$data/features.npz" "$data/features_partial.npz"; do
    if [ -f "$features" ]; then files+=(--features "$features"); fi
  done
  if [ -f "$data/split.csv" ]; then files+=(--splits "$data/split.csv"); fi
  timed "$out.import" "$scratch/graphcleaner" import "$db" "${files[@]}" --stats "$out.import.json" >/dev/null 2>&1
  timed "$out.clean" "$scratch/graphcleaner" clean "$db" --stats "$out.clean.json" >/dev/null 2>&1
  query() { "$scratch/graphcleaner" shell "$db" --format csv -c suspects >"$out.csv"; }
  timed "$out.query" query
  echo "| $name | $(($(wc -l <"$data/nodes.csv") - 1)) | $(($(wc -l <"$data/edges.csv") - 1))" \
    "| $(cat "$out.import") s | $(cat "$out.clean") s | $(peak "$out.import.json"), $(peak "$out.clean.json") MiB" \
    "| $(cat "$out.query") s | $(($(wc -l <"$out.csv") - 1)) |"
done
