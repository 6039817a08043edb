"""Predictions of a classifier, in files for the program."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _tables
from ._rules import class_order
from .errors import GraphcleanerError, reading

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_LISTED = 20


def write(predictions: Any, classes: Any, nodes: pa.Table | None, id_name: str, folder: str, *,
          labels: Collection[str] | None = None,
          graph_classes: Any = None, index: Any = None, categories: Any = None, more: int = 0) -> list[str]:
    """Writes predictions to a folder, and returns flags of import for them.

    A frame names its classes by its columns, and its nodes by a column of ids or an index: see `_placed`. Without
    these, and in an array, the rows are those of the nodes. The columns of an array are `classes`, else the classes of
    the `Graph`, else the categories of the labels, else the labels sorted: the program says so where they do not agree
    with the labels. `labels` are those of a new store. `index` and `categories` are those of nodes in pandas. So many
    `more` nodes, behind the others, have no predictions.
    """
    import numpy as np

    named, why = classes is not None, None
    if hasattr(predictions, "columns") or isinstance(predictions, Mapping):
        if named:
            raise GraphcleanerError("predictions: a frame names its classes by its columns: want classes with an "
                                    "array alone")
        if hasattr(predictions, "rename") and hasattr(predictions, "index"):
            predictions = predictions.rename(columns=str)
            if id_name not in (*predictions.columns, *predictions.index.names):
                predictions = _placed(predictions, nodes, index, id_name, append=labels is None)
        rows = _tables.to_table(predictions, "predictions", [id_name])
        if "id" in rows.column_names and id_name != "id" and "id" not in (labels or ()):
            raise GraphcleanerError(f"predictions: their column 'id' is no label, and the ids of the nodes are called "
                                    f"{id_name!r}: want the "
                                    f"ids as {id_name!r}, such as predictions.rename(columns={{'id': {id_name!r}}})")
        if id_name in rows.column_names:
            rows = rows.rename_columns(["id" if name == id_name else name for name in rows.column_names])
            names = [name for name in rows.column_names if name != "id"]
            path = _tables.write(rows, Path(folder, "predictions.parquet"), "predictions")
            return ["--predictions", path, *_others(names, labels, nodes)]
        if nodes is None:
            raise GraphcleanerError(f"predictions: there is no column {id_name!r}, and there are no nodes whose rows "
                                    f"these could be")
        named, names = True, rows.column_names
        with reading("predictions"):
            array = np.stack([column.to_numpy() for column in rows.columns], axis=1)
    else:
        with reading("predictions"):
            array = np.asarray(predictions)
        if array.ndim != 2:
            raise GraphcleanerError(f"predictions: got an array of {array.ndim} dimensions, want a row for each node "
                                    f"and a column for each class")
        if nodes is None:
            raise GraphcleanerError("predictions: rows of an array are those of the nodes, and there are no nodes: "
                                    "want a frame with ids")
        names = _named(classes) if named else _assumed(graph_classes, categories, array.shape[1], labels or ())
        why = None if named else "labels among the nodes"
    names = list(names)
    if not named:
        names = list(dict.fromkeys(names))
    if len(names) != array.shape[1] and (named or labels is not None):
        wants = ": want classes=model.classes_, or a list of yours" if why else ""
        if why and "-1" in names:
            wants += "; or unlabelled=[-1] if -1 means no label, as in pandas.factorize"
        raise GraphcleanerError(f"predictions: got {array.shape[1]} columns, and {len(names)} {why or 'classes'}: "
                                f"{_listed(names)}{wants}")
    if array.dtype.kind not in "biuf":
        raise GraphcleanerError(f"predictions: got an array of {array.dtype}, want real numbers")
    if len(array) != len(nodes):
        raise GraphcleanerError(f"predictions: got {len(array)} rows for {len(nodes)} nodes: want a row for each "
                                f"node, of NaN where there is "
                                f"none, or a frame with the ids as the column {id_name!r}")
    if len(set(names)) < len(names):
        raise GraphcleanerError("predictions: classes names a class twice")
    if (bad := np.isnan(array) & ~np.isnan(array).all(axis=1, keepdims=True)).any():
        row, column = np.argwhere(bad)[0]
        where = names[column] if named or labels is not None else int(column)  # the store knows the classes
        raise GraphcleanerError(f"predictions, row {row}, column {where!r}: got NaN, want a number, or a row of NaN "
                                f"where there is none")
    if more:
        array = np.concatenate([array, np.full((more, array.shape[1]), np.nan,
                                               np.result_type(array.dtype, np.float32))])
    path = str(Path(folder, "predictions.npy"))
    np.save(path, array.astype(np.float32 if array.dtype.itemsize <= 4 else np.float64, copy=False))
    in_order = names if named or labels is not None and names != class_order(names) else []
    return ["--predictions", path, *_flags("prediction-classes", in_order), *_others(names, labels, nodes)]


def _flags(flag: str, names: Collection[str]) -> list[str]:
    return [f"--{flag}=" + name.replace(",", "\\,") for name in names]


def _others(classes: list[str], labels: Collection[str] | None, nodes: pa.Table | None) -> list[str]:
    """Flags for the classes that no label of a new store has. A label that is none of the classes is refused."""
    import pyarrow as pa

    if labels is None or nodes is None:
        return []
    for label in labels:
        if label not in classes:
            hint = ""
            if label == "-1":
                hint = ": pandas.factorize writes -1 for a missing label, want unlabelled=[-1]"
            elif pa.types.is_integer(_tables.plain(nodes.column("label")).type):
                hint = (f": the labels are numbers, want these as classes, such as range({len(classes)}), "
                        "or the names as labels")
            raise GraphcleanerError(f"predictions: nodes have the label {label!r}, and the classes are "
                                    f"{_listed(classes)}{hint}")
    return _flags("classes", [name for name in classes if name not in labels])


def _placed(predictions: Any, nodes: pa.Table | None, index: Any, id_name: str, append: bool) -> Any:
    """A frame of pandas whose index says which nodes its rows are of, with their ids as its index; else as it is.

    The index may have ids, or labels of the index of the nodes. Nobody may have given it: 0, 1, 2… for the rows of the
    nodes. If several of these fit, they must mean the same nodes. With `append`, any value may be the id of a node in
    the store.
    """
    import numpy as np
    import pandas

    if nodes is None:
        return predictions
    own, rows = predictions.index, np.arange(len(nodes))
    ways: list[tuple[str, Any]] = []  # what to write instead, and the places of the nodes
    with reading("predictions: their index"):
        ids = pandas.Index(nodes.column("id").to_pandas().to_numpy())
        by_id, by_label = _found(own, ids), _found(own, index)
        if (by_id < 0).any():
            by_id = _found(own.map(str), ids.map(str))
        nobodys = own.name is None and own.equals(pandas.RangeIndex(len(own)))
        called = index is not None and own.name is not None and own.name == index.name
        if not called and ((by_id >= 0).all() or append and not nobodys):
            ways.append((f"predictions.rename_axis({id_name!r}) if it has ids", by_id))
        if (by_label >= 0).all():
            ways.append((f"predictions.set_index(nodes.loc[predictions.index, {id_name!r}]) if it is of the index of "
                         f"nodes",
                         by_label))
        if len(own) == len(nodes) and (nobodys or index is not None and own.equals(index)):
            ways.append(("predictions.to_numpy() and classes=list(predictions) if row i is of row i of nodes", rows))
        elif nobodys and ((by_id < 0).any() or (by_label < 0).any() and not np.array_equal(by_id, rows[:len(own)])):
            return predictions  # their rows may be of any nodes
        differ = [how for i, (how, places) in enumerate(ways)
                  if not any(np.array_equal(places, other) for _, other in ways[:i])]
        if len(differ) > 1:
            raise GraphcleanerError(f"predictions: their index fits nodes in ways that differ: want "
                                    f"{', or '.join(differ)}")
        if nobodys and len(own) == len(nodes):
            return predictions
        places = ways[0][1] if ways else by_id
        if places is by_id:
            return predictions.rename_axis(index=id_name)
        return predictions.set_axis(ids[places].rename(id_name))


def _found(values: Any, index: Any) -> Any:
    """The places of values in an index of pandas, -1 for those that it lacks. If one is there twice, none is found."""
    import numpy as np

    if index is None or not index.is_unique or not values.is_unique:
        return np.full(len(values), -1)
    return index.get_indexer(values)


def _named(classes: Any) -> list[str]:
    import pyarrow as pa

    with reading("classes"):
        names = _tables.array(_tables.in_order(classes, "classes"), "classes").cast(pa.string()).to_pylist()
    if None in names:
        raise GraphcleanerError("classes: one of them is missing, want a class for each column of the predictions")
    return names


def _assumed(graph_classes: Any, categories: Any, count: int, labels: Collection[str]) -> list[str]:
    """The classes of the columns of an array whose classes nobody named."""
    if graph_classes is not None:
        return _named(graph_classes)
    names = class_order(labels)
    if categories is None:
        return names
    order = _named(categories)
    return order if len(order) == count else [name for name in order if name in names]


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:_MOST_LISTED])) + (f" and {len(names) - _MOST_LISTED} more"
                                                         if len(names) > _MOST_LISTED else "")
