#!/usr/bin/env bash
# Compares what graphcleaner estimate says of import and clean with what they then take. See README.md beside it.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: docs/bench/estimate.sh [options] NAME DIRECTORY [NAME DIRECTORY …]
A directory has nodes.csv and edges.csv or edges.npy, and may have features.npz, predictions.npy and split.csv.
  --out DIR         where stores and results go, removed at the start (bench-estimate)
  --memory SIZE     --memory of graphcleaner (1GiB)
  --threads N       --threads of graphcleaner (2)
  --limit SIZE      memory limit of the kernel (8GiB)
  --without LIST    files not to import: features,predictions,split
  --as-given        predictions are taken as they are
  --keep            keep the stores
USAGE
}

out=bench-estimate memory=1GiB threads=2 limit=8GiB without='' as_given='' keep=
here=$(cd "$(dirname "$0")" && pwd)
. "$here/options.sh"
read_options "$@"
set -- "${arguments[@]}"
if [ $# -eq 0 ] || [ $(($# % 2)) -ne 0 ]; then
  usage >&2
  exit 2
fi

rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
export CGO_ENABLED=0
(cd "$here/../.." && go build -o "$out/graphcleaner" .)
(cd "$here" && go build -o "$out/bench" .)

# limited FILE COMMAND… measures a command, whose output goes to standard error.
limited() {
  local report=$1
  shift
  "$out/bench" limited --limit "$limit" --report "$report" -- "$@" >&2
}

echo '| graph | what | estimate | actual | ratio |'
echo '|---|---|---|---|---|'
while [ $# -gt 0 ]; do
  name=$1 data=$2
  shift 2
  edges=$data/edges.csv
  if [ ! -e "$edges" ]; then edges=$data/edges.npy; fi
  files=(--nodes "$data/nodes.csv" --edges "$edges")
  counted=("${files[@]}")
  for file in features.npz predictions.npy split.csv; do
    kind=${file%.*}
    if [ -e "$data/$file" ] && [[ ",$without," != *",$kind,"* ]]; then
      files+=("--${kind/%split/splits}" "$data/$file")
      [ "$kind" = split ] || counted+=("--$kind" "$data/$file")
    fi
  done
  resources=(--memory "$memory" --threads "$threads")
  of_clean=("${resources[@]}" ${as_given:+--as-given})
  "$out/graphcleaner" estimate "${counted[@]}" "${of_clean[@]}" --format json >"$out/$name.json"
  limited "$out/$name.import" "$out/graphcleaner" import "$out/$name.store" "${files[@]}" "${resources[@]}"
  stored=$(du -s -B1 "$out/$name.store" | cut -f1)
  limited "$out/$name.clean" "$out/graphcleaner" clean "$out/$name.store" "${of_clean[@]}"
  cleaned=$(du -s -B1 "$out/$name.store" | cut -f1)
  python3 - "$out/$name" "$name" "$stored" "$cleaned" <<'PYTHON'
import json
import sys

base, name, stored, cleaned = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
said = json.load(open(base + ".json"))


def pair(what, estimate, actual):
    print(f"| {name} | {what} | {estimate / 2**20:.3g} MiB | {actual / 2**20:.3g} MiB | {estimate / actual:.2f} |")


for command in ("import", "clean"):
    took = json.loads(open(f"{base}.{command}").readlines()[-1])
    for kind in ("anonymous", "resident"):
        pair(f"{command}, {kind} memory", said[f"{command}_{kind}_bytes"], took[f"peak_{kind}_bytes"])
pair("store", said["store_bytes"], stored)
pair("store, cleaned", said["cleaned_store_bytes"], cleaned)
PYTHON
  [ -n "$keep" ] || rm -rf "$out/$name.store"
done
