"""The files of graphcleaner: nodes, edges, features, labels, splits and predictions.

A table is csv, tsv or parquet by its name, texts also .gz. No pickle is ever read.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._graph import Graph
from .._rules import SPLIT_NAMES, SUM_TOLERANCE, class_order
from .._tables import features_of
from ..errors import GraphcleanerError

if TYPE_CHECKING:
    from scipy import sparse


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
        raise GraphcleanerError(f'{path}: has no label for node "{v}", want one for every labelled node')
    return labels


def read_splits(path, graph: Graph) -> np.ndarray:
    """Splits [n] of a file with header id,split; none where the file has none."""
    return _read_column(path, graph, "split", SPLIT_NAMES, "train, val, test or none", np.int8, 0)[0]


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
        raise GraphcleanerError(f"predictions: got shape {p.shape}, want {want}")
    bad = ~((p >= 0) & (p <= 1 + SUM_TOLERANCE))  # also where p is NaN
    if bad.any():
        v, j = np.argwhere(bad)[0]
        raise GraphcleanerError(f"predictions of node {graph.ids[v]}: class {graph.classes[j]} is {p[v, j]:g}, "
                         "want a probability from 0 to 1")
    sums = p.sum(axis=1, keepdims=True)
    far = np.abs(sums[:, 0] - 1) > SUM_TOLERANCE
    if far.any():
        v = int(np.argmax(far))
        raise GraphcleanerError(f"predictions of node {graph.ids[v]}: they add up to {sums[v, 0]:g}, want 1")
    path = Path(path)
    part = path.with_name(path.name + ".part")
    try:
        with open(part, "wb") as out:
            np.save(out, (p / sums).astype(np.float32), allow_pickle=False)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _open_text(path) -> io.TextIOBase:
    if str(path).endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


def _rows(path, *wanted: str, optional: Sequence[str] = ()) -> Iterator[tuple[int, list[str]]]:
    """Lines of a file with a header, as line number and the fields of the columns; "" for optional ones not there."""
    lines = _parquet_lines(path) if str(path).endswith(".parquet") else _text_lines(path)
    _, header = next(lines, (1, []))
    for column in wanted:
        if column not in header:
            raise GraphcleanerError(f"{path}:1: no column {column} in {','.join(header)}, want {','.join(wanted)}")
    places = [header.index(column) if column in header else -1 for column in (*wanted, *optional)]
    for line, fields in lines:
        if len(fields) != len(header):
            raise GraphcleanerError(f"{path}:{line}: got {len(fields)} fields, want {len(header)}")
        yield line, [fields[i] if i >= 0 else "" for i in places]


def _text_lines(path) -> Iterator[tuple[int, list[str]]]:
    name = str(path).removesuffix(".gz")
    with _open_text(path) as text:
        reader = csv.reader(text, delimiter="\t" if name.endswith(".tsv") else ",")
        for fields in reader:
            if fields:
                yield reader.line_num, fields


def _parquet_lines(path) -> Iterator[tuple[int, list[str]]]:
    """The header, and the rows as texts. Row 1 has number 1, as in errors of the program."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = [field.name for field in file.schema_arrow if not pa.types.is_nested(field.type)]
            yield 1, names
            line = 0
            for batch in file.iter_batches(columns=names):
                columns = [column.cast(pa.string()).fill_null("").to_pylist() for column in batch.columns]
                for fields in zip(*columns):
                    line += 1
                    yield line, list(fields)
    except pa.ArrowException as error:
        raise GraphcleanerError(f"{path}: {error}") from error


def _read_nodes(path) -> tuple[list[str], list[str], np.ndarray | None]:
    ids, names, splits = [], [], []
    seen = {}
    for line, (v, name, split) in _rows(path, "id", "label", optional=("split",)):
        if v in seen:
            raise GraphcleanerError(f'{path}:{line}: column "id": got "{v}" again, as in line {seen[v]}, want every '
                                    f'id once')
        if split not in SPLIT_NAMES:
            raise GraphcleanerError(f"{path}:{line}: split {split}: want train, val, test or none")
        seen[v] = line
        ids.append(v)
        names.append(name)
        splits.append(SPLIT_NAMES[split])
    if not ids:
        raise GraphcleanerError(f"{path}: no node, want some")
    return ids, names, np.array(splits, np.int8) if any(splits) else None


def _read_edges(path, places: dict[str, int]) -> np.ndarray:
    """Edges [2, m], each once, self loops dropped."""
    ends = []
    for line, pair in _rows(path, "src", "dst"):
        for v in pair:
            if v not in places:
                raise GraphcleanerError(f"{path}:{line}: unknown node {v}, want an id of the node file")
        ends.append((places[pair[0]], places[pair[1]]))
    edges = np.sort(np.array(ends, np.int64).reshape(-1, 2), axis=1)
    return np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0).T.copy()


def _read_features(path, n: int) -> sparse.csr_matrix | np.ndarray:
    try:
        if str(path).endswith(".npz"):
            from scipy import sparse

            features = sparse.load_npz(path)
        else:
            features = np.load(path, allow_pickle=False)
        return features_of(features, n)
    except (ValueError, GraphcleanerError) as error:
        raise GraphcleanerError(f"{path}: {str(error).removeprefix('features: ')}") from error


def _read_column(
    path, graph: Graph, column: str, values: dict[str, int], want: str, dtype, missing
) -> tuple[np.ndarray, np.ndarray]:
    """Values [n] of a column, and for which nodes there is a row."""
    places = {v: i for i, v in enumerate(graph.ids)}
    result = np.full(graph.num_nodes, missing, dtype)
    there = np.zeros(graph.num_nodes, bool)
    for line, (v, value) in _rows(path, "id", column):
        if v not in places:
            raise GraphcleanerError(f"{path}:{line}: unknown node {v}, want an id of the node file")
        if there[places[v]]:
            raise GraphcleanerError(f'{path}:{line}: column "id": got "{v}" again, want every id once')
        if value not in values:
            raise GraphcleanerError(f"{path}:{line}: {column} {value}: want {want}")
        result[places[v]] = values[value]
        there[places[v]] = True
    return result, there
