"""A pack: the nodes around the suspects, a store of them, and the decisions that come back."""

import csv
import json
import shlex
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_clean import Graph, arguments, graphcleaner, write

from graphcleaner_spark import GraphcleanerError, InputError, clean, pack


def neighbors_of(graph):
    """The neighbours of each node, once for each edge."""
    neighbors = defaultdict(list)
    for u, v in zip(*graph.ends):
        if u != v:
            neighbors[u].append(v)
            neighbors[v].append(u)
    return neighbors


def rings_around(graph, around, suspects, hops, neighbors):
    rings = {v: 0 for v in suspects}
    for hop in range(1, hops + 1):
        most = max(2, neighbors // 4 ** (hop - 1))
        found = set()
        for v in [v for v, ring in rings.items() if ring == hop - 1]:
            found |= set(sorted(set(around[v]), key=lambda u: (len(around[u]), graph.ids[u]))[:most])
        rings.update({u: hop for u in found - rings.keys()})
    return rings


def rows_of(path):
    return pq.read_table(path).to_pylist()


def table_of(text, key="id"):
    with open(text, newline="") as lines:
        return {row[key]: row for row in csv.DictReader(lines)}


class Run:
    """A finished run with a pack."""

    def __init__(self, spark, binary, folder):
        self.graph = Graph(31, nodes=600, edges=2400, wrong=0.2)
        known = self.graph.order[self.graph.order != 5]  # one node has no predictions
        self.nodes = self.graph.nodes().append_column("position", pa.array(range(1400, 2000)))
        write(folder, nodes=self.nodes, edges=self.graph.edges(), predictions=self.graph.predictions(known))
        self.paths, self.out, self.packed = arguments(folder), folder / "out", folder / "out" / "pack"
        clean(spark, *self.paths, str(self.out), hops=2, blocks=2, binary=binary, log=lambda text: None)
        self.scores = {row["id"]: row for row in rows_of(self.out / "scores.parquet")}
        threshold = json.loads((self.out / "finished.json").read_text())["threshold"]
        self.suspects = sorted((v for v, row in self.scores.items() if row["score"] is not None
                                and row["score"] > threshold
                                and row["suggested_label"] != row["given_label"]),
                                key=lambda v: -self.scores[v]["score"])
        self.place = {v: i for i, v in enumerate(self.graph.ids)}
        self.neighbors = neighbors_of(self.graph)
        self.rings = rings_around(self.graph, self.neighbors, [self.place[v] for v in self.suspects[:10]], 2, 8)
        self.lines = []
        self.done = pack(spark, str(self.out), most=10, neighbors=8, log=self.lines.append)


@pytest.fixture(scope="module")
def run(spark, binary, tmp_path_factory):
    return Run(spark, binary, tmp_path_factory.mktemp("run"))


def test_a_pack_has_the_nodes_around_the_suspects(spark, binary, run):
    assert len(run.suspects) > 12
    ran = {line.split(":")[0] for line in run.lines if line.endswith(" s")}
    assert ran == {"ring0", "ring1", "ring2", "packed"}
    graph, place, rings = run.graph, run.place, run.rings
    nodes = rows_of(run.packed / "nodes.parquet")
    assert list(nodes[0]) == ["id", "label", "split", "position", "ring"]
    given = {row["id"]: row for row in run.nodes.to_pylist()}
    assert nodes == [{**given[graph.ids[v]], "ring": rings[v]} for v in sorted(rings)]
    edges = [(place[row["src"]], place[row["dst"]]) for row in rows_of(run.packed / "edges.parquet")]
    assert sorted(edges) == sorted((int(u), int(v)) for u, v in zip(*graph.ends) if u != v and u in rings
                                   and v in rings)
    predictions = rows_of(run.packed / "predictions.parquet")
    assert [row["id"] for row in predictions] == [graph.ids[v] for v in sorted(rings) if v != 5]
    for row in predictions:
        np.testing.assert_allclose([row[name] for name in graph.classes], graph.p[place[row["id"]]], atol=1e-6)
    assert rows_of(run.packed / "scores.parquet") == [run.scores[graph.ids[v]] for v in sorted(rings)]
    said = f"{len(run.suspects)} suspects; 10 packed; {len(rings) - 10} nodes around them (of each node the 8 heaviest neighbours)"
    assert str(run.done) == f"{said}\n{run.done.command}" and run.lines[-1] == str(run.done)
    noted = json.loads((run.packed / "run.json").read_text())
    assert (noted["nodes"], noted["edges"],
            noted["suspects"]) == (600, sum(len(set(of)) for of in run.neighbors.values()) // 2, len(run.suspects))
    assert pack(spark, str(run.out), most=10, neighbors=8, log=lambda text: None) == run.done


def test_people_decide_at_home_and_the_next_run_learns(spark, binary, run, tmp_path):
    words, home = shlex.split(run.done.command)[1:], tmp_path / "home.graph"
    words[1] = home
    graphcleaner(binary, *words)
    graphcleaner(binary, "export", home, "suspects", "--out", tmp_path / "suspects.csv")
    seen = table_of(tmp_path / "suspects.csv")
    want = [v for v in run.suspects if run.place[v] in run.rings]
    assert list(seen) == want
    assert all(abs(float(seen[v]["score"]) - run.scores[v]["score"]) <= 1e-6 for v in want)
    graphcleaner(binary, "shell", home, "-c", "; ".join(f"accept '{v}'" for v in want[:4]))
    verdicts = tmp_path / "verdicts.csv"
    graphcleaner(binary, "export", home, "verdicts", "--out", verdicts)
    assert list(table_of(verdicts)) == sorted(want[:4], key=run.place.get)

    after = clean(spark, *run.paths, str(run.out), hops=2, blocks=2, binary=binary, decisions=str(verdicts),
                  log=lambda text: None)
    labels = {row["id"]: row["given_label"] for row in after.collect()}
    assert all(labels[v] == run.scores[v]["suggested_label"] for v in want[:4])
    pack(spark, str(run.out), threshold=0.0, most=300, neighbors=8, log=lambda text: None)
    rings = {row["id"]: row["ring"] for row in rows_of(run.packed / "nodes.parquet")}
    decided = {row["id"]: row["score"] for row in rows_of(run.packed / "scores.parquet") if row["id"] in want[:4]}
    assert decided and set(decided.values()) == {None} and all(rings[v] > 0 for v in decided)


@pytest.mark.parametrize("more, says", [
    ({"most": 0}, "most: got 0, want at least 1"),
    ({"neighbors": 0}, "neighbors: got 0, want at least 1"),
    ({"threshold": 1.5}, "threshold: got 1.5, want a score from 0 to 1"),
])
def test_arguments_that_are_refused(spark, tmp_path, more, says):
    with pytest.raises(GraphcleanerError, match=says):
        pack(spark, str(tmp_path), **more)


def test_what_is_not_packed(spark, binary, tmp_path):
    with pytest.raises(GraphcleanerError, match="no finished run, want one"):
        pack(spark, str(tmp_path))
    graph = Graph(32, nodes=300, edges=1200)
    write(tmp_path, nodes=graph.nodes().append_column("ring", pa.array(["gold"] * 300)), edges=graph.edges(),
          predictions=graph.predictions())
    paths, out = arguments(tmp_path), str(tmp_path / "out")
    clean(spark, *paths, out, hops=1, binary=binary, log=lambda text: None)
    with pytest.raises(InputError, match="nodes.parquet: pack writes a column ring, want another name for yours"):
        pack(spark, out)
    write(tmp_path, nodes=graph.nodes())
    with pytest.raises(GraphcleanerError, match="its inputs are not those of the run any more"):
        pack(spark, out)
