"""Scores and suspects are those of the embedded store, for every kind of graph, number of hops, cut and number of
partitions.
"""

from pathlib import Path

import numpy as np
import pytest
from test_clean import Graph, arguments, compare, exported, graphcleaner, same_suspects, write

from graphcleaner_spark import clean, plan

# nodes from LATER on have no predictions, of one kind; the first ISOLATED have no edges
NODES, LATER, ISOLATED = 300, 280, 10


class HardGraph(Graph):
    """A graph with isolated nodes, loops, parallel edges, and missing labels."""

    def __init__(self):
        super().__init__(41, nodes=NODES, edges=1500)
        source, target = self.ends
        later = np.maximum(source, target) >= LATER
        pairs = np.sort(np.stack([source, target], axis=1), axis=1)
        once = np.zeros(len(source), bool)  # the store appends an edge once
        once[np.unique(pairs, axis=0, return_index=True)[1]] = True
        kept = (np.minimum(source, target) >= ISOLATED) & (~later | once & (source != target))
        loops, parallel = np.arange(20, 25), np.array([30, 30, 30, 31, 32])
        added = np.concatenate([loops, parallel]), np.concatenate([loops, np.array([31, 31, 31, 30, 31])])
        self.ends = tuple(np.concatenate([ends[kept], more]) for ends,
                          more in zip((source, target), added, strict=True))
        self.is_later = np.maximum(*self.ends) >= LATER


#: Kinds of graphs.
KINDS = ["undirected", "directed", "without some predictions"]


class StoreOf:
    """A store of a graph, whose files are in a folder, and what it says."""

    def __init__(self, kind, binary, folder):
        self._binary, self.folder, self._known = binary, folder, {}
        whole = kind != KINDS[-1]
        graph = HardGraph()
        assert None in graph.labels and (graph.ends[0] == graph.ends[1]).any()
        store, order = folder / "store", graph.order if whole else graph.order[graph.order < LATER]
        write(folder, nodes=graph.nodes(), edges=graph.edges(), predictions=graph.predictions(order))
        if whole:
            files = [word for path in arguments(folder) for word in (f"--{Path(path).stem}", path)]
            graphcleaner(binary, "import", store, *(["--directed"] if kind == "directed" else []), *files)
            return
        write(folder, first_nodes=graph.nodes(slice(0, LATER)), first_edges=graph.edges(~graph.is_later),
              later_nodes=graph.nodes(slice(LATER, None)), later_edges=graph.edges(graph.is_later))
        for part, more in [("first", ["--predictions", folder / "predictions.parquet"]), ("later", ["--append"])]:
            graphcleaner(binary, "import", store, *more, "--nodes", folder / f"{part}_nodes.parquet", "--edges",
                         folder / f"{part}_edges.parquet")

    def says(self, hops):
        """Scores, and the file of the suspects."""
        if hops not in self._known:
            graphcleaner(self._binary, "clean", self.folder / "store", "--as-given", "--hops", hops)
            suspects = self.folder / f"suspects{hops}.csv"
            graphcleaner(self._binary, "export", self.folder / "store", "suspects", "--out", suspects)
            self._known[hops] = exported(self._binary, self.folder / "store", self.folder), suspects
        return self._known[hops]


@pytest.fixture(scope="module", params=KINDS)
def store(request, binary, tmp_path_factory):
    return StoreOf(request.param, binary, tmp_path_factory.mktemp(request.param))


def matrix():
    for hops in (1, 2, 3):
        for blocks in (1, 4, 16):
            for partitions in (2, 8):
                short = (hops, blocks, partitions) == (2, 4, 8)
                yield pytest.param(hops, blocks, partitions, marks=[] if short else pytest.mark.cluster)


@pytest.mark.parametrize("hops, blocks, partitions", matrix())
def test_as_the_embedded_store(spark, binary, store, tmp_path, monkeypatch, hops, blocks, partitions):
    scores, suspects = store.says(hops)
    monkeypatch.setattr(plan, "_GREATEST_CHUNK", 32)
    monkeypatch.setattr(plan.Plan, "partitions", lambda self, groups, size: max(1, min(groups, partitions)))
    spark.conf.set("spark.sql.shuffle.partitions", partitions)
    try:
        lines = []
        clean(spark, *arguments(store.folder), str(tmp_path), hops=hops, blocks=blocks, binary=binary, log=lines.append)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", 2)
    compare(tmp_path, scores)
    same_suspects(tmp_path, suspects)
