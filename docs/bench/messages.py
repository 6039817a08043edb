"""One hop in DataFrames, as GraphFrames passes messages: triplets of an edge and its two nodes, a message each way, sums by node.

Prints the seconds of one hop of the predictions, as a json object. The like of it in a clean is hop 2: it sums as many columns, and
`spark.py` prints its seconds. Give both the same --master.
"""

import argparse
import json
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder with edges.parquet and predictions.parquet")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--memory", default="4g", help="of an executor, and of the driver")
    args = parser.parse_args()
    spark = (
        SparkSession.builder.master(args.master).config("spark.executor.memory", args.memory).config("spark.driver.memory", args.memory)
        .config("spark.driver.host", "127.0.0.1").config("spark.ui.showConsoleProgress", "false").getOrCreate()
    )
    edges = spark.read.parquet(f"{args.data}/edges.parquet")
    rows = spark.read.parquet(f"{args.data}/predictions.parquet")
    names = [name for name in rows.columns if name != "id"]
    vertices = rows.select("id", F.struct(*(F.col(f"`{name}`").alias(f"x{i}") for i, name in enumerate(names))).alias("x"))

    def end(column, name):
        return vertices.select(F.col("id").alias(column), F.col("x").alias(name))

    began = time.monotonic()
    triplets = edges.join(end("src", "of_src"), "src").join(end("dst", "of_dst"), "dst")
    messages = triplets.select(F.col("dst").alias("id"), F.col("of_src").alias("x")).unionByName(
        triplets.select(F.col("src").alias("id"), F.col("of_dst").alias("x")))
    sums = messages.groupBy("id").agg(*(F.sum(f"x.x{i}").alias(f"x{i}") for i in range(len(names))))
    sums.write.format("noop").mode("overwrite").save()
    print(json.dumps({"seconds": time.monotonic() - began, "classes": len(names), "edges": edges.count()}))
    spark.stop()


if __name__ == "__main__":
    main()
