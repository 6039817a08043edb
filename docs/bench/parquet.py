"""Writes a graph of `bench rmat --format npy` as nodes.parquet, edges.parquet and predictions.parquet, beside its
files.
"""

import argparse

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="with nodes.csv, edges.npy and predictions.npy; columns of predictions are the "
                                       "classes 0, 1, …")
    folder = parser.parse_args().folder
    nodes = csv.read_csv(f"{folder}/nodes.csv", convert_options=csv.ConvertOptions(column_types={"label": pa.string()}))
    edges, predictions = (np.load(f"{folder}/{name}.npy") for name in ("edges", "predictions"))
    parquet.write_table(nodes, f"{folder}/nodes.parquet")
    parquet.write_table(pa.table({end: edges[:, i].astype(np.int64) for i, end in enumerate(("src", "dst"))}),
                        f"{folder}/edges.parquet")
    columns = {str(j): predictions[:, j] for j in range(predictions.shape[1])}
    parquet.write_table(pa.table({"id": nodes["id"], **columns}), f"{folder}/predictions.parquet")


if __name__ == "__main__":
    main()
