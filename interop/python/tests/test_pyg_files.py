import gzip

import numpy as np
import pytest

from graphcleaner import GraphcleanerError, from_pyg, to_pyg

pytest.importorskip("torch_geometric", reason="the extra pyg is not installed: interop/python/setup.sh pyg makes an "
                                              "environment with it")

from graphcleaner.pyg import read_graph, read_labels, write_predictions  # noqa: E402


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
    data = to_pyg(graph)
    assert data.edge_index.shape[1] == a.nnz and data.x.shape == (80, 12)
    masks = data.train_mask.int() + data.val_mask.int() + data.test_mask.int()
    assert masks.tolist() == [int(v != 5) for v in range(80)]


def test_parallel_edges_and_self_loops_collapse(files):
    (files / "edges.csv").write_text("src,dst\nn0,n1\nn1,n0\nn2,n2\nn0,n1\n")
    assert read(files).edges.tolist() == [[0], [1]]


def test_noisy_labels_and_compressed_tsv(files):
    graph = read(files)
    path = files / "noisy.tsv.gz"
    with gzip.open(path, "wt", encoding="utf-8-sig") as out:
        out.write("id\tlabel\nn4\t\n")
        out.writelines(f"n{v}\ta\n" for v in range(80) if v not in (4, 5))
    labels = read_labels(path, graph)
    assert labels[3] == 0 and labels[4] == -1 and labels[5] == -1 and (labels >= 0).sum() == 78


def test_byte_order_mark_is_no_part_of_the_header(files):
    text = (files / "nodes.csv").read_bytes()
    (files / "nodes.csv").write_bytes(b"\xef\xbb\xbf" + text)
    with gzip.open(files / "nodes.csv.gz", "wb") as out:
        out.write(b"\xef\xbb\xbf" + text)
    for name in ("nodes.csv", "nodes.csv.gz"):
        assert read_graph(files / name, files / "edges.csv").ids[:2] == ["n0", "n1"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("n0,a\nn0,b\n", 'noisy.csv:3: column "id": got "n0" again, want every id once'),
        ("n0,a\nn0,\n", 'noisy.csv:3: column "id": got "n0" again, want every id once'),
        ("n0,a\n", 'noisy.csv: has no label for node "n1", want one for every labelled node'),
        ("n0,c\n", "noisy.csv:2: label c: want one of the classes a, b"),
    ],
)
def test_labels_are_there_once_for_every_labelled_node(files, text, says):
    (files / "noisy.csv").write_text("id,label\n" + text)
    with pytest.raises(GraphcleanerError, match=says):
        read(files, labels=files / "noisy.csv")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("nodes.csv", "id,label\nx,a\nx,b\n", 'nodes.csv:3: column "id": got "x" again, as in line 2, want every id '
                                              'once'),
        ("nodes.csv", "id,class\nx,a\n", "nodes.csv:1: no column label"),
        ("edges.csv", "src,dst\nn0,q\n", "edges.csv:2: unknown node q"),
        ("edges.csv", "src,dst\nn0\n", "edges.csv:2: got 1 fields"),
        ("splits.csv", "id,split\nn0,exam\n", "splits.csv:2: split exam"),
        ("splits.csv", "id,split\nn0,val\nn0,val\n", 'splits.csv:3: column "id": got "n0" again'),
    ],
)
def test_errors_name_file_line_and_value(files, name, text, says):
    (files / name).write_text(text)
    with pytest.raises(GraphcleanerError, match=says):
        read(files, splits=files / "splits.csv")


def test_features_want_a_row_a_node(files):
    np.save(files / "x.npy", np.zeros((3, 2), np.float32))
    with pytest.raises(GraphcleanerError, match="x.npy: got shape .3, 2., want a row for each of 80 nodes"):
        read(files, features=files / "x.npy")


def test_no_pickle_is_read(files):
    np.save(files / "x.npy", np.array([{"a": 1}] * 80, object), allow_pickle=True)
    with pytest.raises(GraphcleanerError, match="allow_pickle"):
        read(files, features=files / "x.npy")


def test_predictions_are_freed_of_rounding(files):
    graph = read(files)
    out = files / "p.npy"
    write_predictions(out, np.full((80, 2), 0.5004), graph)
    assert np.load(out, allow_pickle=False).tolist() == [[0.5, 0.5]] * 80


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ([0.5, 0.0, 0.5], "got shape .80, 3., want .80, 2."),
        ([3.0, -2.0], "node n3: class a is 3, want a probability from 0 to 1"),
        ([1.0005, -0.0005], "node n3: class b is -0.0005, want a probability from 0 to 1"),
        ([np.nan, 0.5], "node n3: class a is nan, want a probability from 0 to 1"),
        ([0.5, np.inf], "node n3: class b is inf, want a probability from 0 to 1"),
        ([0.0, 0.0], "node n3: they add up to 0, want 1"),
        ([0.5, 0.502], "node n3: they add up to 1.002, want 1"),
    ],
)
def test_what_is_no_probability_is_not_written(files, row, says):
    p = np.full((80, len(row)), 0.5)
    p[3] = row
    with pytest.raises(GraphcleanerError, match="predictions.*" + says):
        write_predictions(files / "q.npy", p, read(files))
    assert not list(files.glob("q.npy*"))
