"""Which row is of which node, in what goes to `clean` and in what comes back. These run in the environment of a wheel, too: see test_wheel.py."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from test_client import CLASSES, COLUMNS, EDGE_COLUMNS, WRONG, clean, cleaned, frames, papers, program  # noqa: F401

import graphcleaner
from graphcleaner import GraphcleanerError, _store
from graphcleaner._messages import of_python

SORTED = ["AI", "Databases", "Theory"]


def shuffled():
    """The papers in another order, with an index of their own, and a softmax in that order with sorted columns."""
    nodes, edges, softmax, classes = frames()
    order = np.random.default_rng(5).permutation(len(nodes))
    softmax = pd.DataFrame(softmax[order][:, np.argsort(classes)], columns=SORTED)
    return nodes.iloc[order], edges, softmax


def marked(nodes, found):
    """The ids of suspects by way of the index, as pandas aligns a new column."""
    return sorted(nodes.assign(issue=found["is_label_issue"]).query("issue").paper_id)


def test_the_answer_has_the_index_of_the_nodes():
    nodes, edges, softmax = shuffled()
    wrong = sorted(f"p{v}" for v in WRONG)
    found = clean(nodes, edges, softmax.to_numpy())
    assert found.index.equals(nodes.index) and list(found.paper_id) == list(nodes.paper_id)
    assert marked(nodes, found) == wrong
    named = nodes.set_index("paper_id")
    found = clean(named, edges, softmax.to_numpy())
    assert found.index.equals(named.index) and "paper_id" not in found and sorted(found.index[found.is_label_issue]) == wrong
    kept = nodes[nodes.year > 2000]
    within = edges[edges.source.isin(kept.paper_id) & edges.target.isin(kept.paper_id)]
    assert clean(kept, within).index.equals(kept.index)


def test_rows_of_predictions():
    nodes, edges, softmax = shuffled()
    want = clean(nodes, edges, softmax.to_numpy())
    again = np.random.default_rng(6).permutation(len(nodes))
    own = softmax.set_axis(nodes.index)
    by_id = softmax.set_axis(nodes.paper_id.to_numpy())
    for given in (own, own.iloc[again], by_id, by_id.iloc[again], by_id.rename_axis("paper_id"), by_id.iloc[again].reset_index(names="paper_id")):
        pd.testing.assert_frame_equal(clean(nodes, edges, given), want)
    pd.testing.assert_frame_equal(clean(nodes.reset_index(drop=True), edges, softmax), want.reset_index(drop=True))
    with pytest.raises(GraphcleanerError, match=r"in another order: want predictions.set_axis\(nodes.index\) if row i is of row i of the nodes, else"):
        clean(nodes, edges, softmax)
    graph = graphcleaner.Graph.of(nodes, edges, columns=COLUMNS, edge_columns=EDGE_COLUMNS)
    found = graphcleaner.clean(graph, predictions=by_id.iloc[again], as_given=True)
    assert list(found["suggested_label"]) == list(want.suggested_label)
    with pytest.raises(GraphcleanerError, match='^predictions, row 3.*"x3"'):
        clean(nodes, edges, softmax.set_axis([f"x{v}" if v == 3 else f"p{v}" for v in range(60)]))


@pytest.mark.parametrize("labels, order", [
    (["Theory", "Databases", "AI"], ["AI", "Databases", "Theory"]),
    ([10, 9, 2], [2, 9, 10]),
    ([2.5, 10.0, 9.0], [2.5, 9.0, 10.0]),
    ([True, False, True], [False, True]),
    (["10", "9", "2"], ["2", "9", "10"]),
    (pd.Categorical(["mid", "low", "high"], ["low", "mid", "high"]), ["low", "mid", "high"]),
    (pd.Categorical(["mid", "low", "high"], ["unused", "low", "mid", "high"]), ["low", "mid", "high"]),
    (pd.Categorical(["mid", "low", "high"], ["unused", "low", "mid", "high"]), ["unused", "low", "mid", "high"]),
], ids=str)
def test_columns_of_an_array_are_the_sorted_classes(labels, order):
    nodes, edges, _, _ = frames(names=False)
    subject = pd.Series(labels).iloc[nodes.subject].reset_index(drop=True)
    truth = list(pd.Series(labels).iloc[np.arange(60) % 3])
    softmax = np.array([[0.7 if y == c else 0.3 / (len(order) - 1) for c in order] for y in truth])
    pd.testing.assert_frame_equal(clean(nodes.assign(subject=subject), edges, softmax), clean(nodes.assign(subject=subject), edges, softmax, order))
    with pytest.raises(GraphcleanerError, match=f"got {len(order) + 2} columns.*want classes=model.classes_"):
        clean(nodes.assign(subject=subject), edges, np.hstack([softmax, softmax[:, :2] * 0]))


def test_columns_in_another_order(caplog):
    nodes, edges, softmax, classes = frames()
    order = np.argsort(classes)
    says = (r"^predictions: its columns seem to be in another order than the sorted one: 17 of 60 labels are predicted in it, and 57 with "
            r"classes=\['Theory', 'Databases', 'AI'\]: pass that, or classes=model.classes_$")
    graph = graphcleaner.Graph.of(nodes, edges, columns=COLUMNS, edge_columns=EDGE_COLUMNS)
    for call in (lambda: clean(nodes, edges, softmax), lambda: graphcleaner.clean(graph, predictions=softmax)):
        with pytest.raises(GraphcleanerError, match=says):
            call()
    clean(nodes, edges, softmax, classes)
    assert "the columns are" not in caplog.text
    clean(nodes, edges, softmax, SORTED)
    clean(nodes.assign(subject=pd.Categorical(nodes.subject, classes)), edges, softmax[:, order])
    assert caplog.text.count("It is the label of 57 if the columns are") == 2


def test_predictions_of_other_rows(caplog):
    nodes, edges, softmax, classes = frames()
    rows = np.random.default_rng(0).permutation(60)
    found = clean(nodes, edges, softmax[rows], classes)
    assert "predictions: the largest prediction of a row is the label of" in caplog.text and "row 0 for node p0 and row 1 for node p1" in caplog.text
    assert any("largest prediction" in line for line in found.attrs["graphcleaner"]["warnings"])


def test_predictions_of_some_nodes():
    nodes, edges, softmax, classes = frames()
    some = np.arange(60) % 4 != 3  # with 52 and 31 in
    given = softmax.copy()
    given[~some] = np.nan
    want = clean(nodes, edges, given, classes)
    assert want.score[some].notna().all() and want.score[~some].isna().all()
    named = pd.DataFrame(softmax, columns=classes)
    for part in (pd.DataFrame(given, columns=classes), named[some], named.assign(paper_id=nodes.paper_id)[some], named.set_axis(nodes.paper_id.to_numpy())[some]):
        pd.testing.assert_frame_equal(clean(nodes, edges, part), want)
    with pytest.raises(GraphcleanerError, match="got 45 rows for 60 nodes: want a row for each node, of NaN where there is none, or a frame"):
        clean(nodes, edges, softmax[some], classes)
    nodes, edges, softmax, classes = frames(count=600)
    softmax[::4] = np.nan
    joined = graphcleaner.clean(nodes, edges, softmax, classes, columns=COLUMNS, edge_columns=EDGE_COLUMNS)
    assert joined.score.notna().all() and any("150 of 600 nodes have no predictions" in line for line in joined.attrs["graphcleaner"]["notes"])


@pytest.mark.parametrize("given", [[1.0, 0.0, np.nan], pd.array([1, 0, None], "Int64"), pd.array([True, False, None], "boolean"),
                                   pd.array(["b", "a", None], "string"), np.array([1, 0, None], object)], ids=str)
def test_both_labels_have_the_type_of_the_labels(given):
    nodes, edges, _, _ = frames(names=False)
    nodes["subject"] = pd.Series(given).iloc[[0 if v % 9 == 5 else 2 if v == 7 else v % 2 for v in range(60)]].to_numpy() \
        if isinstance(given, (list, np.ndarray)) else pd.array([given[2 if v == 7 else v % 2] for v in range(60)], given.dtype)
    found = clean(nodes, edges)
    assert found.given_label.dtype == found.suggested_label.dtype == found.predicted_label.dtype == nodes.subject.dtype
    assert pd.isna(found.given_label[7]) and found.given_label.drop(7).tolist() == nodes.subject.drop(7).tolist()
    assert {type(v) for v in found.suggested_label} == {type(v) for v in nodes.subject.drop(7)}


def test_a_class_that_no_label_has_is_of_another_type():
    nodes, edges, softmax, _ = frames(names=False)
    other = pd.DataFrame(np.hstack([softmax * 0.01, np.full((60, 1), 0.99)]), columns=["0", "1", "2", "other"])
    other /= other.sum(axis=1).to_numpy()[:, None]
    assert set(clean(nodes, edges, other).suggested_label.map(str)) <= {"0", "1", "2", "other"}


@pytest.mark.parametrize("values", [["NA", "-"], np.array(["NA", "-"])], ids=str)
def test_labels_that_mean_none(values):
    nodes, edges, _, _ = frames()
    nodes.loc[[3, 4], "subject"] = ["NA", "-"]
    found = clean(nodes, edges, unlabelled=values)
    assert found.score.isna().tolist() == [v in (3, 4) for v in range(60)] and set(found.suggested_label) == set(CLASSES)
    category = clean(nodes.assign(subject=nodes.subject.astype("category")), edges, unlabelled=values)
    assert category.score.isna().sum() == 2


def test_classes_of_a_graph_that_mean_none():
    nodes, edges, softmax, _ = frames()
    graph = graphcleaner.Graph.of(nodes.assign(subject=nodes.subject.mask(nodes.paper_id == "p4", "NA")), edges, columns=COLUMNS, edge_columns=EDGE_COLUMNS)
    assert graph.classes == ["AI", "Databases", "NA", "Theory"]
    found = graphcleaner.clean(graph, predictions=softmax[:, [2, 1, 0]] > 0.5, unlabelled="NA", as_given=True)
    assert found["score"].isna().sum() == 1 and set(found["suggested_label"]) == set(CLASSES)


def test_numbers_that_mean_none(papers):  # noqa: F811
    nodes, edges, softmax, classes = frames(names=False)
    for missing, subject in ((-1, nodes.subject), (-1.0, nodes.subject.astype(float))):
        found = clean(nodes.assign(subject=subject.mask(nodes.paper_id == 5, missing)), edges, softmax, unlabelled=missing)
        assert found.score.isna().sum() == 1 and found.suggested_label[5] == 2
    store = graphcleaner.open(papers)
    store.append({"id": ["new"], "label": ["NA"]}, unlabelled="NA")
    assert store.query("count nodes where label is null").to_pylist() == [{"count": 1}]


def test_what_is_known_of_the_run(caplog):
    nodes, edges, softmax, classes = frames(count=600)
    useless = np.random.default_rng(1).dirichlet([1, 1, 1], 600)
    found = graphcleaner.clean(nodes, edges, useless, classes, columns=COLUMNS, edge_columns=EDGE_COLUMNS)
    run = found.attrs["graphcleaner"]
    assert 0 < run["threshold"] < 1 and (found.score > run["threshold"]).sum() == run["suspects"] and "store" not in run
    assert run["rate_low"] <= run["mislabel_rate"] <= run["rate_high"]
    assert run["warnings"] and all(line in caplog.text for line in run["warnings"]) and set(run["warnings"]) <= set(run["notes"])
    assert any("predictions" in line for line in run["warnings"])
    table = clean(pa.Table.from_pandas(nodes), pa.Table.from_pandas(edges), softmax, classes)
    assert json.loads(table.schema.metadata[b"graphcleaner"])["predictions"] == "imported"
    polars = pytest.importorskip("polars")
    assert clean(polars.from_pandas(nodes), polars.from_pandas(edges)).attrs["graphcleaner"]["predictions"] == "built-in"
    assert table.num_rows == 600 and json.dumps(found[found.is_label_issue].attrs)


# Errors


@pytest.mark.parametrize("said, reads", [
    ('/t/a b/predictions.parquet:6: column "Case_Based": got "NaN", want a finite number', "predictions, row 5, column 'Case_Based': got \"NaN\", want a finite number"),
    ('/t/a b/nodes.parquet:10: column "id": got "p0" again, as in line 1', "nodes, row 9, column 'id': got \"p0\" again, as in row 0"),
    ("If they are out-of-fold, pass --as-given.", "If they are out-of-fold, pass as_given=True."),
    ("add up to 3 (or say --logits)", "add up to 3 (or say logits=True)"),
    ("--hops 9: want 1 to 5", "hops=9: want 1 to 5"),
    ("clean with --expect R, or --threshold", "clean with expect=R, or threshold"),
    ("add --unlabelled 'N/A,-1' to that", "add unlabelled=['N/A', '-1'] to that"),
    ("add --unlabelled -1.", "add unlabelled=['-1']."),
    (r"with --prediction-classes 'a b,c\, d': give that", "with classes=['a b', 'c, d']: give that"),
    ("with --prediction-classes c1,c0: give that", "with classes=['c1', 'c0']: give that"),
    ("/t/a b/predictions.npy: row 5 (node p5): class B is 3. If these are logits, add --logits", "predictions, row 5: node p5: class B is 3. If these are logits, add logits=True"),
    ("import --trim joins those", "import --trim joins those"),
    ("line 3 of /else/nodes.csv:3", "line 3 of /else/nodes.csv:3"),
    ('hops: got "2 --report=y", want', 'hops: got "2 --report=y", want'),
    ("a--as-given and --no-rescore", "a--as-given and --no-rescore"),
])
def test_messages_are_of_python(said, reads):
    files = ["/t/a b/nodes.parquet", "/t/a b/predictions.parquet", "/t/a b/predictions.npy"]
    assert of_python(said, ["import", *files]) == reads


def test_errors_name_rows_and_columns_of_the_caller():
    nodes, edges, softmax, classes = frames()
    broken = softmax.copy()
    broken[5, 1] = np.nan
    for call, says in [
        (lambda: clean(nodes, edges, broken, classes), "^predictions, row 5, column 'Databases': got NaN, want"),
        (lambda: clean(nodes.replace({"paper_id": {"p9": "p0"}}), edges), "^nodes, row 9, column 'paper_id': got \"p0\" again, as in row 0"),
        (lambda: clean(nodes, edges.replace({"target": {"p9": None}})), "^edges, row [0-9]+, column 'target': got"),
        (lambda: clean(nodes, edges, features=nodes), "^features, row 0, column 'subject': got \"Theory\""),
    ]:
        with pytest.raises(GraphcleanerError, match=says) as failed:
            call()
        assert "parquet" not in str(failed.value) and os.sep not in str(failed.value)


def test_options_that_are_misspelt(papers):  # noqa: F811
    nodes, edges, _, _ = frames()
    store = graphcleaner.open(papers)
    for call, says in [
        (lambda: clean(nodes, edges, hop=3), "^hop=…: did you mean hops=…$"),
        (lambda: clean(nodes, edges, asgiven=True), "^asgiven=…: did you mean as_given=…$"),
        (lambda: clean(nodes, edges, feature=1), "^feature=…: did you mean features=…$"),
        (lambda: store.clean(hop=3), "^hop=…: did you mean hops=…$"),
        (lambda: store.export("labels", without_suspect=True), "^without_suspect=…: did you mean without_suspects=…$"),
    ]:
        with pytest.raises(GraphcleanerError, match=says):
            call()


@pytest.mark.parametrize("command, options", [("clean", _store.CLEANING), ("export", _store._EXPORTING)])
def test_options_are_those_of_the_program(command, options):
    known = set(re.findall(r"^ +(?:-\w, )? *--([a-z-]+)", _binary_help(command), re.MULTILINE))
    own = {"help", "version", "quiet", "log", "format", "out"}
    assert {name.replace("-", "_") for name in known - own} == set(options)


def _binary_help(command):
    return graphcleaner._binary.run([command, "--help"])


def test_errors_are_short(papers):  # noqa: F811
    store = graphcleaner.open(papers)
    for call in (lambda: store.query("nodes where yeer > 1"), lambda: store.suspects("yeer > 1"), lambda: clean(*frames(), hops=9), lambda: clean(5, 6)):
        with pytest.raises(GraphcleanerError) as failed:
            call()
        assert len(failed.traceback) <= 4 and failed.value.__suppress_context__ and failed.value.__cause__ is None


ODD = [[["a"], ["b"]], [{"a": 1}, {"a": 2}], [1 + 2j, 3j], [b"\xff", b"\xfe"], [object(), object()], [pd.Timedelta(1), pd.Timedelta(2)],
       [pd.Period("2020"), pd.Period("2021")], [np.float16(1), np.float16(2)], [pd.Interval(0, 1), pd.Interval(1, 2)], [(1, 2), (3, 4)], ["a", 1], [lambda: 1] * 2]


@pytest.mark.parametrize("values", ODD, ids=lambda values: type(values[0]).__name__)
@pytest.mark.parametrize("column", ["paper_id", "subject", "softmax", "networkx", "ids", "value"])
def test_values_of_odd_types(values, column, cleaned):  # noqa: F811
    """They are taken, or refused as everything is."""
    nodes, edges, softmax, classes = frames()
    many = pd.Series([values[v % 2] for v in range(60)])
    store = graphcleaner.open(cleaned)
    ask = {
        "softmax": lambda: clean(nodes, edges, pd.DataFrame(dict.fromkeys(classes, many))),
        "networkx": lambda: _of_networkx(values),
        "ids": lambda: store.score(values),
        "value": lambda: store.query("nodes where id = $1", values[0]),
    }.get(column, lambda: clean(nodes.assign(**{column: many}), edges))
    try:
        ask()
    except GraphcleanerError:
        pass


@pytest.mark.parametrize("value", [5, [], np.zeros((2, 2)), pd.DataFrame(), pd.NA, object()], ids=lambda value: type(value).__name__)
def test_arguments_of_odd_types(value, cleaned):  # noqa: F811
    store = graphcleaner.open(cleaned)
    for call in (store.query, store.export, store.neighborhood, store.suspects, graphcleaner.open, graphcleaner.from_networkx, graphcleaner.read_ogb,
                 graphcleaner.read_dgl, lambda value: store.suspects(order_by=value), lambda value: clean(*frames(), store=value)):
        with pytest.raises(GraphcleanerError):
            call(value)
    with pytest.raises(TypeError, match="missing a required argument"):
        graphcleaner.open()


def _of_networkx(values):
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph([(0, 1), (1, 2), (0, 2)])
    networkx.set_node_attributes(graph, {v: values[v % 2] for v in range(3)}, "label")
    networkx.set_edge_attributes(graph, {edge: values[0] for edge in graph.edges}, "weight")
    return graphcleaner.from_networkx(graph, weight="weight")


def test_graphs_of_other_libraries_are_named():
    networkx = pytest.importorskip("networkx")
    with pytest.raises(GraphcleanerError, match=r"^nodes: got a graph of NetworkX, want graphcleaner.from_networkx\(G, label=…\)$"):
        graphcleaner.clean(networkx.Graph())


# Values in statements


@pytest.mark.parametrize("who", ["x' or label != 'y", "'", "''", "'; undo; --", "$1", "--", "\\", "a\nb", '"', "ü\u2028"])
def test_values_are_values(cleaned, who):  # noqa: F811
    store = graphcleaner.open(cleaned)
    assert store.suspects("label = $1", who).num_rows == 0
    assert store.query("count nodes where label != $1 and id != $2", who, who).to_pylist() == [{"count": 60}]
    assert store.query("nodes where label = '$1' or id = $1 -- it's $2", who).num_rows == 0


@pytest.mark.parametrize("statement, values, want", [
    ("label = $1 and score > $2", ("it's", 0.5), "label = 'it''s' and score > 0.5"),
    ("$1 $2 $3 $4", (True, np.int64(-3), np.float32(0.5), np.bool_(False)), "true -3 0.5 false"),
    ("$1 '$1' \"$1\" '''$1' $2", ("a", 2), "'a' '$1' \"$1\" '''$1' 2"),
    ("label like '%--%' and id = $1", ("x",), "label like '%--%' and id = 'x'"),
])
def test_values_in_a_statement(statement, values, want):
    assert _store.bound(statement, values) == want


@pytest.mark.parametrize("ask, says", [
    (lambda s: s.query("nodes where id = $2", "x"), r"it has \$2, and there are 1 values"),
    (lambda s: s.query("nodes where id = $0", "x"), r"it has \$0, and there are 1 values"),
    (lambda s: s.query("nodes where id = '$1'", "x"), r"it has 0 of \$1 to \$1, want all of them, outside of quotes"),
    (lambda s: s.query("nodes where id = 'x' and label = 'y $1", "x"), "is not closed"),
    (lambda s: s.query("nodes where id = $1", None), r"\$1: got None, want a text, a finite number"),
    (lambda s: s.query("nodes where score = $1", float("nan")), r"\$1: got nan, want a text"),
    (lambda s: s.suspects(order_by="score limit 1"), "order_by: got limit outside of quotes"),
    (lambda s: s.suspects("score > 0 limit 1 return id"), "where: got limit outside of quotes"),
    (lambda s: s.suspects("score > 0 Order\nby id"), "where: got Order outside of quotes"),
    (lambda s: s.suspects("score > 0; undo"), "where: got ; outside of quotes"),
    (lambda s: s.suspects("score > 0 --", order_by="id"), "where: got -- outside of quotes"),
    (lambda s: s.suspects("label = 'x", order_by="id' or 'y'"), "where: the quote ' is not closed"),
    (lambda s: s.suspects(None, "x"), "where: got none, and values for it"),
])
def test_statements_that_are_refused(cleaned, ask, says):  # noqa: F811
    with pytest.raises(GraphcleanerError, match=says):
        ask(graphcleaner.open(cleaned))


def test_words_of_clauses_in_quotes(papers):  # noqa: F811
    store = graphcleaner.open(papers)
    store.append({"id": ["p1"], "label": ["Databases"], "limit": [3]})
    assert store.suspects("\"limit\" = 3 and label != 'order by; --'", order_by='"limit"').num_rows == 0


def test_a_store_in_a_with_block(cleaned):  # noqa: F811
    with graphcleaner.open(cleaned) as store:
        picture = store.neighborhood("p1")
        assert store.query("count nodes").num_rows == 1
    assert repr(picture).startswith("<Neighborhood, a picture of ") and len(repr(picture)) < 100


# Stores in the place of others, and the end of Python


def test_a_store_is_replaced(papers, tmp_path):  # noqa: F811
    graphcleaner.open(papers).decide("p1", "reject")
    with pytest.raises(GraphcleanerError, match="^hops=9"):
        clean(*frames(), store=papers, replace=True, hops=9)
    assert graphcleaner.open(papers).query("history").num_rows == 1
    clean(*frames(), store=papers, replace=True)
    assert graphcleaner.open(papers).query("history").num_rows == 0
    assert [path.name for path in papers.parent.iterdir()] == [papers.name]
    clean(*frames(), store=tmp_path / "new.graph", replace=True)
    assert graphcleaner.open(tmp_path / "new.graph").query("count nodes").num_rows == 1
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    with pytest.raises(GraphcleanerError, match="not a graphcleaner store"):
        clean(*frames(), store=tmp_path / "mine", replace=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "all of it"
    with pytest.raises(GraphcleanerError, match="replace: want a store with it"):
        clean(*frames(), replace=True)


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_a_link_to_a_store_stays_one(papers, tmp_path):  # noqa: F811
    link = tmp_path / "link"
    link.symlink_to(papers)
    clean(*frames(), store=link, replace=True)
    assert link.is_symlink() and graphcleaner.open(papers).query("history").num_rows == 0


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_store_in_use_is_not_replaced(papers):  # noqa: F811
    holder = subprocess.Popen([graphcleaner._binary.path(), "serve", papers], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        holder.stdout.readline()  # it holds the store by now
        with pytest.raises(GraphcleanerError, match="another process has the store open"):
            clean(*frames(), store=papers, replace=True)
    finally:
        holder.terminate()
        holder.communicate()


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL", "SIGINT", "os._exit", "daemon"])
def test_the_end_of_python_ends_the_program(how, tmp_path):
    """Whatever ends Python ends the program that it runs. Only SIGKILL and os._exit leave files."""
    fifo, stores = tmp_path / "fifo.csv", tmp_path / "tmp"
    os.mkfifo(fifo)
    stores.mkdir()
    code = f"""
import os, signal, subprocess, sys, threading, time
from graphcleaner import _binary, _tables
started = subprocess.Popen
class Popen(started):
    def __init__(self, *words, **named):
        super().__init__(*words, **named)
        print(self.pid, flush=True)
subprocess.Popen = Popen
def run():
    with _tables.folder() as folder:
        _binary.run(["import", folder + "/store", "--nodes", {str(fifo)!r}, "--edges", {str(fifo)!r}])
if {how!r} == "daemon":
    threading.Thread(target=run, daemon=True).start()
    sys.stdin.readline()
elif {how!r} == "os._exit":
    threading.Thread(target=lambda: (sys.stdin.readline(), os._exit(3))).start()
    run()
else:
    run()
"""
    environment = {**os.environ, "TMPDIR": str(stores), "GRAPHCLEANER_BINARY": graphcleaner._binary.path(),
                   "PYTHONPATH": str(Path(graphcleaner.__file__).parents[1])}
    python = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    child = int(python.stdout.readline())
    if how.startswith("SIG"):
        python.send_signal(getattr(signal, how))
    python.communicate(b"\n", timeout=60)
    assert python.returncode == {"SIGTERM": 143, "SIGKILL": -9, "SIGINT": -signal.SIGINT, "os._exit": 3, "daemon": 0}[how] or how == "SIGINT"
    deadline = time.monotonic() + 60
    while _runs(child):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert how in ("SIGKILL", "os._exit") or not list(stores.iterdir())


def _runs(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    except OSError:
        os.kill(pid, 0)
        return True


def test_a_handler_of_the_caller_stays(papers):  # noqa: F811
    before = signal.getsignal(signal.SIGTERM)
    graphcleaner.open(papers).score("p1")
    assert signal.getsignal(signal.SIGTERM) == before
    answers = []
    thread = threading.Thread(target=lambda: answers.append(graphcleaner.open(papers).score("p1").num_rows))
    thread.start()
    thread.join()
    assert answers == [1]
