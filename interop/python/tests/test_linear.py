"""The linear classifier: what it finds, and what it refuses."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_clean import EDGES, GIVEN, NODES, Graph, write

from graphcleaner.spark import GraphcleanerError, InputError, clean, linear


def inputs_of(folder, graph, truth, seed=3):
    """Nodes, edges and features, which say something of the true class: of all nodes but the first."""
    draw = np.random.default_rng(seed)
    x = np.eye(len(graph.classes))[truth] + draw.normal(0, 0.7, (len(truth), len(graph.classes)))
    x = np.c_[x, np.full(len(x), 7.0), draw.normal(1000, 50, len(x))]  # a constant, and one that says nothing
    order = draw.permutation(np.arange(1, len(x)))
    write(folder, nodes=graph.nodes(), edges=graph.edges(),
          features=pa.table({"id": graph.ids[order], "features": list(x[order].astype(np.float32))}))
    return [str(folder / f"{name}.parquet") for name in ("nodes", "edges", "features")]


def test_suspects_are_found_without_predictions(spark, binary, tmp_path):
    graph = Graph(21, nodes=600, edges=3000, wrong=0.15)
    nodes, edges, features = inputs_of(tmp_path, graph, graph.truth)
    lines = []

    def run(out):
        lines.clear()
        df = clean(spark, nodes, edges, None, str(tmp_path / out), node_features=features, hops=1, blocks=2, binary=binary,
                   log=lines.append)
        return {row["id"]: row.asDict() for row in df.collect()}

    scores = run("out")
    right = dict(zip(graph.ids, (graph.classes[y] for y in graph.truth)))
    wrong = {v for v, row in scores.items() if row["given_label"] is not None and row["given_label"] != right[v]}
    threshold = float(lines[-1].split("suspects above ")[1].split(";")[0])
    found = {v for v, row in scores.items() if row["score"] is not None and row["score"] > threshold
             and row["suggested_label"] != row["given_label"]}
    f1 = 2 * len(found & wrong) / (len(found) + len(wrong))
    assert len(wrong) > 40 and f1 > 0.6, (len(found), len(wrong), f1)  # by chance 0.1
    said = lines[-1].split("linear classifier (Spark ML): accuracy ")[1]
    assert 0.7 < float(said.split()[0]) < 1 and "labels of val and test nodes" in said
    assert "1 nodes have no features" in lines[-1]
    assert sum(line.startswith("linear classifier (Spark ML), ") for line in lines) == 6
    assert scores[graph.ids[0]]["suggested_label"] is not None
    assert run("again") == scores


def test_standardized_and_smoothed(spark, binary, tmp_path):
    """The first inputs have mean 0 and deviation 1, and their rows without features zeros."""
    from pyspark.sql import functions as F

    draw = np.random.default_rng(1)
    x = draw.normal(5, 3, (1000, 3)).astype(np.float32)
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"id": range(1000), "a": x[:, 0], "b": x[:, 1], "c": np.full(1000, 2.5)}), path, row_group_size=90)
    from graphcleaner.spark import inputs

    columns = spark.read.parquet(str(path)).select("id", *(F.col(name).alias(f"c{j}") for j, name in enumerate("abc")))
    found = columns.repartitionByRange(4, "id").mapInArrow(linear.moments(inputs.features("x", list("abc"), False)), linear.MOMENTS_SCHEMA)
    mean, deviation = linear.scale("x", found)
    want = np.c_[x[:, :2], np.full(1000, 2.5)].astype(np.float64)
    np.testing.assert_allclose(mean, want.mean(0), rtol=1e-12)
    np.testing.assert_allclose(deviation, [*want.std(0)[:2], 1], rtol=1e-12)
    rows = pa.table({"features": pa.array([want[0].astype("<f4").tobytes(), None], pa.binary())})
    (_, payload, size), = linear.standardized(mean, deviation)({}, rows)
    got = np.frombuffer(payload, "<f4").reshape(2, 3)
    np.testing.assert_allclose(got, [(want[0] - mean) / deviation, [0, 0, 0]], rtol=1e-6, atol=1e-7)
    assert size == {"count": 2, "width": 3}


def test_a_share_of_the_teachers_is_drawn():
    drawn = [linear._hash(0, 100_000, seed) < np.uint64(0.3 * 2**64) for seed in (1, 2)]
    assert all(abs(one.mean() - 0.3) < 0.01 for one in drawn) and abs((drawn[0] & drawn[1]).mean() - 0.09) < 0.01
    np.testing.assert_array_equal(np.r_[linear._hash(0, 40, 1), linear._hash(40, 60, 1)], linear._hash(0, 100, 1))


FEATURES = {"id": ["a", "b", "c"], "f": [0.5, 1.5, -1.0], "g": [1, 2, 3]}


@pytest.mark.parametrize("features, more, says", [
    (None, {}, "got no predictions, want --predictions of your classifier, or --node-features for a linear one"),
    (FEATURES, {"predictions": True}, "got --predictions and --node-features, want one of them"),
    (FEATURES, {"prediction_classes": ["x", "y"]}, "got --prediction-classes without --predictions, want both"),
    ({"id": ["a", "b", "q"], "f": [1, 2, 3]}, {}, 'got features of 1 unknown nodes, such as "q"'),
    ({"id": ["a", "b", "b"], "f": [1, 2, 3]}, {}, "features of node b: got a second row, want one"),
    ({"id": ["a"], "f": ["1"]}, {}, "features.parquet: column f: got string, want numbers"),
    ({"id": ["a", "b"]}, {}, "features.parquet: got 0 features, want 1 to 65536"),
])
def test_what_is_refused(spark, binary, tmp_path, features, more, says):
    write(tmp_path, nodes=pa.table(NODES), edges=pa.table(EDGES), predictions=pa.table(GIVEN), features=pa.table(features or FEATURES))
    nodes, edges, predictions = (str(tmp_path / f"{name}.parquet") for name in ("nodes", "edges", "predictions"))
    given = predictions if more.pop("predictions", False) else None
    with pytest.raises(GraphcleanerError) as err:
        clean(spark, nodes, edges, given, str(tmp_path / "out"), binary=binary, log=lambda text: None,
              node_features=str(tmp_path / "features.parquet") if features else None, **more)
    assert says in str(err.value) and "\n" not in str(err.value)


@pytest.mark.parametrize("columns, says", [
    ({"c0": [1.0, None]}, 'x: features of node 8: "f" is null, want a number'),
    ({"c0": [1e39, 1.0]}, "x: features of node 7: f is 1e+39, want a finite number of 32 bits"),
])
def test_features_that_are_refused(columns, says):
    from graphcleaner.spark import inputs

    batch = pa.RecordBatch.from_pydict({"id": [7, 8], **columns})
    with pytest.raises(InputError) as err:
        list(inputs.features("x", ["f"], False)(iter([batch])))
    assert says == str(err.value)


@pytest.mark.parametrize("taught, says", [
    (None, "no labelled node has the split train or none"), ([0, 2], 'all labels to learn from are "y", want two classes'),
])
def test_labels_that_cannot_teach(taught, says):
    with pytest.raises(GraphcleanerError, match=says):
        linear.check_taught(taught, ["x", "y"])
    linear.check_taught([1, 2], ["x", "y"])
