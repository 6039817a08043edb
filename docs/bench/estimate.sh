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
  for file in features.npz predictions.npy split.csv; do
    kind=${file%.*}
    if [ -e "$data/$file" ] && [[ ",$without," != *",$kind,"* ]]; then
      files+=("--${kind/%split/splits}" "$data/$file")
    fi
  done
  resources=(--memory "$memory" --threads "$threads")
  of_clean=("${resources[@]}" ${as_given:+--as-given})
  "$out/graphcleaner" estimate "${files[@]}" "${of_clean[@]}" --format json >"$out/$name.json"
  limited "$out/$name.import" "$out/graphcleaner" import "$out/$name.store" "${files[@]}" "${resources[@]}" \
    --stats "$out/$name.import.stages"
  stored=$(du -s -B1 "$out/$name.store" | cut -f1)
  limited "$out/$name.clean" "$out/graphcleaner" clean "$out/$name.store" "${of_clean[@]}" --stats "$out/$name.clean.stages"
  cleaned=$(du -s -B1 "$out/$name.store" | cut -f1)
  python3 - "$out/$name" "$name" "$stored" "$cleaned" <<'PYTHON'
import collections
import json
import sys

base, name, stored, cleaned = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
said = json.load(open(base + ".json"))
took = {command: json.loads(open(f"{base}.{command}").readlines()[-1]) for command in ("import", "clean")}


def pair(what, estimate, actual, unit):
    ratio = f"{estimate / actual:.2f}" if actual else ""
    print(f"| {name} | {what} | {estimate:.3g} {unit} | {actual:.3g} {unit} | {ratio} |")


def by_stage(stages, key):
    """The seconds of all stages of a name, which is that of the hops below 3 too."""
    seconds = collections.Counter()
    for stage in stages:
        seconds[stage[key].removesuffix(" k ≥ 3")] += stage["seconds"]
    return seconds


for command in ("import", "clean"):
    pair(command, said[command + "_seconds"], took[command]["seconds"], "s")
    estimate = by_stage([stage for stage in said["stages"] if stage["command"] == command], "stage")
    actual = by_stage(json.load(open(f"{base}.{command}.stages"))["stages"], "name")
    for stage in {**actual, **estimate}:
        if max(estimate[stage], actual[stage]) > 0.05 * took[command]["seconds"]:
            pair(f"{command}: {stage}", estimate[stage], actual[stage], "s")
    pair(command + ", anonymous memory", said[command + "_anonymous_bytes"] / 2**20,
         took[command]["peak_anonymous_bytes"] / 2**20, "MiB")
pair("store", said["store_bytes"] / 2**20, stored / 2**20, "MiB")
pair("store, cleaned", said["cleaned_store_bytes"] / 2**20, cleaned / 2**20, "MiB")
PYTHON
  [ -n "$keep" ] || rm -rf "$out/$name.store"
done
