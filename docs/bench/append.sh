#!/usr/bin/env bash
# Appends the last edges of an R-MAT graph to a store of the others, beside the import of all of them. See README.md
# beside it.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: docs/bench/append.sh [options]
  --out DIR         where files, stores and results go, removed at the start (bench-append)
  --scale N         log2 of the number of nodes (20)
  --share N         one edge in N is appended (100)
  --memory SIZE     --memory of graphcleaner (1GiB)
  --threads N       --threads of graphcleaner (2)
  --repeats N       of each measurement (10)
USAGE
}

out=bench-append scale=20 share=100 memory=1GiB threads=2 repeats=10
here=$(cd "$(dirname "$0")" && pwd)
. "$here/options.sh"
read_options "$@"

rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
export CGO_ENABLED=0
(cd "$here/../.." && go build -o "$out/graphcleaner" .)
(cd "$here" && go build -o "$out/bench" .)
"$out/bench" rmat --scale "$scale" --out "$out/graph" >&2
edges=$(($(wc -l <"$out/graph/edges.csv") - 1))
appended=$((edges / share))
head -n $((edges - appended + 1)) "$out/graph/edges.csv" >"$out/base.csv"
{
  head -n 1 "$out/graph/edges.csv"
  tail -n "$appended" "$out/graph/edges.csv"
} >"$out/more.csv"

# seconds COMMAND… prints the wall time of a command, whose output goes to standard error.
seconds() {
  local begun
  begun=$(date +%s.%N)
  "$@" >&2
  echo "$(date +%s.%N) $begun" | awk '{ printf "%.3f\n", $1 - $2 }'
}

median() { sort -n | awk '{ x[NR] = $1 } END { print NR % 2 ? x[(NR + 1) / 2] : (x[NR / 2] + x[NR / 2 + 1]) / 2 }'; }

resources=(--memory "$memory" --threads "$threads")
"$out/graphcleaner" import "$out/store" --nodes "$out/graph/nodes.csv" --edges "$out/base.csv" "${resources[@]}" >&2
for _ in $(seq "$repeats"); do
  rm -rf "$out/all" "$out/copy"
  cp -r "$out/store" "$out/copy"
  seconds "$out/graphcleaner" import "$out/all" --nodes "$out/graph/nodes.csv" --edges "$out/graph/edges.csv" "${resources[@]}" >>"$out/import"
  seconds "$out/graphcleaner" import "$out/copy" --append --edges "$out/more.csv" "${resources[@]}" >>"$out/append"
done
echo '| what | rows of edges | s | rows/s |'
echo '|---|---|---|---|'
for what in import append; do
  rows=$edges
  if [ "$what" = append ]; then rows=$appended; fi
  median <"$out/$what" | awk -v what="$what" -v rows="$rows" '{ printf "| %s | %d | %.2f | %.0f |\n", what, rows, $1, rows / $1 }'
done
