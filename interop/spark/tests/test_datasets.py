"""Real data sets: scores and suspects are those of the embedded store."""

import csv
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from test_clean import arguments, compare, exported, graphcleaner, same_suspects, write

from graphcleaner_spark import clean

DATA = os.environ.get("GRAPHCLEANER_DATA")
pytestmark = [pytest.mark.cluster, pytest.mark.skipif(not DATA, reason="GRAPHCLEANER_DATA names no folder of data "
                                                                       "sets")]


def rows_of(path):
    with open(path, newline="") as text:
        return list(csv.DictReader(text))


@pytest.fixture(scope="module", params=["cora", "amazon_photo", "ogbn_arxiv"])
def store(request, binary, tmp_path_factory):
    """A store of a data set with wrong labels, nodes without labels, and predictions; and the folder of its files."""
    files, folder = Path(DATA) / request.param / "csv", tmp_path_factory.mktemp(request.param)
    nodes, edges = rows_of(files / "nodes.csv"), rows_of(files / "edges.csv")
    draw = np.random.default_rng(7)
    names = sorted({row["label"] for row in nodes}, key=lambda name: (int(name), "") if name.isdecimal() else (0, name))
    truth = np.array([names.index(row["label"]) for row in nodes])
    labels = [None if draw.random() < 0.02 else names[draw.integers(len(names)) if draw.random() < 0.1 else y]
              for y in truth]
    p = draw.dirichlet(np.full(len(names), 0.5), len(nodes)) * 0.55
    p[np.arange(len(nodes)), truth] += 0.45
    ids = [row["id"] for row in nodes]
    table = pa.table({"id": ids, "label": labels})
    if (files / "split.csv").exists():
        table = table.append_column("split", pa.array([row["split"] for row in rows_of(files / "split.csv")]))
    write(folder, nodes=table, edges=pa.table({end: [row[end] for row in edges] for end in ("src", "dst")}),
          predictions=pa.table({"id": ids, **{name: p[:, j] for j, name in enumerate(names)}}))
    files = [word for path in arguments(folder) for word in (f"--{Path(path).stem}", path)]
    graphcleaner(binary, "import", folder / "store", *files)
    return folder


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_as_the_embedded_store(spark, binary, store, hops):
    graphcleaner(binary, "clean", store / "store", "--as-given", "--hops", hops)
    want = exported(binary, store / "store", store)
    graphcleaner(binary, "export", store / "store", "suspects", "--out", store / "suspects.csv")
    out = store / "out"
    clean(spark, *arguments(store), str(out), hops=hops, blocks=4, binary=binary, log=lambda text: None)
    compare(out, want)
    same_suspects(out, store / "suspects.csv")
