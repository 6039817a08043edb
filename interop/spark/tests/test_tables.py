"""The files that people give, and the paths of them."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_clean import EDGES, GIVEN, NODES, Graph, arguments, write

from graphcleaner_spark import GraphcleanerError, InputError, clean, pack
from graphcleaner_spark.stages import Stages, read_csv, read_parquet


def table(*names, first=0):
    return pa.table({name: [first, first + 1] for name in names})


def write_files(folder, files):
    for name, of_file in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(of_file, folder / name)
    return str(folder)


def refused(spark, path):
    with pytest.raises(InputError) as err:
        read_parquet(spark, path)
    text = str(err.value)
    assert text.startswith(path) and "\n" not in text
    return text.removeprefix(path).lstrip(":/ ")


@pytest.mark.parametrize("name, other",
                         [("q[1]", "q1"), ("q*", "qq"), ("q?", "qq"), ("{q,r}", "q"), ("a\\b", "ab"),
                          ("a b,ü%20", "ab")])
def test_letters_of_paths_are_no_patterns(spark, tmp_path, name, other):
    write_files(tmp_path, {f"{other}/t.parquet": table("x"), f"{name}/t.parquet": table("x", first=7)})
    (tmp_path / name / "t.csv").write_text("x\n7\n")
    (tmp_path / other / "t.csv").write_text("x\n0\n")
    for path in (tmp_path / name, tmp_path / name / "t.parquet"):
        if path.is_dir():
            (path / "t.csv").rename(tmp_path / name / ".t.csv.kept")
        assert [row["x"] for row in read_parquet(spark, str(path)).collect()] == [7, 8]
    (tmp_path / name / ".t.csv.kept").rename(tmp_path / name / "t.csv")
    assert [row["x"] for row in read_csv(spark, str(tmp_path / name / "t.csv")).collect()] == ["7"]
    for rows, out in ((5, other), (3, name)):
        made = Stages(spark, str(tmp_path / out / "work"), print).run("ids", lambda rows=rows: spark.range(rows),
                                                                      of_frames=False)
        assert made.count() == rows


def test_two_graphs_in_folders_of_like_names(spark, binary, tmp_path):
    done = {}
    for name, out, graph in [("q1", "run1", Graph(1, nodes=200, edges=800)),
                             ("q[1]", "run[1]", Graph(2, nodes=200, edges=800))]:
        (tmp_path / name).mkdir()
        write(tmp_path / name, nodes=graph.nodes(), edges=graph.edges(), predictions=graph.predictions())
        scores = clean(spark, *arguments(tmp_path / name), str(tmp_path / out), hops=1, blocks=1, binary=binary,
                       log=lambda text: None)
        done[out] = {row["id"]: row["given_label"] for row in scores.collect()}
        assert done[out] == dict(zip(graph.ids, graph.labels))
    assert done["run1"] != done["run[1]"]
    packed = pack(spark, str(tmp_path / "run[1]"), most=5, log=lambda text: None)
    assert packed.packed == 5 and pq.read_table(tmp_path / "run[1]" / "pack" / "scores.parquet").num_rows >= 5


SKIPPED = "Spark reads 1 of 2 files: it skips names that begin with _ or . and folders that are no COLUMN=VALUE, want other names"


@pytest.mark.parametrize("files, says", [
    ({"a.parquet": pa.table({"id": ["x"]}), "b.parquet": pa.table({"id": [1]})},
     "Failed to merge incompatible data types"),
    ({"a.parquet": table("x"), "deep/b.parquet": table("x")}, SKIPPED),
    ({"a.parquet": table("x"), "_b.parquet": table("x")}, SKIPPED),
    ({"a.parquet": pa.table([[1.0], [2.0]], names=["x", "x"])}, "`x`"),
    ({"a.parquet": pa.table({"id": [1], "x": np.ones(1, np.float16)})}, "FLOAT16"),
    ({}, "got no rows and no columns, want a table"),
])
def test_folders_that_are_refused(spark, tmp_path, files, says):
    (tmp_path / "t").mkdir()
    assert says in refused(spark, write_files(tmp_path / "t", files))


@pytest.mark.parametrize("name", ["_nodes.parquet", ".nodes.parquet"])
def test_a_file_that_spark_would_skip(spark, tmp_path, name):
    write_files(tmp_path, {name: table("id")})
    assert refused(spark, str(tmp_path / name))
    (tmp_path / "_d.csv").write_text("x\n7\n")
    with pytest.raises(InputError, match="_d.csv: got no rows and no columns"):
        read_csv(spark, str(tmp_path / "_d.csv"))


def test_a_file_without_a_column_has_nulls(spark, tmp_path):
    folder = write_files(tmp_path, {"a.parquet": table("src", "dst"), "b.parquet": table("dst", "src", "weight")})
    assert sorted(map(tuple, read_parquet(spark, folder).select("src", "dst", "weight").fillna(-1).collect())) == [
        (0, 0, -1), (0, 0, 0), (1, 1, -1), (1, 1, 1)]


def test_folders_as_writers_leave_them(spark, tmp_path):
    files = {f"day=1/part-{i}.parquet": table("id", first=2 * i) for i in range(3)}
    folder = write_files(tmp_path, {**files, "day=2/part-0.parquet": table("id"),
                                    "_temporary/0/part-0.parquet": table("other")})
    for name in ("_SUCCESS", ".part-0.parquet.crc", "_metadata_of_another_writer"):
        (tmp_path / name).write_bytes(b"")
    df = read_parquet(spark, folder)
    assert df.count() == 8 and df.columns == ["id", "day"]


def test_files_of_two_writers_may_differ_in_how_they_say_the_same(spark, tmp_path):
    required = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("p", pa.list_(pa.float64()))])
    one = pa.table({"id": [1], "p": [[0.5, 0.5]]}, schema=required)
    spark.createDataFrame([([1.0, 0.0], 2)],
                          "p array<double>, id bigint").coalesce(1).write.parquet(str(tmp_path / "t"))
    pq.write_table(one, tmp_path / "t" / "a.parquet")
    assert sorted(row["id"] for row in read_parquet(spark, str(tmp_path / "t")).collect()) == [1, 2]


def damage(path, column):
    """Breaks the first page of a column, behind which the footer is as it was."""
    found = pq.ParquetFile(path).metadata.row_group(0)
    of = next(found.column(j) for j in range(found.num_columns) if found.column(j).path_in_schema == column)
    at = of.dictionary_page_offset or of.data_page_offset
    whole = bytearray(path.read_bytes())
    whole[at:at + 8] = b"\xff" * 8
    path.write_bytes(whole)
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def test_a_damaged_page_is_an_error_that_names_the_file(spark, binary, tmp_path):
    predictions = pa.table({**GIVEN, "x": [1.0, 0.0, 1.0], "y": [0.0, 1.0, 0.0]})
    write(tmp_path, nodes=pa.table(NODES), edges=pa.table(EDGES), predictions=predictions)
    damage(tmp_path / "predictions.parquet", "y")
    with pytest.raises(InputError, match="^[^ ]*/predictions.parquet: [^\n]*$"):
        clean(spark, *arguments(tmp_path), str(tmp_path / "out"), binary=binary, log=lambda text: None)


@pytest.mark.parametrize("nodes, predictions, says", [
    ({**NODES, "_metadata": [1, 2, 3]}, GIVEN, "nodes.parquet: column _metadata: Spark has a column of this name, "
                                               "want another one"),
    ({**NODES, "label": ["x", "id", "x"]}, GIVEN,
     'predictions.parquet: class "id": the column id has the ids, want the predictions as a list'),
    (NODES, {"id": ["a", "b", "c"], "predictions": [[0.5, 0.5], [1.0, None], [0.5, 0.5]]},
     'predictions.parquet: predictions of node b: "y" is null, want a number'),
])
def test_columns_that_are_refused(spark, binary, tmp_path, nodes, predictions, says):
    write(tmp_path, nodes=pa.table(nodes), edges=pa.table(EDGES), predictions=pa.table(predictions))
    with pytest.raises(InputError) as err:
        clean(spark, *arguments(tmp_path), str(tmp_path / "out"), binary=binary, log=lambda text: None)
    assert str(err.value).endswith(says)


def test_labels_may_be_truths(spark, binary, tmp_path):
    graph = Graph(3, nodes=120, edges=480, classes=2)
    labels = pa.array([None if y is None else y == "class 1" for y in graph.labels])
    nodes = graph.nodes().set_column(1, "label", labels)
    predictions = graph.predictions().rename_columns(["id", "false", "true"])
    write(tmp_path, nodes=nodes, edges=graph.edges(), predictions=predictions)
    scores = clean(spark, *arguments(tmp_path), str(tmp_path / "out"), hops=1, blocks=1, binary=binary,
                   log=lambda text: None)
    assert {row["id"]: row["given_label"] for row in scores.collect()} == {
        v: None if y is None else str(y == "class 1").lower() for v, y in zip(graph.ids, graph.labels)}


RESULTS = ("scores.parquet/part-0.parquet", "pack/nodes.parquet", "finished.json", "work/run-of-others/fit")


def test_results_of_other_inputs_go_when_a_run_begins(spark, binary, tmp_path):
    out = tmp_path / "out"
    for name in RESULTS:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("of an older run")
    write(tmp_path, nodes=pa.table(NODES), edges=pa.table({**EDGES, "dst": ["b", "z"]}), predictions=pa.table(GIVEN))
    nodes, edges, predictions = arguments(tmp_path)
    with pytest.raises(InputError, match="no such file or folder"):
        clean(spark, str(tmp_path / "none"), edges, predictions, str(out), binary=binary, log=lambda text: None)
    assert all((out / name).exists() for name in RESULTS)
    with pytest.raises(InputError, match="ends of edges at unknown nodes"):
        clean(spark, nodes, edges, predictions, str(out), binary=binary, log=lambda text: None)
    assert not [name for name in RESULTS if (out / name).exists()]


@pytest.mark.parametrize("paths, says", [
    (("n", "e", "p", ""), "out: got an empty path, want a folder"),
    (("", "e", "p", "out"), "nodes: got an empty path, want a file"),
    (("n", "e", "", "out"), "predictions: got an empty path, want a file"),
])
def test_empty_paths_are_refused(spark, binary, tmp_path, monkeypatch, paths, says):
    monkeypatch.chdir(tmp_path)
    *given, out = paths
    with pytest.raises(GraphcleanerError) as err:
        clean(spark, *given, out and str(tmp_path / out), binary=binary, log=lambda text: None)
    assert str(err.value) == says
    with pytest.raises(GraphcleanerError, match="^out: got an empty path, want a folder$"):
        pack(spark, "")
