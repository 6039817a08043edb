"""`Store.audit`, against the program. These run in the environment of a wheel, too: see test_wheel.py."""

import pandas as pd
import polars as pl
import pytest
from test_client import CLASSES, clean, cleaned, frames, papers, program, truth  # noqa: F401

import graphcleaner
from graphcleaner import GraphcleanerError


def test_audit(papers):
    store = graphcleaner.open(papers, frames="pandas", who="ann")
    audit = store.audit()
    assert (audit.drawn, audit.decided, audit.look, audit.right, audit.wrong) == (0, 0, 0, 0, 0)
    assert audit.rate is audit.low is audit.high is None and audit.level == 0.9 and audit.by_class == audit.lists == []
    assert list(audit.draws().columns) == ["id", "label"] and len(audit.draws()) == 0
    assert store.audit().drawn == 0  # that asked for nothing

    audit = store.audit(size=30, seed=3)
    draws = audit.draws()
    assert audit.drawn == len(draws) == draws.id.nunique() == 30
    given = frames()[0].set_index("paper_id").subject
    assert list(draws.label) == list(given[draws.id])
    assert store.audit(size=20, seed=4).draws().equals(draws)  # never fewer

    right = {f"p{v}": CLASSES[of] for v, of in enumerate(truth())}
    for id in draws.id[:25]:
        store.decide(id, "relabel", right[id])  # the given label, too
    audit = store.audit()
    wrong = sum(right[id] != given[id] for id in draws.id[:25])
    assert (audit.decided, audit.look, audit.right, audit.wrong) == (25, 25, 25 - wrong, wrong)
    assert audit.low <= audit.rate <= audit.high and audit.low <= 3 / 60 <= audit.high
    assert sum(of["decided"] for of in audit.by_class) == 25 and sum(of["wrong"] for of in audit.by_class) == wrong
    assert list(audit.draws().id) == list(draws.id[25:])
    assert "drawn=30" in repr(audit) and "_store" not in repr(audit)
    store.undo()
    assert store.audit().look == 0 and store.audit().draws().id.iloc[0] == draws.id[24]


def test_whole_audit_with_numbers_for_ids(tmp_path):
    nodes, edges, softmax, classes = frames(names=False)
    clean(nodes, edges, softmax, classes, store=tmp_path / "g")
    store = graphcleaner.open(tmp_path / "g", frames="polars")
    draws = store.audit(size=1000).draws()
    assert draws.schema["id"] == pl.Int64 and sorted(draws["id"]) == list(range(60))
    for label in map(str, set(truth())):
        store.decide([id for id in draws["id"] if str(truth()[id]) == label], "relabel", label)
    audit = store.audit()
    assert audit.look == 60 and audit.rate == audit.low == audit.high == pytest.approx(3 / 60) and audit.draws().height == 0


def test_refused_audits(papers, tmp_path):
    store = graphcleaner.open(papers)
    for size, said in {0: "want 1 or more", 1.5: "want a whole number", 9999: "want 1 to"}.items():
        with pytest.raises(GraphcleanerError, match=f"size.*{said}"):
            store.audit(size=size)
    with pytest.raises(GraphcleanerError, match="seed: got one without size"):
        store.audit(seed=1)
    with pytest.raises(GraphcleanerError, match="-1"):
        store.audit(size=1, seed=-1)
    nodes = pd.DataFrame({"id": ["a", "b"], "label": ["x", "y"]})
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    (tmp_path / "edges.csv").write_text("src,dst\na,b\n")
    graphcleaner._binary.run(["import", str(tmp_path / "g"), "--nodes", str(tmp_path / "nodes.csv"), "--edges",
                              str(tmp_path / "edges.csv")])
    with pytest.raises(GraphcleanerError, match="run clean first"):
        graphcleaner.open(tmp_path / "g").audit(size=50)
