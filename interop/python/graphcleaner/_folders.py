"""Data sets as OGB and DGL keep them on disk. No pickle is ever read."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from . import _tables
from ._graph import Graph, numbered
from ._rules import SPLITS
from .errors import GraphcleanerError, short


@short
def read_ogb(folder: str | os.PathLike[str], *, directed: bool = False) -> Graph:
    """Reads the folder of a data set of OGB for the prediction of nodes, such as `dataset/ogbn_arxiv`, for `clean`.

    It has the folders raw and split. node_year becomes the property year. Nodes are numbered from 0. Of several splits,
    want the folder that keeps one alone.
    """
    folder = Path(folder)
    raw = folder / "raw"
    if (raw / "triplet-type-list.csv.gz").exists() or (raw / "num-node-dict.csv.gz").exists():
        raise GraphcleanerError(f"{folder}: the graph has several kinds of nodes, want one of one kind")
    if (raw / "data.npz").exists():
        arrays = _npz(raw / "data.npz")
        ends, x = _member(arrays, "edge_index", raw / "data.npz"), arrays.get("node_feat")
        labels = _member(_npz(raw / "node-label.npz"), "node_label", raw / "node-label.npz")
        n = len(labels)
    else:
        counts = _csv(raw / "num-node-list.csv.gz")
        if counts.shape != (1, 1):
            raise GraphcleanerError(f"{raw / 'num-node-list.csv.gz'}: got {len(counts)} graphs, want one")
        n = int(counts[0, 0])
        ends = _csv(raw / "edge.csv.gz").T
        x = _csv(raw / "node-feat.csv.gz", np.float32) if (raw / "node-feat.csv.gz").exists() else None
        labels = _csv(raw / "node-label.csv.gz")
    labels = labels.reshape(len(labels), -1)
    if labels.shape != (n, 1):
        raise GraphcleanerError(f"{raw}: got labels of shape {labels.shape}, want one for each of {n} nodes")
    if ends.shape[0] != 2 or ends.size and not 0 <= ends.min() <= ends.max() < n:
        raise GraphcleanerError(f"{raw}: the edges have numbers that are no nodes, want 0 to {n - 1}")
    classes, numbers = numbered(_tables.array(labels[:, 0], f"{raw}: labels"))
    kinds = [path for path in sorted((folder / "split").glob("*")) if path.is_dir()]
    if len(kinds) > 1:
        names = ", ".join(path.name for path in kinds)
        raise GraphcleanerError(f"{folder / 'split'}: got the splits {names}, want one")
    splits = None
    if kinds:
        splits = np.zeros(n, np.int8)
        for name, place in (("train", 1), ("valid", 2), ("test", 3)):
            rows = _csv(kinds[0] / f"{name}.csv.gz").reshape(-1)
            if rows.size and not 0 <= rows.min() <= rows.max() < n:
                raise GraphcleanerError(f"{kinds[0] / f'{name}.csv.gz'}: got a number that is no node, want 0 to "
                                        f"{n - 1}")
            splits[rows.astype(np.int64)] = place
    properties, years = {}, raw / "node_year.csv.gz"
    if years.exists():
        year = _csv(years).reshape(-1)
        if len(year) != n:
            raise GraphcleanerError(f"{years}: got {len(year)} years, want one for each of {n} nodes")
        properties["year"] = _tables.array(year, str(years))
    return Graph(ids=range(n), classes=classes, labels=numbers, edges=np.ascontiguousarray(ends, np.int64),
                 splits=splits, directed=directed,
                 features=_features(x, n, raw), properties=properties)


@short
def read_dgl(folder: str | os.PathLike[str], label: str = "label", features: str = "feat", *,
             directed: bool = False) -> Graph:
    """Reads the folder of a CSVDataset of DGL, of one graph with one kind of nodes and edges, for `clean`. DGL itself
    is not needed.

    label, features   the columns of the nodes that have them. The columns train_mask, val_mask and test_mask are the
                      splits, weight of the edges their weight
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        import yaml
    except ImportError as error:
        raise GraphcleanerError("read_dgl wants PyYAML: pip install 'graphcleaner[dgl]'") from error
    folder = Path(folder)
    path = folder / "meta.yaml"
    try:
        meta = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise GraphcleanerError(f"{path}: {error}") from error
    meta = meta if isinstance(meta, dict) else {}
    parts = {}
    for part in ("node_data", "edge_data"):
        found = meta.get(part)
        if not isinstance(found, list) or len(found) != 1 or not isinstance(found[0],
                                                                            dict) or "file_name" not in found[0]:
            count = len(found) if isinstance(found, list) else 0
            raise GraphcleanerError(f"{path}: got {count} files of {part}, want one, with file_name: one kind of "
                                    f"nodes and of edges")
        parts[part] = found[0]
    if "graph_data" in meta:
        raise GraphcleanerError(f"{path}: got graph_data, which is of several graphs, want one graph")
    separator = str(meta.get("separator", ","))
    about, between = parts["node_data"], parts["edge_data"]
    nodes = _table(folder / about["file_name"], separator)
    edges = _table(folder / between["file_name"], separator)
    for table, name in ((nodes, about["file_name"]), (edges, between["file_name"])):
        if "graph_id" in table.column_names and len(pc.unique(table["graph_id"])) > 1:
            raise GraphcleanerError(f"{folder / name}: got several graphs, want one")
    columns = {"id": about.get("node_id_field", "node_id"), "label": label}
    ends = {"src": between.get("src_id_field", "src_id"), "dst": between.get("dst_id_field", "dst_id")}
    if "weight" in edges.column_names:
        ends["weight"] = "weight"
    matrix = None
    if features in nodes.column_names:
        matrix = _lists(nodes[features], folder / about["file_name"], features)
        nodes = nodes.drop_columns([features])
    masks = [f"{name}_mask" for name in SPLITS[1:] if f"{name}_mask" in nodes.column_names]
    if masks:
        split = pa.array(["none"] * len(nodes))
        for mask in masks:
            split = pc.if_else(_truth(nodes[mask], folder / about["file_name"], mask),
                               mask.removesuffix("_mask"), split)
        nodes = nodes.drop_columns(masks).append_column("split", split)
        columns["split"] = "split"
    try:
        return Graph.of(nodes, edges, matrix, columns=columns, edge_columns=ends, directed=directed)
    except GraphcleanerError as error:
        raise GraphcleanerError(f"{folder}: {error}") from error


def _csv(path: Path, kind: Any = None) -> np.ndarray:
    """The numbers of a file without a header, [rows, columns]."""
    import pyarrow as pa
    import pyarrow.csv as csv

    try:
        table = csv.read_csv(path, read_options=csv.ReadOptions(autogenerate_column_names=True),
                             convert_options=csv.ConvertOptions(null_values=["", "nan", "NaN"]))
        for name in table.column_names:
            is_number = pa.types.is_integer, pa.types.is_floating, pa.types.is_null
            if not any(test(table[name].type) for test in is_number):
                raise GraphcleanerError(f"{path}: got {table[name][0].as_py()!r}, want numbers alone")
        kind = kind or (np.int64 if all(pa.types.is_integer(c.type) and not c.null_count for c in table.columns)
                        else np.float64)
        numbers = np.empty((len(table), table.num_columns), kind)
        for j, column in enumerate(table.columns):
            numbers[:, j] = column.to_numpy()
    except (OSError, pa.ArrowException) as error:
        raise GraphcleanerError(f"{path}: {error}") from error
    return numbers


def _npz(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files if name in ("edge_index", "node_feat", "node_label")}
    except (OSError, ValueError) as error:
        raise GraphcleanerError(f"{path}: {error}") from error


def _member(arrays: dict[str, np.ndarray], name: str, path: Path) -> np.ndarray:
    if name not in arrays:
        raise GraphcleanerError(f"{path}: there is no array {name}, want it")
    return arrays[name]


def _features(x: Any, n: int, where: Path) -> Any:
    try:
        return None if x is None else _tables.features_of(x, n)
    except GraphcleanerError as error:
        raise GraphcleanerError(f"{where}: {error}") from error


def _table(path: Path, separator: str) -> Any:
    import pyarrow as pa
    import pyarrow.csv as csv

    try:
        return csv.read_csv(path, parse_options=csv.ParseOptions(delimiter=separator))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise GraphcleanerError(f"{path}: {error}") from error


def _lists(column: Any, path: Path, name: str) -> np.ndarray:
    """Numbers, or lists of numbers that are written as texts, as rows."""
    rows = []
    for line, value in enumerate(column.to_pylist(), 2):
        words = [word for word in re.split(r"[,\s]+", str(value).strip(" ()[]")) if word]
        try:
            rows.append([float(word) for word in words])
        except ValueError as error:
            raise GraphcleanerError(f"{path}:{line}: column {name!r}: got {value!r}, want numbers") from error
        if len(rows[-1]) != len(rows[0]):
            raise GraphcleanerError(f"{path}:{line}: column {name!r}: got {len(rows[-1])} numbers, want "
                                    f"{len(rows[0])} as in line 2")
    return np.array(rows, np.float32)


def _truth(column: Any, path: Path, name: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.utf8_lower(column.cast(pa.string()))
    truth = pc.is_in(texts, pa.array(["1", "1.0", "true"]))
    if not pc.all(pc.or_(truth, pc.is_in(texts, pa.array(["0", "0.0", "false"])))).as_py():
        raise GraphcleanerError(f"{path}: column {name!r}: want 0 and 1, or true and false")
    return truth
