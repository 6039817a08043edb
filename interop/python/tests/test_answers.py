"""Which row is of which node, in what goes to `clean` and in what comes back. These run in the environment of a wheel,
too: see test_wheel.py.
"""

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from test_client import CLASSES, COLUMNS, EDGE_COLUMNS, WRONG, clean, cleaned, frames, papers, program  # noqa: F401

import graphcleaner
from graphcleaner import GraphcleanerError

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
    for given in (own, own.iloc[again], by_id, by_id.iloc[again], by_id.rename_axis("paper_id"),
                  by_id.iloc[again].reset_index(names="paper_id")):
        pd.testing.assert_frame_equal(clean(nodes, edges, given), want)
    pd.testing.assert_frame_equal(clean(nodes.reset_index(drop=True), edges, softmax), want.reset_index(drop=True))
    refused = r"fits nodes in ways that differ: want predictions.set_index\(.* if it is of the index of nodes, or predictions.to_numpy\(\) and classes"
    with pytest.raises(GraphcleanerError, match=refused):
        clean(nodes, edges, softmax)
    graph = graphcleaner.Graph.of(nodes, edges, columns=COLUMNS, edge_columns=EDGE_COLUMNS)
    found = graphcleaner.clean(graph, predictions=by_id.iloc[again], as_given=True)
    assert list(found["suggested_label"]) == list(want.suggested_label)
    with pytest.raises(GraphcleanerError, match='^predictions, row 3.*"x3"'):
        clean(nodes, edges, softmax.set_axis([f"x{v}" if v == 3 else f"p{v}" for v in range(60)]))


@pytest.mark.parametrize("kind", [int, str])
def test_an_index_that_may_be_ids_and_labels(kind):
    """Nodes 1 to 60 in the rows 0 to 59."""
    nodes, edges, softmax, classes = frames(names=False)
    nodes, edges = nodes.assign(paper_id=(nodes.paper_id + 1).astype(kind)), (edges + 1).astype(kind)
    nodes = nodes.sample(frac=1, random_state=1)
    softmax = pd.DataFrame(softmax, columns=classes).loc[nodes.index].reset_index(drop=True)
    nodes = nodes.reset_index(drop=True)
    by_id = softmax.set_axis(nodes.paper_id.astype(int).to_numpy())
    whole, some = clean(nodes, edges, softmax), by_id.index.isin(range(1, 40))
    part = softmax.assign(paper_id=nodes.paper_id)[some]
    want = clean(nodes, edges, part)
    pd.testing.assert_frame_equal(clean(nodes, edges, by_id), whole)  # 60 is an id alone
    says = (r"^predictions: their index fits nodes in ways that differ: want predictions.rename_axis\('paper_id'\) if it has ids, or "
            r"predictions.set_index\(nodes.loc\[predictions.index, 'paper_id'\]\) if it is of the index of nodes$")
    by_label = softmax.loc[1:39]
    for predictions in (by_id[some][::-1], by_label):
        with pytest.raises(GraphcleanerError, match=says):
            clean(nodes, edges, predictions)
    pd.testing.assert_frame_equal(clean(nodes, edges, by_id[some][::-1].rename_axis("paper_id")), want)
    placed = clean(nodes, edges, by_label.set_index(nodes.loc[by_label.index, "paper_id"]))
    pd.testing.assert_frame_equal(placed, clean(nodes, edges, by_label.assign(paper_id=nodes.paper_id)))
    row = nodes.rename_axis("row")
    pd.testing.assert_frame_equal(clean(row, edges, by_label.rename_axis("row")), placed.rename_axis("row"))
    found = clean(pa.Table.from_pandas(nodes), edges, by_id[some])  # which has no index
    np.testing.assert_array_equal(found["score"].to_numpy(), want.score)


def test_an_index_that_may_be_ids_and_rows():
    nodes, edges, softmax, classes = frames(names=False)
    predictions = pd.DataFrame(softmax, columns=classes)
    mixed = nodes.sample(frac=1, random_state=1).reset_index(drop=True)
    graph = graphcleaner.Graph.of(mixed, edges, columns=COLUMNS, edge_columns=EDGE_COLUMNS)
    with pytest.raises(GraphcleanerError,
                       match=r"differ: want predictions.rename_axis\('id'\) if it has ids, or predictions.to_numpy\(\) and classes=list"):
        graphcleaner.clean(graph, predictions=predictions, as_given=True)
    with pytest.raises(GraphcleanerError,
                       match=r"differ: want predictions.rename_axis\('paper_id'\) if it has ids, or predictions.set_index"):
        clean(mixed, edges, predictions)
    want = clean(mixed, edges, predictions.assign(paper_id=nodes.paper_id))
    pd.testing.assert_frame_equal(clean(mixed, edges, predictions.rename_axis("paper_id")), want)
    placed = predictions.loc[mixed.paper_id].reset_index(drop=True)
    pd.testing.assert_frame_equal(clean(mixed, edges, placed.to_numpy(), list(placed)), want)


def test_an_index_that_may_be_ids_of_the_store(tmp_path):
    nodes, edges, softmax, classes = frames(names=False)
    clean(nodes, edges, softmax, classes, store=tmp_path / "s")
    store = graphcleaner.open(tmp_path / "s")
    new = pd.DataFrame({"id": [70, 71, 72], "label": [0, 1, 2]}, index=[5, 6, 7])
    predictions = pd.DataFrame(np.eye(3), columns=classes, index=new.index)
    with pytest.raises(GraphcleanerError,
                       match=r"differ: want predictions.rename_axis\('id'\) if it has ids, or predictions.set_index"):
        store.append(new, predictions=predictions)
    for given in (predictions.set_index(new.loc[predictions.index, "id"]), predictions.set_axis([70, 71, 72]),
                  predictions.reset_index(drop=True)):
        assert "3 rows of predictions" in store.append(new, predictions=given)
        rows = store.export("predictions").to_pandas().set_index("id")
        assert (rows.loc[[70, 71, 72], list(map(str, classes))].to_numpy() == np.eye(3)).all()
    assert "3 rows" in store.append(new, predictions=predictions.set_axis([1, 2, 3]))  # of nodes that were there


def test_rows_that_came_by_index_are_not_doubted(caplog):
    nodes, edges, softmax, classes = frames(names=False)
    nodes = nodes.sample(frac=1, random_state=1)
    clean(nodes, edges, pd.DataFrame(softmax, columns=classes).loc[nodes.index])
    assert "another order" not in caplog.text
    clean(nodes, edges, softmax[nodes.index], classes)
    assert re.search(r"in another order than the rows of the nodes", caplog.text)


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
    pd.testing.assert_frame_equal(clean(nodes.assign(subject=subject), edges, softmax),
                                  clean(nodes.assign(subject=subject), edges, softmax, order))
    with pytest.raises(GraphcleanerError, match=f"got {len(order) + 2} columns.*want classes=model.classes_"):
        clean(nodes.assign(subject=subject), edges, np.hstack([softmax, softmax[:, :2] * 0]))


def test_predictions_of_some_nodes():
    nodes, edges, softmax, classes = frames()
    some = np.arange(60) % 4 != 3  # with 52 and 31 in
    given = softmax.copy()
    given[~some] = np.nan
    want = clean(nodes, edges, given, classes)
    assert want.score[some].notna().all() and want.score[~some].isna().all()
    named = pd.DataFrame(softmax, columns=classes)
    for part in (pd.DataFrame(given, columns=classes), named[some], named.assign(paper_id=nodes.paper_id)[some],
                 named.set_axis(nodes.paper_id.to_numpy())[some]):
        pd.testing.assert_frame_equal(clean(nodes, edges, part), want)
    with pytest.raises(GraphcleanerError, match="got 45 rows for 60 nodes: want a row for each node, of NaN where "
                                                "there is none, or a frame"):
        clean(nodes, edges, softmax[some], classes)
    nodes, edges, softmax, classes = frames(count=600)
    softmax[::4] = np.nan
    joined = graphcleaner.clean(nodes, edges, softmax, classes, columns=COLUMNS, edge_columns=EDGE_COLUMNS)
    assert joined.score.notna().all() and any("150 of 600 nodes have no predictions" in line
                                              for line in joined.attrs["graphcleaner"]["notes"])


@pytest.mark.parametrize("given", [[1.0, 0.0, np.nan], pd.array([1, 0, None], "Int64"),
                                   pd.array([True, False, None], "boolean"),
                                   pd.array(["b", "a", None], "string"), np.array([1, 0, None], object)], ids=str)
def test_both_labels_have_the_type_of_the_labels(given):
    nodes, edges, _, _ = frames(names=False)
    nodes["subject"] = pd.Series(given).iloc[[0 if v % 9 == 5 else 2 if v == 7 else v % 2
                                              for v in range(60)]].to_numpy() \
        if isinstance(given, (list, np.ndarray)) else pd.array([given[2 if v == 7 else v % 2] for v in range(60)],
                                                               given.dtype)
    found = clean(nodes, edges)
    assert found.given_label.dtype == found.suggested_label.dtype == found.predicted_label.dtype == nodes.subject.dtype
    assert pd.isna(found.given_label[7]) and found.given_label.drop(7).tolist() == nodes.subject.drop(7).tolist()
    assert {type(v) for v in found.suggested_label} == {type(v) for v in nodes.subject.drop(7)}


def test_a_class_that_no_label_has_is_of_another_type():
    nodes, edges, softmax, classes = frames(names=False)
    other = pd.DataFrame(np.hstack([softmax * 0.01, np.full((60, 1), 0.99)]), columns=["0", "1", "2", "other"])
    other /= other.sum(axis=1).to_numpy()[:, None]
    assert set(clean(nodes, edges, other).suggested_label.map(str)) <= {"0", "1", "2", "other"}


@pytest.mark.parametrize("values", [["NA", "-"], np.array(["NA", "-"])], ids=str)
def test_labels_that_mean_none(values):
    nodes, edges, _, _ = frames()
    nodes.loc[[3, 4], "subject"] = ["NA", "-"]
    found = clean(nodes, edges, unlabelled=values)
    assert found.score.isna().tolist() == [v in (3, 4)
                                           for v in range(60)] and set(found.suggested_label) == set(CLASSES)
    category = clean(nodes.assign(subject=nodes.subject.astype("category")), edges, unlabelled=values)
    assert category.score.isna().sum() == 2


def test_warnings_are_whole_messages(caplog):
    nodes, edges, softmax, classes = frames()
    nodes.loc[[4, 10], "subject"] = "N/A"
    run = clean(nodes, edges, np.hstack([softmax, softmax[:, :1] * 0]), [*classes, "N/A"]).attrs["graphcleaner"]
    said = [line for line in run["warnings"] if "often mean that a node has none" in line]
    assert len(said) == 1 and said[0].endswith("call this again with unlabelled=['N/A']")
    assert caplog.text.count("often mean that a node has none") == 1 and not any(line.startswith("no splits")
                                                                                 for line in run["warnings"])


def test_classes_of_a_graph_that_mean_none():
    nodes, edges, softmax, _ = frames()
    graph = graphcleaner.Graph.of(nodes.assign(subject=nodes.subject.mask(nodes.paper_id == "p4", "NA")), edges,
                                  columns=COLUMNS, edge_columns=EDGE_COLUMNS)
    assert graph.classes == ["AI", "Databases", "NA", "Theory"]
    found = graphcleaner.clean(graph, predictions=softmax[:, [2, 1, 0]] > 0.5, unlabelled="NA", as_given=True)
    assert found["score"].isna().sum() == 1 and set(found["suggested_label"]) <= set(CLASSES)


def test_numbers_that_mean_none(papers):  # noqa: F811
    nodes, edges, softmax, classes = frames(names=False)
    for missing, subject in ((-1, nodes.subject), (-1.0, nodes.subject.astype(float))):
        found = clean(nodes.assign(subject=subject.mask(nodes.paper_id == 5, missing)), edges, softmax,
                      unlabelled=missing)
        assert found.score.isna().sum() == 1 and found.suggested_label[5] == 2
    store = graphcleaner.open(papers)
    store.append({"id": ["new"], "label": ["NA"]}, unlabelled="NA")
    assert store.query("count nodes where label is null").to_pylist() == [{"count": 1}]


def test_what_is_known_of_the_run(caplog):
    nodes, edges, softmax, classes = frames(count=600)
    useless = np.random.default_rng(1).dirichlet([1, 1, 1], 600)
    found = graphcleaner.clean(nodes, edges, useless, classes, columns=COLUMNS, edge_columns=EDGE_COLUMNS)
    run = found.attrs["graphcleaner"]
    assert 0 < run["threshold"] < 1 and (found.score > run["threshold"]).sum() == run["suspects"]
    assert 0 <= run["contradicted"] <= run["suspects"]
    assert run["warnings"] and all(line in caplog.text
                                   for line in run["warnings"]) and set(run["warnings"]) <= set(run["notes"])
    assert any("predictions" in line for line in run["warnings"])
    table = clean(pa.Table.from_pandas(nodes), pa.Table.from_pandas(edges), softmax, classes)
    assert json.loads(table.schema.metadata[b"graphcleaner"])["predictions"] == "imported"
    polars = pytest.importorskip("polars")
    assert clean(polars.from_pandas(nodes),
                 polars.from_pandas(edges)).attrs["graphcleaner"]["predictions"] == "built-in"
    assert table.num_rows == 600 and json.dumps(found[found.is_label_issue].attrs)
