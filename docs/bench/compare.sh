#!/usr/bin/env bash
# Runs graphcleaner side by side with Kùzu, DuckDB, scipy and cleanlab on the same generated files, prints a markdown
# table of the medians and leaves every measurement in OUT/results.jsonl. See README.md beside it.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: docs/bench/compare.sh [options]
  --out DIR               where files, stores and results go (bench-results)
  --parts LIST            import,propagate,cleanlab
  --scales LIST           log2 of the nodes for propagate (20,22)
  --classes LIST          classes for propagate (8,40)
  --import-scale N        log2 of the nodes for import and cleanlab (20)
  --repeats N             runs of each program, alternating (5)
  --memory SIZE           --memory of graphcleaner (1GiB)
  --threads N             threads of all programs that have a choice (2)
  --keep                  keep files and stores
USAGE
}

out=bench-results parts=import,propagate,cleanlab scales=20,22 classes=8,40 import_scale=20
repeats=5 memory=1GiB threads=2 keep=
numpy=2.4.6 scipy=1.17.1 cleanlab=2.9.0 kuzu=0.11.3
here=$(cd "$(dirname "$0")" && pwd)
. "$here/options.sh"
read_options "$@"
no_arguments

mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$out/work
results=$out/results.jsonl
mkdir -p "$work"
: >"$results"

# The table has whatever was measured, also where the run was cut short.
finish() {
  local status=$?
  if [ -s "$results" ]; then "$bench" table "$results" | tee "$out/table.md"; fi
  if [ -z "$keep" ]; then rm -rf "$work"; fi
  exit "$status"
}
trap finish EXIT

say() { echo "compare.sh: $*" >&2; }

# record TAGS FILE: a line of the results, TAGS and FILE being json objects
record() { printf '{"tags":%s,"result":%s}\n' "$1" "$(cat "$2")" >>"$results"; }

# skip PART REASON
skip() {
  say "$1 is skipped: $2"
  printf '{"tags":{"part":"%s"},"skipped":"%s"}\n' "$1" "$2" >>"$results"
}

wants() { [[ ,$parts, == *,$1,* ]]; }

bench=$work/bench
graphcleaner=$work/graphcleaner
(cd "$here" && CGO_ENABLED=0 go build -o "$bench" .)
(cd "$here/../.." && CGO_ENABLED=0 go build -o "$graphcleaner" .)

venv=${XDG_CACHE_HOME:-$HOME/.cache}/graphcleaner-bench/venv
python=$venv/bin/python
packages=(numpy=="$numpy" scipy=="$scipy" cleanlab=="$cleanlab")
if [ ! -x "$python" ]; then python3 -m venv "$venv"; fi
"$python" -m pip install --quiet --disable-pip-version-check "${packages[@]}"
if ! "$python" -m pip install --quiet --disable-pip-version-check kuzu=="$kuzu"; then kuzu=; fi
if ! "$python" -m pip install --quiet --disable-pip-version-check duckdb=="$duckdb"; then duckdb=; fi
export OPENBLAS_NUM_THREADS=$threads OMP_NUM_THREADS=$threads

# measured TAG=VALUE ... -- COMMAND ...: one measurement; what the command writes to $work/result.json becomes part of
# it. A command that fails is in the results too.
measured() {
  local tags=()
  while [ "$1" != -- ]; do
    tags+=(--tag "$1")
    shift
  done
  shift
  rm -f "$work/result.json"
  local code=0
  "$bench" limited "${tags[@]}" --result "$work/result.json" --report "$results" -- "$@" \
    >/dev/null 2>"$work/stderr" || code=$?
  if [ "$code" -eq 130 ]; then exit 130; fi
  if [ "$code" -ne 0 ]; then
    say "exit code $code: $*"
    tail -n 5 "$work/stderr" >&2
  fi
}

peer() { # COMMAND ARGUMENTS ...
  local command=$1
  shift
  echo "$python" "$here/peers.py" "$command" --result "$work/result.json" "$@"
}

# graph SCALE CLASSES: generates plain R-MAT once, and sets $files
graph() {
  files=$work/rmat-$1-$2
  if [ ! -f "$files/generated.json" ]; then
    say "generating 2^$1 nodes, $2 classes"
    "$bench" rmat --scale "$1" --classes "$2" --homophily 0 --out "$files" >"$work/generated.json"
    mv "$work/generated.json" "$files/generated.json"
  fi
}

resources=(--memory "$memory" --threads "$threads")

# store SCALE CLASSES: imports the graph with its predictions once, and sets $db
store() {
  graph "$1" "$2"
  db=$work/store-$1-$2
  if [ ! -d "$db" ]; then
    say "importing 2^$1 nodes, $2 classes"
    "$graphcleaner" import "$db" --nodes "$files/nodes.csv" --edges "$files/edges.csv" \
      --predictions "$files/predictions.npy" \
      "${resources[@]}" >/dev/null 2>&1
  fi
}

# copied: copies $db and sets $copy, for a command that leaves in the store what the next run would profit from
copied() {
  copy=$work/copy
  rm -rf "$copy"
  cp -r "$db" "$copy"
}

# prepared SCALE CLASSES: has scipy's matrices built once, and sets $matrices
prepared() {
  graph "$1" "$2"
  matrices=$work/scipy-$1-$2
  if [ ! -f "$matrices/x.npy" ]; then
    say "building scipy's matrices of 2^$1 nodes, $2 classes"
    # shellcheck disable=SC2046 # a command line, in words
    $(peer prepare --nodes "$files/nodes.csv" --edges "$files/edges.csv" \
      --predictions "$files/predictions.npy" --out "$matrices")
    printf '{"part":"graph","scale":"%s","classes":"%s"}' "$1" "$2" >"$work/tags.json"
    record "$(cat "$work/tags.json")" "$work/result.json"
  fi
}

if wants import; then
  graph "$import_scale" 8
  if [ -z "$kuzu" ]; then skip import "Kùzu cannot be installed from PyPI here"; fi
  if [ -z "$duckdb" ]; then skip import "DuckDB cannot be installed from PyPI here"; fi
  tags=(part=import scale="$import_scale" classes=8)
  record "{\"part\":\"rows\",\"scale\":\"$import_scale\",\"classes\":\"8\"}" "$files/generated.json"
  for i in $(seq "$repeats"); do
    say "import, run $i of $repeats"
    rm -rf "$work/imported"
    measured "${tags[@]}" who=graphcleaner -- \
      "$graphcleaner" import "$work/imported" --nodes "$files/nodes.csv" --edges "$files/edges.csv" \
      --stats "$work/result.json" "${resources[@]}"
    if [ -n "$kuzu" ]; then
      rm -rf "$work/kuzu" "$work/kuzu.wal"
      # shellcheck disable=SC2046
      measured "${tags[@]}" who=kuzu -- \
        $(peer kuzu-copy --nodes "$files/nodes.csv" --edges "$files/edges.csv" \
          --db "$work/kuzu" --threads "$threads")
    fi
    if [ -n "$duckdb" ]; then
      rm -f "$work/duckdb" "$work/duckdb.wal"
      # shellcheck disable=SC2046
      measured "${tags[@]}" who=duckdb -- \
        $(peer duckdb-sort --nodes "$files/nodes.csv" --edges "$files/edges.csv" \
          --db "$work/duckdb" --threads "$threads")
    fi
  done
  "$bench" adjacency "$work/imported" >"$work/result.json"
  record "{\"part\":\"adjacency\",\"scale\":\"$import_scale\",\"classes\":\"8\"}" "$work/result.json"
  rm -rf "$work/imported" "$work/kuzu" "$work/kuzu.wal" "$work/duckdb" "$work/duckdb.wal"
fi

if wants propagate; then
  for scale in ${scales//,/ }; do
    for c in ${classes//,/ }; do
      store "$scale" "$c"
      prepared "$scale" "$c"
      tags=(part=propagate scale="$scale" classes="$c")
      for i in $(seq "$repeats"); do
        say "propagation of 2^$scale nodes, $c classes, run $i of $repeats"
        "$bench" evict "$db"
        measured "${tags[@]}" who=graphcleaner -- \
          "$graphcleaner" export "$db" features --out "$work/features.npy" \
          --stats "$work/result.json" "${resources[@]}"
        # shellcheck disable=SC2046
        measured "${tags[@]}" who=scipy -- $(peer products --prepared "$matrices")
      done
      rm -rf "$matrices" "$work/features.npy"
      if [ "$scale-$c" != "$import_scale-8" ]; then rm -rf "$files" "$db"; fi
    done
  done
fi

if wants cleanlab; then
  store "$import_scale" 8
  tags=(part=cleanlab scale="$import_scale" classes=8)
  for i in $(seq "$repeats"); do
    say "cleaning, run $i of $repeats"
    copied
    measured "${tags[@]}" who=graphcleaner -- \
      "$graphcleaner" clean "$copy" --stats "$work/result.json" "${resources[@]}"
    # shellcheck disable=SC2046
    measured "${tags[@]}" who=cleanlab -- \
      $(peer cleanlab --nodes "$files/nodes.csv" --predictions "$files/predictions.npy")
  done
fi
