"""Columns of predictions in another order than they are taken for. The rules are those of the program, which knows them of arrays."""

import logging

import numpy as np
import pytest
from test_client import frames, program  # noqa: F401

import graphcleaner
from graphcleaner import Graph, GraphcleanerError, _binary
from graphcleaner._column_order import Matches


def tables(seed):
    """Labels and predictions of few or many classes, whose columns are mixed up wholly, in part or not at all."""
    draw = np.random.default_rng(seed)
    n, c = int(draw.integers(8, 300)), int(draw.integers(2, 7))
    truth = draw.choice(c, n, p=draw.dirichlet(np.full(c, 3.0)))
    labels = np.where(draw.random(n) < draw.uniform(0, 0.9), draw.integers(0, c, n), truth)
    labels[:c] = np.arange(c)  # so that each class has a label
    labels[c:][draw.random(n - c) < 0.1] = -1
    p = draw.dirichlet(np.full(c, 0.5), n)
    p[np.arange(n), truth] += draw.uniform(0, 2)
    p[draw.random(n) < 0.05] = 1
    order = np.arange(c)
    mixed = draw.choice(c, int(draw.integers(0, c + 1)), replace=False)
    order[mixed] = draw.permutation(mixed)
    return labels, (p / p.sum(axis=1, keepdims=True))[:, order]


def test_the_program_finds_the_same(tmp_path):
    found = 0
    for seed in range(16):
        labels, p = tables(seed)
        matches = Matches(labels, p)
        better = matches.better()
        (tmp_path / "nodes.csv").write_text("id,label\n" + "".join(f"{v},{'' if y < 0 else f'c{y}'}\n" for v, y in enumerate(labels)))
        (tmp_path / "edges.csv").write_text("src,dst\n0,1\n")
        np.save(tmp_path / "p.npy", p)
        says = "imported"
        try:
            _binary.run(["import", str(tmp_path / f"{seed}.graph"), "--nodes", str(tmp_path / "nodes.csv"), "--edges", str(tmp_path / "edges.csv"),
                         "--predictions", str(tmp_path / "p.npy")])
        except GraphcleanerError as error:
            says = str(error)
        if better is None:
            assert says == "imported", seed
        else:
            found += 1
            taken = list(range(p.shape[1]))
            assert f"{matches.of(taken)} of {matches.nodes} labels" in says and f"and {matches.of(better)} with" in says, (seed, says)
            assert f"classes={[f'c{j}' for j in better]}" in says, (seed, says)
    assert 0 < found < 16


def test_columns_that_nobody_named():
    nodes, edges, softmax, classes = frames()
    turned = softmax[:, [1, 2, 0]]
    named = {"columns": {"id": "paper_id", "label": "subject"}, "edge_columns": {"src": "source", "dst": "target"}}
    fits = r"with the columns in sorted order \('AI', 'Databases', 'Theory'\), the top class is the label of 23 of 60 nodes, " \
           r"and of 57 in the order 'Databases', 'AI', 'Theory'. Pass classes=model.classes_, or classes=\['Databases', 'AI', 'Theory'\]$"
    with pytest.raises(GraphcleanerError, match=fits):
        graphcleaner.clean(nodes, edges, turned, **named)
    graph = Graph.of(nodes, edges, **named)
    with pytest.raises(GraphcleanerError, match=r"in the order of graph.classes \('AI', 'Databases', 'Theory'\), the top class .* and of 57 in the order"):
        graphcleaner.clean(graph, predictions=softmax)


def test_named_classes_are_believed(caplog):
    nodes, edges, softmax, classes = frames(names=False)
    with caplog.at_level(logging.WARNING, logger="graphcleaner"):
        graphcleaner.clean(nodes.subject.to_numpy(), edges.to_numpy(), softmax, classes, as_given=True)
        assert not caplog.records
        graphcleaner.clean(nodes.subject.to_numpy(), edges.to_numpy(), softmax[:, [1, 2, 0]], classes, as_given=True)
    assert "as classes says ('0', '1', '2'), the top class is the label of 0 of 60 nodes, and of 57 in the order '1', '2', '0'" in caplog.messages[0]
