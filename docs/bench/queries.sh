#!/usr/bin/env bash
# Times questions about a store of ten million nodes, and the same questions about the same table in SQLite or DuckDB,
# side by side in one run. Prints a markdown table of the medians and leaves every measurement in OUT/queries.jsonl. See
# README.md beside it.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: docs/bench/queries.sh [options]
  --out DIR        where the store, the database and the results go (bench-queries)
  --nodes N        nodes of the store (10000000)
  --suspects N     of them, with a score above 0.97 (1000)
  --peer NAME      SQLite, or DuckDB on the exported parquet, with other questions (SQLite)
  --repeats N      runs of each question, taking turns (7)
  --memory SIZE    --memory of graphcleaner (1GiB)
  --keep           keep the store and the database, and use those that are there
USAGE
}

out=bench-queries nodes=10000000 suspects=1000 peer=SQLite repeats=7 memory=1GiB keep=
here=$(cd "$(dirname "$0")" && pwd)
. "$here/options.sh"
read_options "$@"
no_arguments
pyarrow=26.0.1

mkdir -p "$out"
out=$(cd "$out" && pwd)
bench=$out/bench
graphcleaner=$out/graphcleaner
store=$out/scored.graph
python=python3
case $peer in
SQLite) database=$out/scored.sqlite ;;
DuckDB)
  database=$out/scored.parquet
  venv=${XDG_CACHE_HOME:-$HOME/.cache}/graphcleaner-bench/venv
  python=$venv/bin/python
  if [ ! -x "$python" ]; then python3 -m venv "$venv"; fi
  "$python" -m pip install --quiet --disable-pip-version-check duckdb=="$duckdb" pyarrow=="$pyarrow"
  ;;
*)
  echo "queries.sh: --peer $peer, want SQLite or DuckDB" >&2
  exit 2
  ;;
esac
trap '[ -n "$keep" ] || rm -rf "$store" "$database" "$bench" "$graphcleaner"' EXIT

(cd "$here" && CGO_ENABLED=0 go build -o "$bench" .)
(cd "$here/../.." && CGO_ENABLED=0 go build -o "$graphcleaner" .)

if [ ! -e "$store" ]; then
  "$bench" scored --nodes "$nodes" --suspects "$suspects" --out "$store" >&2
fi
if [ ! -e "$database" ] && [ "$peer" = DuckDB ]; then
  "$graphcleaner" export "$store" scores --out "$database" >&2
elif [ ! -e "$database" ]; then
  "$graphcleaner" shell "$store" --read-only --format tsv \
    -c 'nodes return id, label, suggested, score, confidence, run, year, source' |
    python3 "$here/queries.py" load "$database" >&2
fi
"$python" "$here/queries.py" measure --peer "$peer" --bench "$bench" --graphcleaner "$graphcleaner" --store "$store" \
  --database "$database" --repeats "$repeats" --memory "$memory" --results "$out/queries.jsonl" | tee "$out/queries.md"
