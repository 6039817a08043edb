"""What a clean on Spark and one of a store say of the same files: the largest differences of scores, and the suspects.

Prints one json object.
"""

import argparse
import json
import subprocess
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

TEXTS = csv.ConvertOptions(column_types={name: pa.string() for name in ("id", "given_label", "suggested_label")},
                           strings_can_be_null=True)


def scores_of_store(binary, store, folder):
    """Scores by id, and suspects of a store."""
    def export(what, name):
        subprocess.run([binary, "export", store, what, "--out", f"{folder}/{name}"], check=True,
                       stderr=subprocess.DEVNULL)
        return f"{folder}/{name}"

    scores = csv.read_csv(export("scores", "scores.csv"), convert_options=TEXTS)
    suspects = csv.read_csv(export("suspects", "suspects.csv"), convert_options=TEXTS)["id"]
    return scores, set(suspects.to_pylist())


def by_id(table):
    """The rows in the order of the ids, as texts."""
    table = table.set_column(0, "id", pc.cast(table["id"], pa.string()))
    return table.take(pc.sort_indices(table["id"]))


def farthest(a, b):
    """The largest difference of two arrays. Values that only one of them has are infinitely far."""
    if (np.isnan(a) != np.isnan(b)).any():
        return float("inf")
    return float(np.nanmax(np.abs(a - b), initial=0.0))


def compare(out, binary, store):
    """How far a run on Spark, in its folder, and a store are apart."""
    with tempfile.TemporaryDirectory() as folder:
        want, suspects = scores_of_store(binary, store, folder)
    want, got = want.take(pc.sort_indices(want["id"])), by_id(parquet.read_table(f"{out}/scores.parquet"))
    if not want["id"].equals(got["id"]):
        raise SystemExit(f"{out} and {store}: got other nodes, want those of one graph")
    with open(f"{out}/finished.json", encoding="utf-8") as file:
        run = json.load(file)

    def numbers(table, name):
        return table[name].to_numpy().astype(np.float64)

    scores = numbers(got, "score")
    differs = pc.fill_null(pc.not_equal(got["suggested_label"], got["given_label"]),
                           False).to_numpy(zero_copy_only=False)
    found = set(got["id"].filter(pa.array((scores > run["threshold"]) & differs)).to_pylist())
    if run["arguments"]["decisions"]:  # a node that is decided is no suspect any more
        decided = csv.read_csv(run["arguments"]["decisions"], convert_options=TEXTS)["id"]
        found -= set(decided.to_pylist())
    return {
        "scores_apart": farthest(scores, numbers(want, "score")),
        "confidences_apart": farthest(numbers(got, "confidence"), numbers(want, "confidence")),
        "other_suggestions": int(pc.sum(pc.not_equal(pc.fill_null(got["suggested_label"], ""),
                                                     pc.fill_null(want["suggested_label"], ""))).as_py()),
        "suspects": len(suspects), "suspects_on_spark": len(found), "suspects_of_one": len(found ^ suspects),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spark", required=True, metavar="DIR", help="folder of the run on Spark")
    parser.add_argument("--store", required=True, metavar="DB", help="cleaned with --as-given")
    parser.add_argument("--binary", required=True)
    args = parser.parse_args()
    print(json.dumps(compare(args.spark, args.binary, args.store)))


if __name__ == "__main__":
    main()
