"""End to end: Spark and one process of graphcleaner give the same."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphcleaner_spark import InputError, clean, pipeline, plan
from graphcleaner_spark.errors import FrameError, GraphcleanerError

HERE = Path(__file__).parents[1]


class Graph:
    """A graph of communities with hubs, wrong labels, repeated edges and loops, and with predictions."""

    def __init__(self, seed, nodes=400, edges=1600, classes=3, integers=False, splits=True, wrong=0.12, sure=0.4):
        draw = np.random.default_rng(seed)
        truth = draw.integers(0, classes, nodes)
        source = (nodes * draw.random(edges) ** 2.5).astype(int)
        target = draw.integers(0, nodes, edges)
        inside = [np.flatnonzero(truth == k) for k in range(classes)]
        for e in np.flatnonzero(draw.random(edges) < 0.7):
            target[e] = draw.choice(inside[truth[source[e]]])
        repeated = draw.integers(0, edges, edges // 10)
        source, target = np.r_[source, target[repeated]], np.r_[target, source[repeated]]
        given = np.where(draw.random(nodes) < wrong, draw.integers(0, classes, nodes), truth)
        p = draw.dirichlet(np.full(classes, 0.5), nodes) * (1 - sure)
        p[np.arange(nodes), truth] += sure

        ids = draw.permutation(nodes) * 3 - 50
        self.ids = ids if integers else np.array([f"n{i}" for i in ids], object)
        names = [str(7 + j) if integers else f"class {j}" for j in range(classes)]
        self.truth = truth
        self.classes = sorted(names, key=int) if integers else names
        self.labels = [None if draw.random() < 0.05 else (int(names[y]) if integers else names[y]) for y in given]
        self.splits = [["train", "VAL", "test", None][k]
                       for k in draw.choice(4, nodes, p=[0.5, 0.2, 0.2, 0.1])] if splits else None
        self.ends = source, target
        self.p = p
        self.order = draw.permutation(nodes)

    def nodes(self, rows=slice(None)):
        columns = {"id": self.ids[rows], "label": self.labels[rows]}
        return pa.table({**columns, "split": self.splits[rows]} if self.splits is not None else columns)

    def edges(self, chosen=slice(None)):
        source, target = (end[chosen] for end in self.ends)
        return pa.table({"src": self.ids[source], "dst": self.ids[target]})

    def predictions(self, rows=None):
        rows = self.order if rows is None else rows
        return pa.table({"id": self.ids[rows], **{name: self.p[rows, j] for j, name in enumerate(self.classes)}})


def write(folder, **tables):
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")


def arguments(folder):
    return [str(folder / f"{name}.parquet") for name in ("nodes", "edges", "predictions")]


def graphcleaner(binary, *words):
    done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def exported(binary, store, folder):
    graphcleaner(binary, "export", store, "scores", "--out", folder / "scores.csv")
    with open(folder / "scores.csv", newline="") as text:
        return list(csv.DictReader(text))


def compare(out, want):
    """Scores within 1e-5, nothing missing, labels the same."""
    got = {str(row["id"]): row for row in pq.read_table(out / "scores.parquet").to_pylist()}
    assert len(got) == len(want)
    scored = 0
    for row in want:
        mine = got[row["id"]]
        for name in ("given_label", "suggested_label"):
            assert mine[name] == (row[name] or None), row
        for name in ("score", "confidence"):
            assert (mine[name] is None) == (row[name] == ""), row
            if row[name]:
                assert abs(mine[name] - float(row[name])) <= 1e-5, (row, mine)
                scored += 1
    assert scored > len(want)


def same_suspects(out, exported_suspects):
    """The suspects of a run are those that the store has exported, except for scores that are the threshold but for
    rounding.
    """
    with open(exported_suspects, newline="") as text:
        want = {row["id"] for row in csv.DictReader(text)}
    run = json.loads((out / "finished.json").read_text())
    threshold, rows = run["threshold"], {str(row["id"]): row
                                         for row in pq.read_table(out / "scores.parquet").to_pylist()}
    got = {v for v, row in rows.items() if row["score"] is not None and row["score"] > threshold
           and row["suggested_label"] not in (None, row["given_label"])}
    assert len(got) == run["suspects"]
    assert all(abs(rows[v]["score"] - threshold) <= 1e-5 for v in got ^ want), (got ^ want, threshold)
    assert want


@pytest.fixture
def lines():
    return []


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(plan, "_GREATEST_CHUNK", 32)


def test_three_hops_in_many_blocks_and_a_second_start(spark, binary, tmp_path, lines, small_chunks):
    graph = Graph(1)
    write(tmp_path, nodes=graph.nodes(), edges=graph.edges(), predictions=graph.predictions())
    nodes, edges, predictions = arguments(tmp_path)
    store, out = tmp_path / "store", tmp_path / "out"
    graphcleaner(binary, "import", store, "--nodes", nodes, "--edges", edges, "--predictions", predictions)
    said = graphcleaner(binary, "clean", store, "--as-given")
    want = exported(binary, store, tmp_path)

    def run(**more):
        lines.clear()
        return clean(spark, nodes, edges, predictions, str(out), blocks=4, binary=binary, log=lines.append, **more)

    scores = run()
    assert scores.columns == ["id", "given_label", "score", "suggested_label", "confidence"]
    assert "cut: 400 nodes, at most 3520 arcs, 3 classes, 3 hops: " in "\n".join(lines).replace("3,520", "3520")
    compare(out, want)
    suspects = int(said.split(" suspects above")[0].split()[-1])
    assert f"{suspects} suspects above" in lines[-1] and "400 nodes" in lines[-1]

    done = {line.split(":")[0] for line in lines if line.endswith(" s")}
    of_graph = {"nodes", "numbers", "given", "arcs", "strength", "diagonal"}
    assert of_graph | {"hop3", "fit", "score"} <= done
    run(expect=0.3)
    assert {line.split(":")[0] for line in lines if line.endswith("is there")} == of_graph
    run(expect=0.3)
    assert {line.split(":")[0] for line in lines if line.endswith("is there")} == done
    graphcleaner(binary, "clean", store, "--as-given", "--expect", "0.3")
    compare(out, exported(binary, store, tmp_path))


def test_integers_drawn_splits_lists_and_several_files(spark, binary, tmp_path, small_chunks):
    graph = Graph(2, integers=True, splits=False, classes=4)
    write(tmp_path, nodes=graph.nodes(), edges=graph.edges(), predictions=graph.predictions())
    nodes, edges, predictions = arguments(tmp_path)
    store, out = tmp_path / "store", tmp_path / "out"
    graphcleaner(binary, "import", store, "--nodes", nodes, "--edges", edges, "--predictions", predictions)
    graphcleaner(binary, "clean", store, "--as-given", "--hops", 2, "--seed", 5)
    want = exported(binary, store, tmp_path)

    parts = tmp_path / "parts"
    parts.mkdir()
    for name, rows in [("b-1", slice(90, None)), ("a-2", slice(0, 90))]:  # the order is that of the names
        pq.write_table(graph.nodes(rows), parts / f"{name}.parquet", row_group_size=37)
    listed = tmp_path / "listed.parquet"
    pq.write_table(pa.table({"id": graph.ids, "predictions": list(graph.p[:, ::-1])}), listed)
    clean(spark, str(parts), edges, str(listed), str(out), hops=2, blocks=3, seed=5, binary=binary,
          prediction_classes=graph.classes[::-1], log=lambda text: None)
    compare(out, want)


def test_nodes_without_predictions(spark, binary, tmp_path, small_chunks):
    graph = Graph(3)
    known = 330  # the nodes after them are appended without predictions
    first = (graph.ends[0] < known) & (graph.ends[1] < known)
    write(tmp_path, nodes=graph.nodes(), edges=graph.edges(),
          predictions=graph.predictions(graph.order[graph.order < known]))
    nodes, edges, predictions = arguments(tmp_path)
    parts = tmp_path / "parts"
    parts.mkdir()
    write(parts, nodes=graph.nodes(slice(0, known)), edges=graph.edges(first),
          more_nodes=graph.nodes(slice(known, None)), more_edges=graph.edges(~first))
    store, out = tmp_path / "store", tmp_path / "out"
    graphcleaner(binary, "import", store, "--nodes", parts / "nodes.parquet", "--edges", parts / "edges.parquet",
                 "--predictions", predictions)
    graphcleaner(binary, "import", store, "--append", "--nodes", parts / "more_nodes.parquet", "--edges",
                 parts / "more_edges.parquet")
    graphcleaner(binary, "clean", store, "--as-given", "--hops", 1)
    graphcleaner(binary, "export", store, "scores", "--out", tmp_path / "scores.csv")
    with open(tmp_path / "scores.csv", newline="") as text:
        want = {row["id"]: row for row in csv.DictReader(text)}

    scores = clean(spark, nodes, edges, predictions, str(out), hops=1, blocks=2, binary=binary, log=lambda text: None)
    got = {row["id"]: row for row in scores.collect()}
    assert got.keys() == want.keys()
    for v, row in want.items():
        assert (got[v]["score"] is None) == (row["score"] == ""), row
        assert got[v]["suggested_label"] == (row["suggested_label"] or None)
        assert row["score"] == "" or abs(got[v]["score"] - float(row["score"])) <= 1e-5
    assert all(got[v]["score"] is None for v in graph.ids[known:])


def test_so_few_wrong_labels_that_all_scores_choose_the_threshold(spark, binary, tmp_path):
    graph = Graph(5, nodes=600, edges=2400, wrong=0.01, sure=0.8)
    write(tmp_path, nodes=graph.nodes(), edges=graph.edges(), predictions=graph.predictions())
    nodes, edges, predictions = arguments(tmp_path)
    store, out = tmp_path / "store", tmp_path / "out"
    graphcleaner(binary, "import", store, "--nodes", nodes, "--edges", edges, "--predictions", predictions)
    said = graphcleaner(binary, "clean", store, "--as-given", "--hops", 2)
    lines = []
    clean(spark, nodes, edges, predictions, str(out), hops=2, binary=binary, log=lines.append)
    suspects, threshold = said.split(" suspects above ")[0].split()[-1], said.split(" suspects above ")[1].split(",")[0]
    assert f"{suspects} suspects above {threshold};" in lines[-1]


def test_neighbours_that_disagree(spark, binary, tmp_path, lines):
    """Edges that know nothing of classes: then what neighbours vote for has a weight of its own."""
    graph = Graph(18, nodes=600, edges=600, classes=3)
    draw = np.random.default_rng(18)
    graph.ends = draw.integers(600, size=3000), draw.integers(600, size=3000)
    write(tmp_path, nodes=graph.nodes(), edges=graph.edges(), predictions=graph.predictions())
    nodes, edges, predictions = arguments(tmp_path)
    store, out = tmp_path / "store", tmp_path / "out"
    graphcleaner(binary, "import", store, "--nodes", nodes, "--edges", edges, "--predictions", predictions)
    graphcleaner(binary, "clean", store, "--as-given", "--hops", 1)
    clean(spark, nodes, edges, predictions, str(out), hops=1, binary=binary, log=lines.append)
    compare(out, exported(binary, store, tmp_path))
    assert "warning: low homophily" in lines[-1]


@pytest.mark.cluster
def test_neighbours_with_close_numbers_and_little_memory(spark, binary, tmp_path, lines):
    """A ring, in which all degrees are equal: blocks are about equally full all the same. One block is more than memory
    holds.
    """
    n, k = 1 << 13, 64
    graph = Graph(17, nodes=n, edges=n, classes=2)
    graph.ends = np.repeat(np.arange(n), k), (np.repeat(np.arange(n), k) + np.tile(np.arange(1, k + 1), n)) % n
    write(tmp_path, nodes=graph.nodes(), edges=graph.edges(), predictions=graph.predictions())
    nodes, edges, predictions = arguments(tmp_path)
    store, out = tmp_path / "store", tmp_path / "out"
    with pytest.raises(GraphcleanerError, match="triangles: the nodes and arcs of ranges .* use more blocks or more "
                                                "memory"):
        clean(spark, nodes, edges, predictions, str(out), blocks=1, memory=16 << 20, binary=binary, log=lines.append)
    graphcleaner(binary, "import", store, "--nodes", nodes, "--edges", edges, "--predictions", predictions)
    graphcleaner(binary, "clean", store, "--as-given")
    clean(spark, nodes, edges, predictions, str(out), memory=16 << 20, binary=binary, log=lines.append)
    compare(out, exported(binary, store, tmp_path))


NODES = {"id": ["a", "b", "c"], "label": ["x", "y", "x"]}
EDGES = {"src": ["a", "b"], "dst": ["b", "c"]}
GIVEN = {"id": ["a", "b", "c"], "x": [0.5, 0.5, 0.5], "y": [0.5, 0.5, 0.5]}


@pytest.mark.parametrize("nodes, edges, predictions, says", [
    (NODES, {**EDGES, "dst": ["b", "z"]}, GIVEN, 'edges.parquet: got 1 ends of edges at unknown nodes, such as "z"'),
    ({**NODES, "id": ["a", "b", "a"]}, EDGES, GIVEN,
     'nodes.parquet: node at position 2: column "id": got "a" again, as at position 0, want every id once'),
    ({**NODES, "id": ["a", None, "c"]}, EDGES, GIVEN, 'nodes.parquet: node at position 1: column "id": got none, want '
                                                      'an id'),
    ({**NODES, "split": ["train", "dev", None]}, EDGES, GIVEN, 'node "b" at position 1: column "split": got "dev", '
                                                               'want train, val'),
    ({**NODES, "label": [1.5, 2.0, 1.5]}, EDGES, GIVEN, "nodes.parquet: column label: got double, want texts or "
                                                        "integers"),
    ({**NODES, "label": ["", None, ""]}, EDGES, GIVEN, "no node has a label"),
    ({"name": ["a"]}, EDGES, GIVEN, "nodes.parquet: no column id in name, want id, label"),
    (NODES, {**EDGES, "weight": [1.0, 2.0]}, GIVEN, "edges.parquet: column weight: got weights, want edges without "
                                                    "them on Spark"),
    (NODES, EDGES, {**GIVEN, "id": ["a", "b", "q"]}, 'predictions of 1 unknown nodes, such as "q"'),
    (NODES, EDGES, {**GIVEN, "id": ["a", "b", "b"]}, "predictions of node b: got a second row, want one"),
    (NODES, EDGES, {**GIVEN, "y": [0.5, 0.6, 0.5]}, "predictions.parquet: predictions of node b: they add up to 1.1, "
                                                    "want 1"),
    (NODES, EDGES, {"id": ["a"], "x": [1.0]}, 'class "y" of the labels: the predictions have "x"'),
    (NODES, EDGES, {"id": ["a"]}, 'class "x" of the labels: the predictions have none'),
    (NODES, EDGES, {**GIVEN, "y": ["0.5"] * 3}, "column y: got string, want numbers"),
    (NODES, EDGES, {"id": pa.array([], "string"), **{y: pa.array([], "double") for y in "xy"}},
     "predictions.parquet: got predictions of no node, want those of labelled nodes"),
])
def test_what_is_refused(spark, binary, tmp_path, nodes, edges, predictions, says):
    write(tmp_path, nodes=pa.table(nodes), edges=pa.table(edges), predictions=pa.table(predictions))
    with pytest.raises(InputError) as err:
        clean(spark, *arguments(tmp_path), str(tmp_path / "out"), binary=binary, log=lambda text: None)
    assert says in str(err.value) and "\n" not in str(err.value)


@pytest.mark.parametrize("name, says", [
    ("none.parquet", "none.parquet: no such file or folder"),
    ("empty", "empty: got no rows and no columns, want a table"),
    ("nodes.csv", "is not a Parquet file"),
    ("s3x://bucket/nodes", 's3x://bucket/nodes: org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem '
                           'for scheme "s3x"'),
])
def test_files_that_are_not_parquet(spark, binary, tmp_path, name, says):
    write(tmp_path, edges=pa.table(EDGES), predictions=pa.table(GIVEN))
    (tmp_path / "empty").mkdir()
    (tmp_path / "nodes.csv").write_text("id,label\r\na,x\r\n")
    path = name if "://" in name else str(tmp_path / name)
    with pytest.raises(InputError) as err:
        clean(spark, path, *arguments(tmp_path)[1:], str(tmp_path / "out"), binary=binary, log=lambda text: None)
    assert says in str(err.value) and "\n" not in str(err.value)


@pytest.mark.parametrize("more, says", [
    ({"hops": 4}, "hops: got 4, want 1 to 3 on Spark"),
    ({"blocks": 0}, "blocks: got 0, want at least 1"),
    ({"memory": 1000}, "memory: got 1000 bytes, want at least 16 MiB"),
    ({"expect": -1.0}, "expect: got -1, want a share from 0 to below 1"),
    ({"seed": -1}, "seed: got -1, want a whole number from 0 to below 2^64"),
    ({"seed": 1 << 64}, "seed: got 18446744073709551616, want a whole number from 0 to below 2^64"),
])
def test_arguments_are_refused_before_anything_is_read(spark, tmp_path, more, says):
    with pytest.raises(GraphcleanerError) as err:
        clean(spark, "no nodes", "no edges", "no predictions", str(tmp_path / "out"), **more)
    assert str(err.value) == says


def test_an_input_that_changes_while_it_is_read_is_refused(spark, binary, tmp_path):
    graph = Graph(6)
    write(tmp_path, nodes=graph.nodes(), edges=graph.edges(), predictions=graph.predictions())

    def change(line):
        if line.startswith("cut:"):
            write(tmp_path, edges=graph.edges(slice(0, 1000)))

    with pytest.raises(InputError, match="edges.parquet: it has changed since the run began, want it as it is: start "
                                         "again$"):
        clean(spark, *arguments(tmp_path), str(tmp_path / "out"), hops=1, binary=binary, log=change)
    assert not (tmp_path / "out" / "scores.parquet").exists()


def test_an_error_of_the_worker_is_one_sentence(spark, binary, tmp_path):
    write(tmp_path, nodes=pa.table(NODES), edges=pa.table(EDGES), predictions=pa.table(GIVEN))
    with pytest.raises(GraphcleanerError) as err:
        clean(spark, *arguments(tmp_path), str(tmp_path / "out"), binary=binary, log=lambda text: None)
    assert "worker: census: " in str(err.value) and "\n" not in str(err.value)


def test_an_older_spark_is_refused(spark, binary, tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "LEAST_SPARK", (99, 0))
    with pytest.raises(GraphcleanerError, match=f"^Spark: got version {spark.version}, want 99.0 or newer$"):
        clean(spark, "nodes", "edges", "predictions", str(tmp_path), binary=binary)


def test_a_damaged_frame_is_found_by_the_worker(spark, binary, tmp_path):
    from pyspark.sql import functions as F

    from graphcleaner_spark import frames, stages, worker

    frame = bytearray(frames.pack(frames.LABELS, b"\0\0\0\0" * 3, count=3, width=1))
    frame[45] ^= 4
    df = spark.createDataFrame([(0, 0, 0, frames.LABELS, 0, bytes(frame))], frames.SPARK_SCHEMA)
    job = {"op": "add", "mode": "strength", "memory": 1 << 30, "chunk": 4, "ranges": [0, 3], "classes": 2, "hops": 1}
    with pytest.raises(FrameError, match="worker: add: bad frame: .*checksum"), stages.plain_errors():
        worker.run(df, job, binary=binary, group=[F.lit(0)] * 3, place=F.lit(0), partitions=1, order=[]).collect()


def command(folder, *more):
    environment = {**os.environ, "PYTHONPATH": f"{HERE}:{HERE.parent / 'python'}",
                   "PYSPARK_SUBMIT_ARGS": "--master local[2] --conf spark.ui.enabled=false pyspark-shell"}
    words = [word for name, path in zip(("--nodes", "--edges", "--predictions"), arguments(folder))
             for word in (name, path)]
    return [sys.executable, "-m", "graphcleaner.spark", *words, "--out", str(folder / "out"), *more], environment


def test_the_command_ends_with_one_sentence(binary, tmp_path):
    write(tmp_path, nodes=pa.table(NODES), edges=pa.table({**EDGES, "dst": ["b", "z"]}), predictions=pa.table(GIVEN))
    words, environment = command(tmp_path, "--binary", binary)
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stdout.startswith("nodes: ")
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("graphcleaner: ") and 'such as "z"' in last
    assert "Traceback" not in done.stderr and "\tat " not in done.stderr


def test_the_command_ends_at_an_interrupt(binary, tmp_path):
    graph = Graph(4)
    write(tmp_path, nodes=graph.nodes(), edges=graph.edges(), predictions=graph.predictions())
    words, environment = command(tmp_path, "--binary", binary)
    process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    for line in process.stdout:
        if line.startswith("nodes:"):
            break
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.strip().splitlines()[-1] == "graphcleaner: interrupted; start again with the same arguments to go on"
    assert "Traceback" not in errors
    assert list((tmp_path / "out" / "work").glob("graph-*/nodes"))
