"""Graphs of other libraries and formats, in and out. These run in the environment of a wheel, too: see
test_wheel.py.
"""

import gzip
import sys

import numpy as np
import pyarrow as pa
import pytest
from test_client import program  # noqa: F401

import graphcleaner
from graphcleaner import Graph, GraphcleanerError


def communities(count=60, wrong=(7, 31, 52)):
    """Labels, some wrong, and edges of three communities; and a softmax that knows better."""
    truth = np.arange(count) % 3
    labels = truth.copy()
    labels[list(wrong)] = (labels[list(wrong)] + 1) % 3
    ends = np.array([(i, j) for i in range(count) for j in (i + 3, i + 6, i + 15) if j < count]).T
    return labels, ends, np.eye(3)[truth] * 0.7 + 0.1


# Graph


def test_graph_of_frames():
    graph = Graph.of({"paper": ["p", "q", "r"], "field": ["10", "9", None], "year": [1, 2, 3],
                      "fold": ["train", "val", None]},
                     {"src": ["p", "q"], "dst": ["q", "p"], "weight": [1.5, 2.0]}, [[1, 2], [3, 4], [5, 6]],
                     columns={"id": "paper", "label": "field", "split": "fold"})
    assert graph.ids == ["p", "q", "r"] and graph.classes == ["9", "10"] and graph.labels.tolist() == [1, 0, -1]
    assert graph.splits.tolist() == [1, 2, 0] and repr(graph) == "<Graph of 3 nodes, 2 labelled, 2 classes, 2 edges>"
    assert graph.features.dtype == np.float32 and graph.num_nodes == 3
    nodes, edges = graph.frames()
    assert nodes["label"].to_pylist() == ["10", "9", None] and nodes["split"].to_pylist() == ["train", "val", "none"]
    assert nodes["year"].to_pylist() == [1, 2, 3] and edges["src"].to_pylist() == ["p",
                                                                                   "q"] and edges["weight"].tolist() == [1.5, 2.0]


@pytest.mark.parametrize("nodes, edges, features, says", [
    ({"id": [1, 2, 1], "label": [0, 0, 0]}, {"src": [1], "dst": [2]}, None, "nodes: got id 1 again"),
    ({"id": [1, 2], "label": [0, 0]}, {"src": [1], "dst": [3]}, None, "edges: unknown node 3"),
    ({"id": [1, 2], "label": [0, 0]}, {"src": ["a"], "dst": ["b"]}, None, "edges: column 'src'"),
    ({"id": [1, 2], "label": [0, 0]}, {"src": [1], "dst": [2]}, [[1.0]],
     r"features: got shape \(1, 1\), want a row for each of 2 nodes"),
    ({"id": [1], "label": [0]}, {"src": [1], "dst": [1]}, [[np.nan]], "features: got some that are no numbers"),
    ({"id": [1], "label": [0]}, {"src": [1], "dst": [1]}, [["x"]], "features: could not convert"),
    ({"id": [1], "label": [0]}, {"src": [1], "dst": [1]}, pa.table({"x": [1.0]}), "features: got Table, want an array"),
    ({"id": [1], "label": [0], "split": ["exam"]}, {"src": [1], "dst": [1]}, None,
     "split exam: want train, val, test or none"),
])
def test_what_is_no_graph(nodes, edges, features, says):
    with pytest.raises(GraphcleanerError, match=says):
        Graph.of(nodes, edges, features,
                 columns={"id": "id", "label": "label", **({"split": "split"} if "split" in nodes else {})})


def test_clean_takes_a_graph():
    labels, ends, softmax = communities()
    graph = Graph.of(labels, ends)
    found = graphcleaner.clean(graph, predictions=softmax, as_given=True)
    assert sorted(np.argsort(found["score"].to_numpy())[-3:]) == [7, 31, 52]
    order = graphcleaner.clean(labels, ends, softmax, [0, 1, 2], as_given=True)
    assert found.equals(order)
    with pytest.raises(GraphcleanerError, match="edges: a Graph has its own"):
        graphcleaner.clean(graph, ends)
    with pytest.raises(GraphcleanerError, match="edges: got none"):
        graphcleaner.clean(labels)


@pytest.mark.parametrize("kind", ["array", "sparse", "frame"])
def test_features_teach_the_classifier(kind, tmp_path):
    labels, ends, softmax = communities()
    features = (softmax > 0.5).astype(np.float64)
    given = features
    if kind == "sparse":
        given = pytest.importorskip("scipy.sparse").csr_matrix(features)
    if kind == "frame":
        given = {"id": range(60), **{f"f{j}": features[:, j] for j in range(3)}}
    graphcleaner.clean(labels, ends, features=given, store=tmp_path / "g")
    # Nodes without edges have features alone, so the predictions follow them only if the features came along.
    assert np.argmax(graphcleaner.open(tmp_path / "g").export("predictions").to_pandas().drop(columns="id"),
                     axis=1).tolist() \
        == np.argmax(softmax, axis=1).tolist()
    with pytest.raises(GraphcleanerError, match="features: "):
        graphcleaner.clean(labels, ends, features={"f": [1]} if kind == "frame" else given[:5])


# NetworkX


def test_networkx_without_nodes():
    networkx = pytest.importorskip("networkx")
    graph = graphcleaner.from_networkx(networkx.Graph(), weight="weight")
    assert graph.num_nodes == 0
    with pytest.raises(GraphcleanerError, match="nodes: no node has a label"):
        graphcleaner.clean(graph)


def test_networkx_round_trip(tmp_path):
    networkx = pytest.importorskip("networkx")
    labels, ends, softmax = communities()
    G = networkx.MultiDiGraph()
    for v, label in enumerate(labels):
        G.add_node(("paper", v), subject=["x", "y", "z"][label], year=2000 + v, **({"note": "read"} if v == 3 else {}))
    G.add_edges_from(((("paper", u), ("paper", v)) for u, v in ends.T), strength=2)
    G.add_edge(("paper", 0), ("paper", 3))  # parallel, without a weight
    G.add_node(("paper", 99), year=1)
    graph = graphcleaner.from_networkx(G, label="subject", weight="strength")
    assert graph.directed and graph.ids[:2] == ["('paper', 0)", "('paper', 1)"] and graph.classes == ["x", "y", "z"]
    assert graph.labels.tolist() == [*labels, -1] and sorted(graph.weights.tolist()) == [1.0] + [2.0] * ends.shape[1]
    found = graphcleaner.clean(graph, predictions=np.vstack([softmax, [[1 / 3] * 3]]), as_given=True,
                               store=tmp_path / "g")
    store = graphcleaner.open(tmp_path / "g")
    assert len(found["score"]) == 61 and store.query("nodes where note = 'read' return id, year").to_pylist() == [{"id": "('paper', 3)", "year": 2003}]
    weights = store.query("neighbors '(''paper'', 0)' return id, weight_out").to_pylist()
    assert {"id": "('paper', 3)", "weight_out": 3.0} in weights and {"id": "('paper', 6)", "weight_out": 2.0} in weights
    undirected = graphcleaner.from_networkx(networkx.Graph(G), label="subject", properties=[])
    assert not undirected.directed and undirected.weights is None and not undirected.properties


@pytest.mark.parametrize("ids, want",
                         [([2, 1], [2, 1]), (["b", "a"], ["b", "a"]), ([1, "a"], ["1", "a"]),
                          ([True, 0.5], ["True", "0.5"]),
                                       ([frozenset({1}), (1, 2)], ["frozenset({1})", "(1, 2)"])])
def test_ids_of_networkx(ids, want):
    networkx = pytest.importorskip("networkx")
    G = networkx.Graph([tuple(ids)])
    networkx.set_node_attributes(G, "x", "label")
    assert graphcleaner.from_networkx(G).ids == want


@pytest.mark.parametrize("change, options, says", [
    (lambda G: G.add_node("1", label="x"), {}, "nodes: 1 and '1' are both written '1'"),
    (lambda G: None, {"label": "colour"}, "nodes: none has the attribute 'colour', they have 'label', 'size': want "
                                          "label="),
    (lambda G: G.add_node(2, id=3), {}, "the attribute 'id' would be called as a column"),
    (lambda G: None, {"split": "size"}, "split 5: want train"),
    (lambda G: G.add_edge(1, 2, w="heavy"), {"weight": "w"}, "edges: attribute 'w': could not convert"),
    (lambda G: G.add_edge(1, 2, w=2), {"weight": "wait"}, "edges: none has the attribute 'wait', they have 'w'"),
])
def test_what_networkx_must_not_have(change, options, says):
    networkx = pytest.importorskip("networkx")
    G = networkx.Graph()
    G.add_node(1, label="x", size=5)
    change(G)
    with pytest.raises(GraphcleanerError, match=says):
        graphcleaner.from_networkx(G, **options)


def test_labels_of_several_kinds():
    networkx = pytest.importorskip("networkx")
    G = networkx.Graph()
    G.add_nodes_from([(1, {"label": "x"}), (2, {"label": 5}), (3, {"label": float("nan")}), (4, {"label": True}),
                      (5, {"label": ""})])
    graph = graphcleaner.from_networkx(G)
    assert graph.classes == ["5", "True", "x"] and graph.labels.tolist() == [2, 0, -1, 1, -1]


# PyTorch Geometric


def test_pyg_there_and_back():
    torch = pytest.importorskip("torch", reason="the extra pyg is not installed")
    pytest.importorskip("torch_geometric", reason="the extra pyg is not installed")
    from torch_geometric.data import Data, HeteroData

    labels, ends, softmax = communities()
    y = torch.from_numpy(labels.copy())
    y[4] = -1
    both = torch.from_numpy(np.hstack([ends, ends[::-1]]).copy())
    masks = {f"{name}_mask": torch.arange(60) % 4 == place for place, name in enumerate(("train", "val", "test"))}
    data = Data(x=torch.from_numpy(softmax).float(), edge_index=both, y=y,
                edge_weight=torch.ones(both.shape[1]) * 2, **masks)
    graph = graphcleaner.from_pyg(data, classes=["b", "c", "a"], ids=[f"n{v}" for v in range(60)])
    assert graph.classes == ["a", "b", "c"] and graph.labels[:5].tolist() == [1, 2, 0, 1, -1] and graph.ids[3] == "n3"
    assert graph.edges.shape == ends.shape and set(graph.weights) == {2.0} and graph.splits[:5].tolist() == [1, 2, 3, 0,
                                                                                                             1]
    back = graphcleaner.to_pyg(graph)
    assert sorted(map(tuple, back.edge_index.T.tolist())) == sorted(map(tuple,
                                                                        both.T.tolist())) and set(back.edge_weight.tolist()) == {2.0}
    assert torch.equal(back.x, data.x) and back.y.tolist() == graph.labels.tolist()
    # node 4 has no label
    assert torch.equal(back.val_mask, data.val_mask) and back.train_mask.sum() == data.train_mask.sum() - 1
    plain = graphcleaner.from_pyg(data)
    assert plain.classes == [0, 1, 2] and list(plain.ids)[:2] == [0, 1]
    directed = graphcleaner.to_pyg(graphcleaner.from_pyg(Data(edge_index=torch.tensor([[0], [1]]),
                                                              y=torch.tensor([0, 1])), directed=True))
    assert directed.edge_index.tolist() == [[0], [1]] and "x" not in directed
    for wrong, says in [
        (HeteroData(), "edge_index"),
        (Data(edge_index=both), "there is no y"),
        (Data(edge_index=both, y=torch.ones(60, 2)), r"y of shape \(60, 2\)"),
        (Data(edge_index=both, y=torch.ones(60) / 2), "not whole"),
        (Data(edge_index=both + 60, y=y, num_nodes=60), "edge_index has numbers from 60"),
        (Data(edge_index=both, y=y, train_mask=torch.ones(60, 3, dtype=torch.bool)), r"train_mask of shape \(60, 3\)"),
    ]:
        with pytest.raises(GraphcleanerError, match=says):
            graphcleaner.from_pyg(wrong)
    with pytest.raises(GraphcleanerError, match="classes: got 2, and y has the number 2"):
        graphcleaner.from_pyg(data, classes=["a", "b"])


def test_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(GraphcleanerError, match=r"pip install 'graphcleaner\[pyg\]'"):
        graphcleaner.to_pyg(Graph.of([0, 1], np.array([[0, 1]])))


# OGB


def pack(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as out:
        out.writelines(f"{row}\n" for row in rows)


@pytest.fixture
def ogb(tmp_path):
    raw, split = tmp_path / "raw", tmp_path / "split" / "time"
    pack(raw / "num-node-list.csv.gz", 4)
    pack(raw / "num-edge-list.csv.gz", 3)
    pack(raw / "edge.csv.gz", "0,1", "1,2", "3,0")
    pack(raw / "node-feat.csv.gz", "0.5,1", "0.25,2", "1,3", "0,4")
    pack(raw / "node-label.csv.gz", "10", "9", "nan", "10")
    for name, rows in (("train", (0, 3)), ("valid", (1,)), ("test", (2,))):
        pack(split / f"{name}.csv.gz", *rows)
    return tmp_path


def test_ogb(ogb):
    graph = graphcleaner.read_ogb(ogb)
    assert list(graph.ids) == [0, 1, 2, 3] and graph.classes == [9, 10] and graph.labels.tolist() == [1, 0, -1, 1]
    assert graph.edges.tolist() == [[0, 1, 3], [1, 2, 0]] and graph.splits.tolist() == [1, 2, 3, 1]
    assert graph.features.tolist() == [[0.5, 1], [0.25, 2], [1, 3], [0, 4]] and not graph.properties
    pack(ogb / "raw/node_year.csv.gz", 2013, 2014, 2015, 2013)
    assert graphcleaner.read_ogb(ogb).properties["year"].to_pylist() == [2013, 2014, 2015, 2013]


def test_ogb_in_arrays(ogb):
    want = graphcleaner.read_ogb(ogb)
    np.savez(ogb / "raw" / "data.npz", edge_index=want.edges, node_feat=want.features, num_nodes_list=[4])
    np.savez(ogb / "raw" / "node-label.npz", node_label=np.array([[10.0], [9], [np.nan], [10]]))
    got = graphcleaner.read_ogb(ogb)
    assert got.labels.tolist() == want.labels.tolist() and got.edges.tolist() == want.edges.tolist() and got.classes == want.classes
    np.savez(ogb / "raw" / "node-label.npz", node_label=np.array([{}], object))
    with pytest.raises(GraphcleanerError, match="node-label.npz: .*allow_pickle"):
        graphcleaner.read_ogb(ogb)


@pytest.mark.parametrize("name, rows, says", [
    ("raw/node-label.csv.gz", ["1,0", "1,0", "0,0", "0,1"], r"labels of shape \(4, 2\)"),
    ("raw/node-label.csv.gz", ["1"], r"labels of shape \(1, 1\)"),
    ("raw/edge.csv.gz", ["0,4"], "numbers that are no nodes, want 0 to 3"),
    ("raw/edge.csv.gz", ["0,b"], "edge.csv.gz: got 'b', want numbers alone"),
    ("raw/node-feat.csv.gz", ["1"], "features: got shape"),
    ("raw/num-node-list.csv.gz", ["2", "2"], "got 2 graphs, want one"),
    ("raw/triplet-type-list.csv.gz", ["a,b,c"], "several kinds of nodes"),
    ("raw/node_year.csv.gz", ["2013"], "got 1 years, want one for each of 4 nodes"),
    ("split/time/valid.csv.gz", ["9"], "valid.csv.gz: got a number that is no node"),
    ("split/other/train.csv.gz", ["1"], "got the splits other, time, want one"),
])
def test_what_ogb_must_not_have(ogb, name, rows, says):
    pack(ogb / name, *rows)
    with pytest.raises(GraphcleanerError, match=says):
        graphcleaner.read_ogb(ogb)


def test_no_folder_of_ogb(tmp_path):
    with pytest.raises(GraphcleanerError, match="num-node-list.csv.gz"):
        graphcleaner.read_ogb(tmp_path / "nothing")


# DGL

META = """dataset_name: papers
separator: ';'
node_data:
- file_name: n.csv
  node_id_field: paper
edge_data:
- file_name: e.csv
"""


@pytest.fixture
def dgl(tmp_path):
    pytest.importorskip("yaml")
    (tmp_path / "meta.yaml").write_text(META)
    (tmp_path / "n.csv").write_text("paper;label;train_mask;val_mask;feat;year\nx;1;1;0;0.5, 1;2001\ny;0;0;1;[0.25, "
                                    "2];2002\nz;;False;0;3, 3;2003\n")
    (tmp_path / "e.csv").write_text("src_id;dst_id;weight\nx;y;2\ny;z;1.5\n")
    return tmp_path


def test_dgl(dgl):
    graph = graphcleaner.read_dgl(dgl)
    assert graph.ids == ["x", "y", "z"] and graph.classes == [0, 1] and graph.labels.tolist() == [1, 0, -1]
    assert graph.splits.tolist() == [1, 2, 0] and graph.features.tolist() == [[0.5, 1], [0.25, 2],
                                                                              [3, 3]] and graph.weights.tolist() == [2,
                                                                                                                     1.5]
    assert graph.properties["year"].to_pylist() == [2001, 2002, 2003] and graph.edges.tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize("name, old, new, says", [
    ("meta.yaml", META, "x: [", "meta.yaml: "),
    ("meta.yaml", META, "!!python/object/apply:os.system ['true']", "meta.yaml: could not determine a constructor"),
    ("meta.yaml", "- file_name: e.csv", "- file_name: e.csv\n- file_name: f.csv", "got 2 files of edge_data, want one"),
    ("meta.yaml", "node_data:", "graph_data:\n  file_name: g.csv\nnode_data:", "several graphs"),
    ("meta.yaml", "n.csv", "m.csv", "m.csv"),
    ("meta.yaml", "  node_id_field: paper\n", "", "there is no column 'node_id'"),
    ("n.csv", "0.5, 1", "0.5, one", "n.csv:2: column 'feat': got '0.5, one', want numbers"),
    ("n.csv", "3, 3", "3", "n.csv:4: column 'feat': got 1 numbers, want 2"),
    ("n.csv", "False", "perhaps", "column 'train_mask': want 0 and 1"),
    ("e.csv", "y;z", "y;w", "edges: unknown node 'w'"),
])
def test_what_dgl_must_not_have(dgl, name, old, new, says):
    text = (dgl / name).read_text()
    assert old in text
    (dgl / name).write_text(text.replace(old, new))
    with pytest.raises(GraphcleanerError, match=says):
        graphcleaner.read_dgl(dgl)
