#!/usr/bin/env bash
# Measures scores as of now, and rescores, on Cora, ogbn_arxiv and an R-MAT graph. See README.md beside it.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: docs/bench/living.sh [options]
  --out DIR         where stores and results go, removed at the start (bench-living)
  --scale N         log2 of the number of nodes of the R-MAT graph (20)
  --repeats N       of each rescore (10)
  --data DIR        the real data sets ($GRAPHCLEANER_DATA)
USAGE
}

out=bench-living scale=20 repeats=10 data=${GRAPHCLEANER_DATA:-}
here=$(cd "$(dirname "$0")" && pwd)
. "$here/options.sh"
read_options "$@"
no_arguments
if [ -z "$data" ]; then
  echo "${0##*/}: want --data, or GRAPHCLEANER_DATA, which names the folder of the real data sets" >&2
  exit 2
fi

rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
export CGO_ENABLED=0
(cd "$here/../.." && go build -o "$out/graphcleaner" . && go test -c -o "$out/cleaner.test" ./cleaner)
(cd "$here" && go build -o "$out/bench" .)

stores=()
# clean NAME FLAGS… imports a graph and cleans it.
clean() {
  local store=$out/$1.graph
  shift
  "$out/graphcleaner" import "$store" "$@" >&2
  "$out/graphcleaner" clean "$store" >&2
  stores+=("$store")
}
clean cora --nodes "$data/cora/csv/nodes.csv" --edges "$data/cora/csv/edges.csv" --features "$data/cora/csv/features.npz"
clean ogbn_arxiv --nodes "$data/ogbn_arxiv/csv/nodes.csv" --edges "$data/ogbn_arxiv/csv/edges.csv"
"$out/bench" rmat --scale "$scale" --homophily 0.1 --format npy --out "$out/rmat" >&2
clean "rmat$scale" --nodes "$out/rmat/nodes.csv" --edges "$out/rmat/edges.npy" --predictions "$out/rmat/predictions.npy"

# measure ARGUMENTS… prints what a command of bench says of a copy of each store.
measure() {
  local command=$1 store
  shift
  for store in "${stores[@]}"; do
    rm -rf "$out/copy.graph"
    cp -r "$store" "$out/copy.graph"
    printf '%s %s: ' "$(basename "$store" .graph)" "$command $*"
    "$out/bench" "$command" "$out/copy.graph" "$@"
  done
}
measure scores
measure scores --changed
measure scores --added
measure rescores --repeats "$repeats"

echo 'Full rescores, bit for bit those of copies whose changes are folded in, and within 1e-5 those of the same graph imported anew:'
(cd "$here/../../cleaner" && GRAPHCLEANER_STORES=$(IFS=:; echo "${stores[*]}") "$out/cleaner.test" -test.run '^TestRescoreOfStores$' -test.v -test.timeout 1h) |
  grep -E '^ +(---|rescore_)|^(PASS|FAIL)'
