"""Home and back: cleans on Spark, packs, decides about the first suspects by the truth, and cleans again with the decisions. A store of
all files is cleaned beside, before and after.

Prints a json object: how far Spark and the store are apart, before and after, and how many decisions found a wrong label.
"""

import argparse
import json
import os
import subprocess
import sys

import pyarrow as pa
from pyarrow import csv
from same import TEXTS, compare

FILES = ("nodes", "edges", "predictions")


def run(*words, **more):
    print("+", *words, file=sys.stderr, flush=True)
    return subprocess.run([str(word) for word in words], check=True, stdout=sys.stderr, **more)


def decide(binary, home, truth, count, script):
    """Writes statements about the suspects with the highest scores, and has the shell do them. Returns how many labels were wrong."""
    run(binary, "export", home, "suspects", "--out", f"{script}.csv")
    suspects, wrong = csv.read_csv(f"{script}.csv", convert_options=TEXTS).slice(0, count).to_pylist(), 0
    with open(script, "w", encoding="utf-8") as file:
        for row in suspects:
            right = truth[row["id"]]
            wrong += right != row["given_label"]
            file.write(f"reject {row['id']};\n" if right == row["given_label"] else f"relabel {row['id']} '{right}';\n")
    run(binary, "shell", home, "--yes", "--no-rescore", "--who", "truth", "-f", script)
    return len(suspects), wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder with nodes.parquet, edges.parquet and predictions.parquet")
    parser.add_argument("--truth", required=True, help="csv with the columns id and label: nodes.csv of the graph without wrong labels")
    parser.add_argument("--out", required=True, help="new folder for everything")
    parser.add_argument("--binary", required=True)
    parser.add_argument("--package", required=True, help="interop/python")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--executor-memory", default="3g")
    parser.add_argument("--decisions", type=int, default=50)
    parser.add_argument("arguments", nargs="*", help="for graphcleaner.spark")
    args = parser.parse_args()
    binary, out = os.path.abspath(args.binary), args.out
    os.makedirs(out)
    conf = {"spark.master": args.master, "spark.executor.memory": args.executor_memory, "spark.driver.memory": args.executor_memory,
            "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    environment = {**os.environ, "PYTHONPATH": args.package, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1",
                   "PYSPARK_SUBMIT_ARGS": " ".join(f"--conf {k}={v}" for k, v in conf.items()) + " pyspark-shell"}

    def spark(*words):
        run(sys.executable, "-m", "graphcleaner.spark", *words, "--binary", binary, env=environment)

    def files(folder, names=FILES):
        return [word for name in names for word in (f"--{name}", f"{folder}/{name}.parquet")]

    cleaned, whole, home = f"{out}/cleaned", f"{out}/whole.graph", f"{out}/home.graph"
    spark(*files(args.data), "--out", cleaned, *args.arguments)
    run(binary, "import", whole, *files(args.data))
    run(binary, "clean", whole, "--as-given")
    said = {"before": compare(cleaned, binary, whole)}

    spark("pack", "--out", cleaned)
    run(binary, "import", home, *files(f"{cleaned}/pack", (*FILES, "scores")), "--run", f"{cleaned}/pack/run.json")
    truth_of = csv.read_csv(args.truth, convert_options=csv.ConvertOptions(column_types={"id": pa.string(), "label": pa.string()}))
    truth = dict(zip(truth_of["id"].to_pylist(), truth_of["label"].to_pylist(), strict=True))
    said["decisions"], said["wrong"] = decide(binary, home, truth, args.decisions, f"{out}/decide")
    run(binary, "export", home, "verdicts", "--out", f"{out}/verdicts.csv")
    run(binary, "export", home, "decisions", "--out", f"{out}/decisions.jsonl")

    spark(*files(args.data), "--out", cleaned, "--decisions", f"{out}/verdicts.csv", *args.arguments)
    run(binary, "import", whole, "--decisions", f"{out}/decisions.jsonl")
    run(binary, "clean", whole, "--as-given")
    said["after"] = compare(cleaned, binary, whole)
    print(json.dumps(said))


if __name__ == "__main__":
    main()
