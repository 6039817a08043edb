"""`clean` and `open`, against the program. These run with this folder, and in the environment of a wheel: see
test_wheel.py.
"""

import doctest
import importlib
import logging
import os
import shutil
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import graphcleaner
from graphcleaner import GraphcleanerError

pd = pytest.importorskip("pandas")

WRONG = [7, 31, 52]  # papers whose label is wrong
CLASSES = ["Theory", "Databases", "AI"]
COLUMNS = {"id": "paper_id", "label": "subject"}
EDGE_COLUMNS = {"src": "source", "dst": "target"}
ANSWER = ["given_label", "suggested_label", "score", "confidence", "is_label_issue", "label_score", "predicted_label"]


@pytest.fixture(scope="session", autouse=True)
def program(request):
    """The program of the wheel, or one of this repository."""
    if not (Path(graphcleaner.__file__).parent / "bin").is_dir():
        os.environ["GRAPHCLEANER_BINARY"] = request.getfixturevalue("binary")


def truth(count=60):
    return np.arange(count) % 3


def frames(names=True, count=60):
    """Papers of three fields that cite papers of their own: nodes, edges and softmax, whose columns are in the order of
    pandas.factorize.
    """
    fields = truth(count)
    labels = fields.copy()
    labels[WRONG] = (labels[WRONG] + 1) % 3
    ids = [f"p{i}" for i in range(count)] if names else list(range(count))
    ends = [(i, j) for i in range(count) for j in (i + 3, i + 6, i + 15) if j < count]
    nodes = pd.DataFrame({"paper_id": ids, "subject": [CLASSES[i] if names else int(i) for i in labels],
                          "year": 2000 + fields})
    edges = pd.DataFrame({"source": [ids[i] for i, _ in ends], "target": [ids[j] for _, j in ends]})
    codes, classes = pd.factorize(nodes.subject)
    softmax = np.full((count, 3), 0.1)
    of = {str(name): i for i, name in enumerate(classes)}
    for v in range(count):
        softmax[v, of[str(CLASSES[fields[v]] if names else fields[v])]] = 0.8
    return nodes, edges, softmax, classes


@pytest.fixture(scope="session")
def cleaned(tmp_path_factory):
    """A store of those papers."""
    path = tmp_path_factory.mktemp("stores") / "papers.graph"
    nodes, edges, softmax, classes = frames()
    graphcleaner.clean(nodes, edges, softmax, classes, columns=COLUMNS, edge_columns=EDGE_COLUMNS, store=path,
                       as_given=True)
    return path


@pytest.fixture
def papers(cleaned, tmp_path):
    """A store of a test's own."""
    return shutil.copytree(cleaned, tmp_path / "papers.graph")


def clean(nodes, edges, softmax=None, classes=None, **options):
    return graphcleaner.clean(nodes, edges, softmax, classes, columns=COLUMNS, edge_columns=EDGE_COLUMNS,
                              as_given=softmax is not None, **options)


def test_frame_to_suspects():
    nodes, edges, softmax, classes = frames()
    before = nodes.copy()
    found = clean(nodes, edges, softmax, classes)
    assert list(found.columns) == ["paper_id", *ANSWER]
    assert list(found.paper_id) == list(nodes.paper_id)
    assert list(found.given_label) == list(nodes.subject)
    assert sorted(found.score.nlargest(3).index) == WRONG
    assert [CLASSES[truth()[v]] for v in WRONG] == list(found.suggested_label[WRONG])
    assert found.is_label_issue.dtype == bool and set(found.index[found.is_label_issue]) <= set(WRONG)
    assert np.allclose(found.label_score, 1 - found.score)
    likelier = found.suggested_label.where(found.confidence > 1 - found.score, found.given_label)
    assert list(found.predicted_label) == list(likelier)
    pd.testing.assert_frame_equal(nodes, before)


def test_ends_of_edges_become_nodes(tmp_path):
    nodes, edges, softmax, classes = frames()
    few, its = nodes.iloc[:50], softmax[:50]
    with pytest.raises(GraphcleanerError, match="edge_nodes=True makes such ids nodes without a label"):
        clean(few, edges, its, classes)
    found = clean(few, edges, its, classes, edge_nodes=True, store=tmp_path / "g")
    assert list(found.paper_id) == list(few.paper_id) and list(found.index) == list(few.index)
    assert "edges: 10 ends that the nodes lack became nodes without a label" in found.attrs["graphcleaner"]["notes"]
    store = graphcleaner.open(tmp_path / "g")
    assert store.query("count nodes where label is null").to_pylist() == [{"count": 10}]
    named = few[["paper_id"]].assign(**{str(name): its[:, i] for i, name in enumerate(classes)})
    pd.testing.assert_frame_equal(clean(few, edges, named, edge_nodes=True), found)
    graph = graphcleaner.Graph.of(few, edges, columns=COLUMNS, edge_columns=EDGE_COLUMNS, edge_nodes=True)
    assert graph.num_nodes == 60 and list(graph.labels[50:]) == [-1] * 10 and graph.edges.shape[1] == len(edges)
    again = graphcleaner.clean(graph, predictions=named.rename(columns={"paper_id": "id"}), as_given=True)
    assert list(again.score[:50]) == list(found.score)
    with pytest.raises(GraphcleanerError, match="features: they lack 10 ends"):
        clean(few, edges, features=its, edge_nodes=True)


def test_kinds_of_frames():
    nodes, edges, softmax, classes = frames()
    want = clean(nodes, edges, softmax, classes)
    table = clean(pa.Table.from_pandas(nodes), pa.Table.from_pandas(edges), softmax, classes)
    assert isinstance(table, pa.Table)
    pd.testing.assert_frame_equal(table.to_pandas(), want)
    named = pd.DataFrame(softmax, columns=classes)
    pd.testing.assert_frame_equal(clean(nodes, edges, named), want)
    pd.testing.assert_frame_equal(clean(nodes, edges,
                                        named.assign(paper_id=nodes.paper_id).sample(frac=1, random_state=1)), want)
    by_index = nodes.set_index("paper_id")
    pd.testing.assert_frame_equal(clean(by_index, edges, softmax, classes), want.set_index("paper_id"))
    categories = nodes.assign(subject=nodes.subject.astype("category"))
    pd.testing.assert_frame_equal(clean(categories, edges, softmax, classes), want)


def test_predictions_of_some_nodes():
    nodes, edges, softmax, classes = frames(names=False)
    named = pd.DataFrame(softmax, columns=classes)
    assert list(nodes.paper_id) == list(range(60))
    placed = named[:40].assign(paper_id=range(40))
    want = clean(nodes, edges, placed)
    pd.testing.assert_frame_equal(clean(nodes, edges, named[:40]), want)
    np.testing.assert_array_equal(clean(pa.Table.from_pandas(nodes), edges, named[:40])["score"].to_numpy(), want.score)
    mixed = nodes.sample(frac=1, random_state=1)  # its index goes with it
    pd.testing.assert_frame_equal(clean(mixed, edges, named[:40]), clean(mixed, edges, placed))
    # The numbers of rows are not those of nodes.
    for other in (pa.Table.from_pandas(mixed), frames()[0], nodes.assign(paper_id=nodes.paper_id + 1)):
        with pytest.raises(GraphcleanerError, match="got 40 rows for 60 nodes: want .* or a frame with the ids as the "
                                                    "column 'paper_id'$"):
            clean(other, edges, named[:40])


def test_polars():
    pl = pytest.importorskip("polars")
    nodes, edges, softmax, classes = frames()
    found = clean(pl.from_pandas(nodes), pl.from_pandas(edges).lazy(), softmax, classes)
    assert isinstance(found, pl.DataFrame)
    assert found.to_dicts() == clean(nodes, edges, softmax, classes).to_dict("records")


def test_arrays_and_numbers():
    nodes, edges, softmax, classes = frames(names=False)
    want = clean(nodes, edges, softmax, classes)
    assert want.given_label.dtype == want.suggested_label.dtype == np.int64 and want.paper_id.dtype == np.int64
    for ends in (edges.to_numpy(), edges.to_numpy().T):
        found = graphcleaner.clean(nodes.subject.to_numpy(), ends, softmax.astype(np.float32), classes, as_given=True)
        assert list(found.columns) == ["id", *ANSWER]
        assert np.allclose(found.score, want.score,
                           atol=1e-5) and list(found.suggested_label) == list(want.suggested_label)


def test_columns_named_by_numbers():
    nodes, edges, softmax, classes = frames()
    nodes.columns, edges.columns = range(3), range(2)
    found = graphcleaner.clean(nodes, edges, softmax, classes, columns={"id": 0, "label": 1},
                               edge_columns={"src": 0, "dst": 1}, as_given=True)
    assert list(found["0"]) == list(nodes[0])


def test_columns_of_several_types():
    nodes, edges, softmax, classes = frames()
    several = "got values of several types, want one, such as text or integers"
    for label in ([1, "x"], ["x", 1], ["x", 1.5], [True, "x"]):
        for given in (pd.DataFrame({"id": ["a", "b"], "label": label}), {"id": ["a", "b"], "label": label}):
            with pytest.raises(GraphcleanerError, match=f"^nodes: column 'label': {several}"):
                graphcleaner.clean(given, edges, edge_columns=EDGE_COLUMNS)
        with pytest.raises(GraphcleanerError, match=f"^nodes: {several}"):
            graphcleaner.clean(label, edges, edge_columns=EDGE_COLUMNS)
    with pytest.raises(GraphcleanerError, match=f"^edges: column 'src': {several}"):
        graphcleaner.clean(nodes, {"src": ["p1", 2], "dst": ["p3", "p4"]}, columns=COLUMNS)


def test_a_closed_store_refuses(cleaned):
    with graphcleaner.open(cleaned) as store:
        assert store.suspects(limit=1).num_rows == 1
    for method in (store.suspects, store.rescore, lambda: store.export("scores"), lambda: store.score("p1"),
                   lambda: store.decide("p1", "accept")):
        with pytest.raises(GraphcleanerError, match="papers.graph: the store is closed, want graphcleaner.open"):
            method()


def test_missing_labels():
    nodes, edges, softmax, classes = frames(names=False)
    nodes["subject"] = nodes.subject.astype(float)
    nodes.loc[5, "subject"] = np.nan
    found = clean(nodes, edges, softmax, classes)
    assert np.isnan(found.score[5]) and not found.is_label_issue[5]
    assert found.suggested_label[5] == truth()[5]


def test_classes_that_no_label_has():
    nodes, edges, softmax, classes = frames()
    wide = np.hstack([softmax, np.zeros((len(nodes), 1))])
    found = clean(nodes, edges, wide, [*classes, "Art, and \\d\\"])
    assert sorted(found.score.nlargest(3).index) == WRONG


def test_without_edges(caplog):
    nodes, edges, softmax, classes = frames()
    found = clean(nodes, edges[:0], softmax, classes)
    assert "edges: there are none" in caplog.text
    assert any(line.startswith("edges: there are none") for line in found.attrs["graphcleaner"]["warnings"])


def test_without_predictions(tmp_path):
    nodes, edges, _, _ = frames()
    found = clean(nodes, edges, store=tmp_path / "kept.graph")
    assert len(found) == len(nodes)
    store = graphcleaner.open(tmp_path / "kept.graph", frames="pandas")
    assert list(store.query("nodes where id = 'p0' return id, year").year) == [2000]


@pytest.mark.parametrize("change, message", [
    (dict(columns=None),
     r"nodes: there is no column 'id' among 'paper_id', 'subject', 'year': want columns=\{'id': …, 'label': …\}"),
    (dict(columns={**COLUMNS, "colour": "x"}), "nodes: the mapping has 'colour', want id, label, split before your "
                                               "names$"),
    (dict(columns={"paper_id": "id", "subject": "label"}), "the mapping has 'paper_id', want .* names, as in {'id': "
                                                           "'paper_id', 'label': 'subject'}"),
    (dict(columns=["paper_id", "subject"]), "columns: got list, want a dict that has your names by ours"),
    (dict(edge_columns="source"), "edge_columns: got str, want a dict"),
    (dict(columns={**COLUMNS, "split": "fold"}), "nodes: there is no column 'fold' for 'split'"),
    (dict(edge_columns={"src": "source", "dst": "source"}), "edges: one column stands for two names"),
    (dict(predictions=np.ones((60, 4)) / 4), "predictions: got 4 columns, and 3 labels among the nodes: 'AI', "
                                             "'Databases', 'Theory': want classes=model.classes_"),
    (dict(predictions=np.ones((60, 4)) / 4, classes=CLASSES), "predictions: got 4 columns, and 3 classes"),
    (dict(predictions=np.ones((59, 3)) / 3, classes=CLASSES), "predictions: got 59 rows for 60 nodes"),
    (dict(predictions=np.ones((60, 3)), classes=CLASSES), r"^predictions: row 0 \(node p0\): they add up to 3, want 1"),
    (dict(predictions=np.ones(60), classes=CLASSES), "predictions: got an array of 1 dimensions"),
    (dict(classes=CLASSES), "classes: want predictions with them"),
    (dict(edges=np.ones((3, 3))), r"edges: got an array of shape \(3, 3\)"),
    (dict(edges={"source": ["p0"], "target": ["p99"]}), 'node "p99", want ids of the nodes; edge_nodes=True makes '
                                                        'such ids nodes without a label$'),
    (dict(nodes="nodes.csv"), "nodes: "),
    (dict(nodes=pd.Series(["x", "y"])), "nodes: got a series, want a frame with ids and labels, or an array"),
    (dict(nodes=[["x"], ["y", 1]]), "nodes: "),
    (dict(nodes={"paper_id": ["a", "b"], "subject": ["x", "\ud800"]}), "nodes: column 'subject': 'utf-8' codec can't "
                                                                       "encode"),
    (dict(nodes={"paper_id": [1.0, float("inf")], "subject": ["x", "y"]}), "^edges, row 0"),
    (dict(predictions=np.ones((60, 3)) / 3, classes=set(CLASSES)), "classes: got set, want a list or an array, since "
                                                                   "the order counts"),
    (dict(predictions=np.ones((60, 3)) / 3, classes="abc"), "classes: got str, want a list"),
    (dict(predictions=np.ones((60, 3)) / 3, classes=dict.fromkeys(CLASSES)), "classes: got dict, want a list"),
    (dict(predictions=np.ones((60, 3)) / 3, classes=[["a"], ["b"], ["c"]]), "classes: "),
    (dict(predictions=[[1.0], [0.5, 0.5]]), "predictions: setting an array element"),
    (dict(nodes={"paper_id": ["a", 1], "subject": ["x", "y"]}), "nodes: "),
    (dict(nodes=pd.DataFrame({"paper_id": ["a", "b"], "subject": pd.to_timedelta([1, 2])})),
     "nodes: column 'label': Unsupported cast"),
    (dict(predictions=np.ones((60, 3)) * 1j, classes=CLASSES), "predictions: got an array of complex128, want real "
                                                               "numbers"),
    (dict(predictions=np.ones((60, 2)) / 2, classes=CLASSES[:2]), "predictions: nodes have the label 'AI', and the "
                                                                  "classes are 'Theory', 'Databases'$"),
    (dict(nodes=frames()[0].assign(subject=[0, 1, 2] * 20), predictions=np.ones((60, 3)) / 3, classes=CLASSES),
     r"predictions: nodes have the label '0', and the classes are 'Theory', .*: the labels are numbers, want these as classes, such as range\(3\)"),
    (dict(nodes=frames()[0].assign(subject=[0, 1, -1] * 20), predictions=np.ones((60, 2)) / 2, classes=range(2)),
     "-1 for a missing label, want unlabelled"),
    (dict(hops=9), "^hops=9: want 1 to 5$"),
    (dict(memory="x"), '^memory: got "x"'),
    (dict(nodes=frames()[0].assign(subject=[0, 1, -1] * 20), predictions=np.ones((60, 2)) / 2),
     r"want classes=model.*; or unlabelled=\[-1\]"),
    (dict(predictions=pd.DataFrame(np.ones((60, 3)) / 3, columns=CLASSES).assign(id=frames()[0].paper_id)),
     "predictions: their column 'id' is no label, and the ids of the nodes are called 'paper_id'"),
    (dict(labels=["x"]), "^labels=…: there is no such option, want as_given"),
    (dict(quiet=True), "^quiet=…: there is no such option, want as_given, expect, "),
    (dict(colour="x"), "^colour=…: did you mean columns=…$"),
])
def test_errors(change, message):
    nodes, edges, _, _ = frames()
    arguments = {"nodes": nodes, "edges": edges, "columns": COLUMNS, "edge_columns": EDGE_COLUMNS, **change}
    with pytest.raises(GraphcleanerError, match=message) as failed:
        graphcleaner.clean(**arguments)
    assert not str(failed.value).startswith("graphcleaner")


def test_a_store_is_not_overwritten(papers):
    with pytest.raises(GraphcleanerError,
                       match=r"papers.graph is there already: want another directory, replace=True to make it anew"):
        clean(*frames(), store=papers)


@pytest.mark.parametrize("change", [dict(colour="x"), dict(columns={"id": "score", "label": "subject"}),
                                    dict(format="x")])
def test_a_failure_leaves_no_store(tmp_path, change):
    nodes, edges, _, _ = frames()
    with pytest.raises(GraphcleanerError):
        arguments = {"columns": COLUMNS, "edge_columns": EDGE_COLUMNS, **change}
        graphcleaner.clean(nodes.assign(score=nodes.paper_id), edges, store=tmp_path / "g", **arguments)
    assert not list(tmp_path.iterdir())
    with pytest.raises(GraphcleanerError, match=r"g cannot be made: .*none: "):
        clean(nodes, edges, store=tmp_path / "none" / "g")


@pytest.mark.skipif(os.name == "nt", reason="a script of sh")
def test_a_program_that_is_killed(tmp_path, monkeypatch, papers):
    """It may break off in the middle of a message."""
    store, killed = graphcleaner.open(papers), tmp_path / "killed"
    killed.write_text("#!/bin/sh\nprintf '%s\\n' '{\"level\": \"ERROR\", \"msg\": \"one\"}' 'fatal error: two' "
                      ">&2\nprintf '{\"level\": \"INFO' >&2\nkill -9 $$\n")
    killed.chmod(0o755)
    monkeypatch.setenv("GRAPHCLEANER_BINARY", str(killed))
    with pytest.raises(GraphcleanerError, match="^one\nfatal error: two$"):
        store.query("count nodes")


def test_a_store_stays_the_one_that_was_opened(tmp_path, monkeypatch, papers):
    for folder in ("real", "short"):
        shutil.copytree(papers, tmp_path / folder / "g")
    (tmp_path / "real" / "deep").mkdir()
    (tmp_path / "short" / "link").symlink_to("../real/deep")
    for start, path in (("real", "g"), ("short", "link/../g")):
        monkeypatch.chdir(tmp_path / start)
        store = graphcleaner.open(path)
        before = store.query("history").num_rows
        monkeypatch.chdir(tmp_path / "short")
        store.decide("p1", "unsure")
        assert store.query("history").num_rows == before + 1
        assert graphcleaner.open(tmp_path / "real" / "g").query("history").num_rows == before + 1
        assert graphcleaner.open(tmp_path / "short" / "g").query("history").num_rows == 0


def test_names_like_flags(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clean(*frames(), store="-x")
    store = graphcleaner.open("-x")
    assert store.query("count nodes").num_rows == 1
    assert store.score("p1").num_rows == 1 and store.export("scores").num_rows == 60 and "<svg" in store.neighborhood("p1").svg
    store.export("scores", "-o.csv")
    assert Path("-o.csv").exists() and store.append(edges={"src": ["p1"],
                                                           "dst": ["p2"]}) and store.clean(as_given=True) and store.rescore()
    with pytest.raises(GraphcleanerError, match="--help"):
        store.export("--help")


@pytest.mark.parametrize("values", [pd.date_range("2021-01-01", periods=3, freq="36h"),
                                    pd.date_range("2021-01-01", periods=3, tz="Europe/Rome"),
                                    [True, False, True], [0.5, 1.5, 1e-7],
                                    list(pd.date_range("2021-01-01", periods=3).date)], ids=str)
def test_labels_of_all_kinds(values):
    nodes, edges, _, _ = frames()
    nodes["subject"] = [values[v % 3] for v in range(60)]
    found = clean(nodes, edges)
    assert list(found.given_label) == list(nodes.subject) and set(found.suggested_label) <= set(nodes.subject)


def test_store(papers):
    store = graphcleaner.open(papers, frames="pandas", who="ann")
    assert list(store.query("count nodes")["count"]) == [60]
    first = store.suspects(limit=2)
    assert len(first) == 2 and set(first.id) <= {f"p{v}" for v in WRONG}
    assert list(store.suspects("score > 2").columns) == list(first.columns)
    assert list(store.suspects(order_by="degree", columns=["id", "year"]).columns) == ["id", "year"]
    assert set(store.score(pd.Series(["p1", "p7"])).id) == {"p1", "p7"}

    decided = store.decide(["p7", "p31"], "accept", because="it's plain")
    assert list(decided.decision) == ["accept", "accept"]
    history = store.query("history p7")
    assert list(history.why) == ["it's plain"] and list(history.who) == ["ann"]
    store.decide("p1", "relabel", "AI")
    assert list(store.query("nodes where id = 'p1'").label) == ["AI"]
    assert len(store.undo()) == 1 and list(store.query("nodes where id = 'p1'").label) == ["Databases"]
    with pytest.raises(GraphcleanerError, match="yes=True was not given"):
        store.query("unsure all where score > 0")
    assert len(store.query("unsure where score > 0", yes=True)) > 0


def test_append(papers):
    store = graphcleaner.open(papers)
    nodes = pd.DataFrame({"paper_id": ["n1", "n2"], "subject": ["AI", "AI"], "year": [2001, None]})
    edges = pd.DataFrame({"source": ["n1", "n2"], "target": ["p2", "p5"]})
    said = store.append(nodes, edges, np.array([[0.1, 0.1, 0.8]] * 2), CLASSES, columns=COLUMNS,
                        edge_columns=EDGE_COLUMNS)
    assert "2 nodes" in said
    assert store.query("count nodes").to_pylist() == [{"count": 62}]
    assert store.score("n1").to_pylist()[0]["score"] is not None
    with pytest.raises(GraphcleanerError):
        store.append(edges={"src": ["n1"], "dst": ["nobody"]})
    with pytest.raises(GraphcleanerError, match="^predictions, row 1, column 2: got NaN, want a number"):
        store.append(nodes, edges, np.array([[0.1, 0.1, 0.8], [0.5, 0.5, np.nan]]), columns=COLUMNS,
                     edge_columns=EDGE_COLUMNS)
    assert store.query("count nodes").to_pylist() == [{"count": 62}]


def test_export(papers, tmp_path):
    store = graphcleaner.open(papers)
    assert store.export("features").shape == (60, 7)
    assert store.export("labels").column_names == ["id", "label", "original_label"]
    assert store.export("scores", tmp_path / "scores.parquet") is None
    assert pq.read_table(tmp_path / "scores.parquet").equals(store.export("scores"))
    assert "60 of 60 nodes scored" in store.clean(hops=2, as_given=True, threads=1)


def test_neighborhood(tmp_path):
    nodes, edges, softmax, classes = frames()
    other = {"p1": "-1", "p4": "</svg><script>alert(1)</script>"}
    nodes = nodes.assign(title="<img src=x onerror=alert(1)>").replace({"paper_id": other,
                                                                        "subject": {"AI": "<b>AI</b>"}})
    clean(nodes, edges.replace(other), softmax, [c.replace("AI", "<b>AI</b>") for c in classes], store=tmp_path / "g")
    store = graphcleaner.open(tmp_path / "g")
    for id in ("p7", *other.values()):
        drawn = store.neighborhood(id)
        root = ElementTree.fromstring(drawn._repr_html_())  # one element, well formed
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert {element.tag.split("}")[1] for element in root.iter()} <= {"svg", "style", "rect", "text", "path",
                                                                          "circle", "g", "title", "tspan"}
        assert "&lt;img src=x" in drawn.svg and "http" not in drawn.svg.replace("http://www.w3.org/2000/svg", "")
    with pytest.raises(GraphcleanerError, match="the store has no node"):
        store.neighborhood("nobody")


def test_program_remarks_are_logged(papers, caplog):
    with caplog.at_level(logging.INFO, logger="graphcleaner"):
        graphcleaner.open(papers).decide("p1", "reject")
    assert "1 node" in caplog.text and {record.levelname for record in caplog.records} == {"INFO"}


def test_warnings_are_logged_as_such(papers, caplog):
    nodes, edges, softmax, classes = frames()
    with caplog.at_level(logging.INFO, logger="graphcleaner"):
        clean(nodes, edges, softmax, classes)
        clean(nodes, edges)
        assert {record.levelname for record in caplog.records} == {"INFO"} and "Next:" not in caplog.text
    caplog.clear()
    nodes, edges, softmax, classes = frames(count=600)
    useless = np.random.default_rng(1).dirichlet([1, 1, 1], 600)
    graphcleaner.clean(nodes, edges, useless, classes, columns=COLUMNS, edge_columns=EDGE_COLUMNS)
    assert "Your predictions add nothing" in caplog.text
    store = graphcleaner.open(papers)
    store.append({"id": ["x1", "x2"], "label": ["AI ", "AI "]})
    store.score(["x1", "x2"])
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    for said, begin in zip(warned, ("Your predictions add nothing", "Your predictions agree with", "The store has new",
                                    "2 nodes have no score"), strict=True):
        assert said.startswith(begin)


def test_errors_of_a_store(papers, tmp_path):
    store = graphcleaner.open(papers)
    with pytest.raises(GraphcleanerError, match="no property is named") as failed:
        store.query("nodes where yeer > 1")
    assert failed.value.code == 1
    with pytest.raises(GraphcleanerError, match="one answer"):
        store.query("count nodes; count nodes")
    with pytest.raises(GraphcleanerError, match="nobody"):
        store.decide(["p1", "nobody"], "accept")
    assert store.query("history").num_rows == 0
    for wrong in (("p1", "maybe"), ("p1", "relabel"), ("p1", "accept", "AI"), ([], "accept")):
        with pytest.raises(GraphcleanerError, match="want"):
            store.decide(*wrong)
    with pytest.raises(GraphcleanerError, match="no such store"):
        graphcleaner.open(tmp_path / "nowhere")
    with pytest.raises(GraphcleanerError, match="frames='torch'"):
        graphcleaner.open(papers, frames="torch")


@pytest.mark.parametrize("ask, message", [
    (lambda s: s.decide([None], "unsure"), "ids: got none at position 0, want one"),
    (lambda s: s.decide(["p1", float("nan")], "unsure"), "ids: got none at position 1, want one"),
    (lambda s: s.decide(pd.Series(["p1", None]), "accept"), "ids: got none at position 1, want one"),
    (lambda s: s.decide("p1", "relabel", float("nan")), "label: got none at position 0, want one"),
    (lambda s: s.decide(s.suspects(), "accept"), "ids: got a frame, want one column, such as frame.id"),
    (lambda s: s.score(None), "ids: got none at position 0"),
    (lambda s: s.neighborhood(None), "id: got none at position 0"),
    (lambda s: s.query(""), "a frame holds one answer: "),
    (lambda s: s.query("-- a remark"), "a frame holds one answer: "),
    (lambda s: s.query("nodes where id = '\ud800'"), "arguments: 'utf-8' codec can't encode"),
    (lambda s: s.suspects(limit="x"), "limit: invalid literal for int"),
    (lambda s: s.suspects(columns="id"), "columns: got str, want a list"),
    (lambda s: s.append(), "nothing to append, want nodes, edges or predictions"),
    (lambda s: s.append({"id": ["x", "y"], "label": [1.5, float("inf")]}, None, [[1], [1, 2]]),
     "predictions: setting an array element"),
])
def test_questions_that_are_refused(cleaned, ask, message):
    """None of them writes."""
    with pytest.raises(GraphcleanerError, match=message) as failed:
        ask(graphcleaner.open(cleaned))
    assert "\n" not in str(failed.value)


def test_ids_of_all_kinds(tmp_path):
    nodes, edges, softmax, classes = frames(names=False)
    clean(nodes, edges, softmax, classes, store=tmp_path / "g")
    store = graphcleaner.open(tmp_path / "g", frames="pandas")
    for ids in (7, 7.0, np.int64(7), np.float32(7), [7], np.array([7]), pd.Series([7, None]).iloc[:1], pa.array([7]),
                nodes.paper_id.iloc[7]):
        assert store.score(ids).id.tolist() == [7]
    assert store.decide(np.int64(7), "relabel", np.float64(1)).to.tolist() == ["1"]
    assert "svg" in store.neighborhood(np.int64(7)).svg
    assert store.score([]).empty
    with pytest.raises(GraphcleanerError, match="no node has the id|has no node"):
        store.decide("None", "unsure")


def test_columns_without_a_value(papers):
    store = graphcleaner.open(papers)
    store.append({"id": ["x1", "x2"], "label": [None, None], "year": [None, None]}, {"src": [], "dst": []})
    assert store.query("nodes where label is null return id").to_pydict() == {"id": ["x1", "x2"]}
    nodes, edges, _, _ = frames()
    with pytest.raises(GraphcleanerError, match="no node has a label"):
        clean(nodes.assign(subject=None), edges)


def test_no_program(monkeypatch, papers):
    monkeypatch.setenv("GRAPHCLEANER_BINARY", str(papers / "nothing"))
    with pytest.raises(GraphcleanerError, match="GRAPHCLEANER_BINARY"):
        graphcleaner.open(papers).query("count nodes")


@pytest.mark.parametrize("module", ["graphcleaner", "graphcleaner._convert", "graphcleaner._graph",
                                    "graphcleaner._store"])
def test_examples_in_docstrings(module, cleaned, tmp_path):
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [test for test in finder.find(importlib.import_module(module)) if test.examples]
    assert examples
    for i, test in enumerate(examples):
        test.globs.update(graphcleaner=graphcleaner, papers=shutil.copytree(cleaned, tmp_path / f"{i}.graph"))
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
        assert result.failed == 0, test.name


def test_progress(capsys):
    pytest.importorskip("tqdm")
    clean(*frames(), progress=True)
    assert "export" in capsys.readouterr().err
