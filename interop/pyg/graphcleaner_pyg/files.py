"""The files of graphcleaner: nodes, edges, features, labels, splits and predictions.

Text is csv, or tsv by its name, either also .gz. No pickle is ever read.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy import sparse

SPLITS = ("none", "train", "val", "test")
# How far from 1 the predictions of a node may add up, as `graphcleaner import` has it.
_SUM_TOLERANCE = 1e-3
# What Go's strconv.ParseFloat takes, without NaN: graphcleaner orders classes as numbers where it takes all of them.
_DIGITS, _HEX = "[0-9](?:_?[0-9])*", "[0-9a-f](?:_?[0-9a-f])*"
_DECIMAL_NUMBER = re.compile(
    rf"[+-]?(?:(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:e[+-]?{_DIGITS})?|inf(?:inity)?)",
    re.IGNORECASE | re.ASCII,
)
_HEX_NUMBER = re.compile(
    rf"[+-]?0x(?:_?{_HEX}(?:\.(?:{_HEX})?)?|\.{_HEX})p[+-]?{_DIGITS}", re.IGNORECASE | re.ASCII
)
_SPLIT_NAMES = {"": 0, "none": 0, "train": 1, "val": 2, "valid": 2, "validation": 2, "test": 3}


@dataclass(frozen=True)
class Graph:
    """A labelled graph.

    ids       external ids [n], in the order of the node file
    classes   class names [c], in the order of graphcleaner
    labels    [n] int64, number of the class, -1 where unlabelled
    edges     [2, m] int64, rows of the node file; each undirected edge once, without self loops
    features  [n, d] float32, CSR or dense; None where there are none
    splits    [n] int8, places in SPLITS; None where there are none
    """

    ids: Sequence[str]
    classes: Sequence[str]
    labels: np.ndarray
    edges: np.ndarray
    features: sparse.csr_matrix | np.ndarray | None = None
    splits: np.ndarray | None = None

    @property
    def num_nodes(self) -> int:
        return len(self.ids)

    def adjacency(self) -> sparse.csr_matrix:
        """The simple undirected graph, [n, n] of ones."""
        src, dst = self.edges
        ones = np.ones(2 * len(src), np.float32)
        a = sparse.csr_matrix((ones, (np.r_[src, dst], np.r_[dst, src])), shape=(self.num_nodes,) * 2)
        a.data[:] = 1
        return a

    def to_data(self):
        """The torch_geometric.data.Data: x, edge_index (both directions), y, train_mask, val_mask, test_mask."""
        import torch
        from torch_geometric.data import Data

        a = self.adjacency().tocoo()
        data = Data(
            edge_index=torch.from_numpy(np.stack([a.row, a.col]).astype(np.int64)),
            y=torch.from_numpy(self.labels),
            num_nodes=self.num_nodes,
        )
        if self.features is not None:
            dense = self.features.toarray() if sparse.issparse(self.features) else self.features
            data.x = torch.from_numpy(np.ascontiguousarray(dense, np.float32))
        if self.splits is not None:
            for place, name in enumerate(SPLITS[1:], 1):
                mask = (self.splits == place) & (self.labels >= 0)
                data[f"{name}_mask"] = torch.from_numpy(mask)
        return data


def read_graph(nodes, edges, features=None, splits=None, labels=None) -> Graph:
    """Reads a graph.

    nodes     header id,label[,split]; an empty label is none
    edges     header src,dst
    features  .npy [n, d], or a scipy CSR .npz
    splits    header id,split, in place of the column of nodes
    labels    header id,label, in place of those of nodes, whose classes stay the classes
    """
    ids, names, split = _read_nodes(nodes)
    classes = class_order({name for name in names if name})
    number = {name: j for j, name in enumerate(classes)}
    graph = Graph(
        ids=ids,
        classes=classes,
        labels=np.array([number[name] if name else -1 for name in names], np.int64),
        edges=_read_edges(edges, {v: i for i, v in enumerate(ids)}),
        splits=split,
    )
    if features is not None:
        graph = replace(graph, features=_read_features(features, graph.num_nodes))
    if splits is not None:
        graph = replace(graph, splits=read_splits(splits, graph))
    if labels is not None:
        graph = replace(graph, labels=read_labels(labels, graph))
    return graph


def read_labels(path, graph: Graph) -> np.ndarray:
    """Labels [n] of a file with header id,label, whose classes are those of graph.

    An empty label is none, -1. Nodes without a label in graph may be left out, others not.
    """
    number = {name: j for j, name in enumerate(graph.classes)}
    number[""] = -1
    want = "one of the classes " + ", ".join(graph.classes)
    labels, there = _read_column(path, graph, "label", number, want, np.int64, -1)
    without = (graph.labels >= 0) & ~there
    if without.any():
        v = graph.ids[int(np.argmax(without))]
        raise ValueError(f'{path}: has no label for node "{v}", want one for every labelled node')
    return labels


def read_splits(path, graph: Graph) -> np.ndarray:
    """Splits [n] of a file with header id,split; none where the file has none."""
    return _read_column(path, graph, "split", _SPLIT_NAMES, "train, val, test or none", np.int8, 0)[0]


def write_predictions(path, predictions, graph: Graph) -> None:
    """Writes predictions [n, c] as float32 .npy for `graphcleaner import --predictions`.

    Rows are in the order of the node file, columns in that of graph.classes. They are numpy or torch, and
    probabilities: each row adds up to 1 within 0.001, and is divided by its sum. The file is there whole or not
    at all.
    """
    if hasattr(predictions, "detach"):
        predictions = predictions.detach().cpu().numpy()
    p = np.asarray(predictions, np.float64)
    want = (graph.num_nodes, len(graph.classes))
    if p.shape != want:
        raise ValueError(f"predictions: got shape {p.shape}, want {want}")
    bad = ~((p >= 0) & (p <= 1 + _SUM_TOLERANCE))  # also where p is NaN
    if bad.any():
        v, j = np.argwhere(bad)[0]
        raise ValueError(f"predictions of node {graph.ids[v]}: class {graph.classes[j]} is {p[v, j]:g}, "
                         "want a probability from 0 to 1")
    sums = p.sum(axis=1, keepdims=True)
    far = np.abs(sums[:, 0] - 1) > _SUM_TOLERANCE
    if far.any():
        v = int(np.argmax(far))
        raise ValueError(f"predictions of node {graph.ids[v]}: they add up to {sums[v, 0]:g}, want 1")
    path = Path(path)
    part = path.with_name(path.name + ".part")
    try:
        with open(part, "wb") as out:
            np.save(out, (p / sums).astype(np.float32), allow_pickle=False)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def class_order(names: set[str]) -> list[str]:
    """Class names in the order of graphcleaner: as numbers where all are numbers, else by bytes."""
    numbers = {name: _number(name) for name in names}
    if None in numbers.values():
        return sorted(names, key=str.encode)
    return sorted(names, key=lambda name: (numbers[name], name.encode()))


def _number(name: str) -> float | None:
    """The number that graphcleaner takes a class name for. One beyond the range of float64 is none."""
    if _HEX_NUMBER.fullmatch(name):
        try:
            return float.fromhex(name.replace("_", ""))
        except OverflowError:
            return None
    if not _DECIMAL_NUMBER.fullmatch(name):
        return None
    value = float(name.replace("_", ""))
    return None if math.isinf(value) and "n" not in name.lower() else value


def _open_text(path) -> io.TextIOBase:
    if str(path).endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


def _rows(path, *wanted: str, optional: Sequence[str] = ()) -> Iterator[tuple[int, list[str]]]:
    """Lines of a file with a header, as line number and the fields of the columns; "" for optional ones not there."""
    name = str(path).removesuffix(".gz")
    with _open_text(path) as text:
        reader = csv.reader(text, delimiter="\t" if name.endswith(".tsv") else ",")
        header = next(reader, [])
        for column in wanted:
            if column not in header:
                raise ValueError(f"{path}:1: no column {column} in {','.join(header)}, want {','.join(wanted)}")
        places = [header.index(column) if column in header else -1 for column in (*wanted, *optional)]
        for fields in reader:
            if not fields:
                continue
            if len(fields) != len(header):
                raise ValueError(f"{path}:{reader.line_num}: got {len(fields)} fields, want {len(header)}")
            yield reader.line_num, [fields[i] if i >= 0 else "" for i in places]


def _read_nodes(path) -> tuple[list[str], list[str], np.ndarray | None]:
    ids, names, splits = [], [], []
    seen = {}
    for line, (v, name, split) in _rows(path, "id", "label", optional=("split",)):
        if v in seen:
            raise ValueError(f'{path}:{line}: column "id": got "{v}" again, as in line {seen[v]}, want every id once')
        if split not in _SPLIT_NAMES:
            raise ValueError(f"{path}:{line}: split {split}: want train, val, test or none")
        seen[v] = line
        ids.append(v)
        names.append(name)
        splits.append(_SPLIT_NAMES[split])
    if not ids:
        raise ValueError(f"{path}: no node, want some")
    return ids, names, np.array(splits, np.int8) if any(splits) else None


def _read_edges(path, places: dict[str, int]) -> np.ndarray:
    """Edges [2, m], each once, self loops dropped."""
    ends = []
    for line, pair in _rows(path, "src", "dst"):
        for v in pair:
            if v not in places:
                raise ValueError(f"{path}:{line}: unknown node {v}, want an id of the node file")
        ends.append((places[pair[0]], places[pair[1]]))
    edges = np.sort(np.array(ends, np.int64).reshape(-1, 2), axis=1)
    return np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0).T.copy()


def _read_features(path, n: int) -> sparse.csr_matrix | np.ndarray:
    if str(path).endswith(".npz"):
        features = sparse.load_npz(path).tocsr().astype(np.float32)
    else:
        features = np.load(path, allow_pickle=False).astype(np.float32)
    if features.ndim != 2 or features.shape[0] != n:
        raise ValueError(f"{path}: got shape {features.shape}, want a row for each of {n} nodes")
    if not np.isfinite(features.data if sparse.issparse(features) else features).all():
        raise ValueError(f"{path}: got features that are no numbers, want finite ones")
    return features


def _read_column(
    path, graph: Graph, column: str, values: dict[str, int], want: str, dtype, missing
) -> tuple[np.ndarray, np.ndarray]:
    """Values [n] of a column, and for which nodes there is a row."""
    places = {v: i for i, v in enumerate(graph.ids)}
    result = np.full(graph.num_nodes, missing, dtype)
    there = np.zeros(graph.num_nodes, bool)
    for line, (v, value) in _rows(path, "id", column):
        if v not in places:
            raise ValueError(f"{path}:{line}: unknown node {v}, want an id of the node file")
        if there[places[v]]:
            raise ValueError(f'{path}:{line}: column "id": got "{v}" again, want every id once')
        if value not in values:
            raise ValueError(f"{path}:{line}: {column} {value}: want {want}")
        result[places[v]] = values[value]
        there[places[v]] = True
    return result, there
