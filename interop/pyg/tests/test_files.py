import gzip

import numpy as np
import pytest

from graphcleaner_pyg import read_graph, read_labels, write_predictions
from graphcleaner_pyg.files import class_order


def read(files, **kwargs):
    return read_graph(files / "nodes.csv", files / "edges.csv", **kwargs)


def test_graph_is_in_file_order(files):
    graph = read(files, features=files / "features.npz", splits=files / "splits.csv")
    assert graph.ids[:2] == ["n0", "n1"]
    assert graph.classes == ["a", "b"]
    assert graph.labels[0] == 1 and graph.labels[40] == 0 and graph.labels[5] == -1
    assert graph.features.shape == (80, 12)
    a = graph.adjacency()
    assert (a != a.T).nnz == 0 and a.diagonal().sum() == 0 and set(a.data) == {1.0}
    data = graph.to_data()
    assert data.edge_index.shape[1] == a.nnz and data.x.shape == (80, 12)
    masks = data.train_mask.int() + data.val_mask.int() + data.test_mask.int()
    assert masks.tolist() == [int(v != 5) for v in range(80)]


def test_parallel_edges_and_self_loops_collapse(files):
    (files / "edges.csv").write_text("src,dst\nn0,n1\nn1,n0\nn2,n2\nn0,n1\n")
    assert read(files).edges.tolist() == [[0], [1]]


@pytest.mark.parametrize(
    ("names", "want"),
    [
        ({"10", "9", "2.5"}, ["2.5", "9", "10"]),
        ({"10", "9", "x"}, ["10", "9", "x"]),
        ({"é", "z", "Z"}, ["Z", "z", "é"]),
        ({"1", "nan"}, ["1", "nan"]),
    ],
)
def test_class_order(names, want):
    assert class_order(names) == want


def test_noisy_labels_and_compressed_tsv(files):
    graph = read(files)
    path = files / "noisy.tsv.gz"
    with gzip.open(path, "wt") as out:
        out.write("id\tlabel\nn3\ta\nn4\t\n")
    labels = read_labels(path, graph)
    assert labels[3] == 0 and labels[4] == -1 and (labels >= 0).sum() == 1


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("nodes.csv", "id,label\nx,a\nx,b\n", "nodes.csv:3: id x is there twice"),
        ("nodes.csv", "id,class\nx,a\n", "nodes.csv:1: no column label"),
        ("edges.csv", "src,dst\nn0,q\n", "edges.csv:2: unknown node q"),
        ("edges.csv", "src,dst\nn0\n", "edges.csv:2: got 1 fields"),
        ("splits.csv", "id,split\nn0,exam\n", "splits.csv:2: split exam"),
    ],
)
def test_errors_name_file_line_and_value(files, name, text, says):
    (files / name).write_text(text)
    with pytest.raises(ValueError, match=says):
        read(files, splits=files / "splits.csv")


def test_features_want_a_row_a_node(files):
    np.save(files / "x.npy", np.zeros((3, 2), np.float32))
    with pytest.raises(ValueError, match="x.npy: got shape .3, 2., want a row for each of 80 nodes"):
        read(files, features=files / "x.npy")


def test_no_pickle_is_read(files):
    np.save(files / "x.npy", np.array([{"a": 1}] * 80, object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle"):
        read(files, features=files / "x.npy")


def test_predictions_are_normalized_and_checked(files):
    graph = read(files)
    out = files / "p.npy"
    write_predictions(out, np.full((80, 2), 3.0), graph)
    assert np.load(out, allow_pickle=False).tolist() == [[0.5, 0.5]] * 80
    for bad in (np.zeros((80, 3)), np.zeros((80, 2)), np.full((80, 2), np.nan), np.full((80, 2), -1.0)):
        with pytest.raises(ValueError, match="predictions"):
            write_predictions(files / "q.npy", bad, graph)
    assert not list(files.glob("q.npy*"))
