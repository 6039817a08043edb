"""Predictions of a classifier, as the program reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _tables
from ._rules import class_order
from .errors import GraphcleanerError

if TYPE_CHECKING:
    import pyarrow as pa


def table(predictions: Any, classes: Any, nodes: pa.Table | None, id_name: str) -> pa.Table:
    """Predictions with a column id and a column a class.

    A frame names its classes by its columns, and its nodes by a column of ids if it has one. Without that, and in an array, the rows are
    those of the nodes. The columns of an array are `classes`, else the labels in the order in which they come first, as pandas.factorize
    numbers them.
    """
    import numpy as np
    import pyarrow as pa

    if not names_classes(predictions):
        array = np.asarray(predictions)
        if array.ndim != 2:
            raise GraphcleanerError(f"predictions: got an array of {array.ndim} dimensions, want a row for each node and a column for each class")
        if nodes is None:
            raise GraphcleanerError("predictions: rows of an array are those of the nodes, and there are no nodes: want a frame with ids")
        names = _named(classes) if classes is not None else _first_come(array, nodes)
        if len(names) != array.shape[1]:
            raise GraphcleanerError(
                f"predictions: got {array.shape[1]} columns, and {len(names)} {'classes' if classes is not None else 'labels among the nodes: want classes=…'}")
        array = array.astype(np.float32 if array.dtype.itemsize <= 4 else np.float64, copy=False)
        frame = {name: np.ascontiguousarray(array[:, i]) for i, name in enumerate(names)}
        if len(frame) < len(names):
            raise GraphcleanerError("predictions: classes names a class twice")
        rows = _tables.to_table(frame, "predictions")
    else:
        if classes is not None:
            raise GraphcleanerError("predictions: a frame names its classes by its columns: want classes with an array alone")
        if hasattr(predictions, "rename") and hasattr(predictions, "index"):
            predictions = predictions.rename(columns=str)
        rows = _tables.to_table(predictions, "predictions", [id_name])
        if id_name in rows.column_names:
            return rows.rename_columns(["id" if name == id_name else name for name in rows.column_names])
    if nodes is None:
        raise GraphcleanerError(f"predictions: there is no column {id_name!r}, and there are no nodes whose rows these could be")
    if rows.num_rows != nodes.num_rows:
        raise GraphcleanerError(f"predictions: got {rows.num_rows} rows for {nodes.num_rows} nodes")
    if "id" in rows.column_names:
        raise GraphcleanerError("predictions: a class is called 'id', which is the name of the column of ids")
    return rows.add_column(0, "id", nodes.column("id"))


def names_classes(predictions: Any) -> bool:
    """Whether predictions are a frame, which names its classes, and no array."""
    return hasattr(predictions, "columns") or isinstance(predictions, Mapping)


def classes_of(predictions: pa.Table) -> list[str]:
    """The classes that a table of predictions has columns of."""
    return [name for name in predictions.column_names if name != "id"]


def _named(classes: Any) -> list[str]:
    import pyarrow as pa

    values = list(classes) if isinstance(classes, Sequence) else pa.array(classes, from_pandas=True).to_pylist()
    names = _tables.texts(pa.chunked_array([pa.array(values)])).to_pylist()
    if None in names:
        raise GraphcleanerError("classes: one of them is missing, want a class for each column of the predictions")
    return names


def _first_come(array: Any, nodes: pa.Table) -> list[str]:
    """The labels in the order in which they come first. The sorted order is refused, which a classifier may well have meant."""
    import numpy as np
    import pyarrow.compute as pc

    labels = _tables.texts(nodes.column("label"))
    labels = pc.if_else(pc.equal(labels, ""), None, labels)
    names = pc.unique(labels.drop_null()).to_pylist()
    if len(names) != array.shape[1] or len(array) != len(labels):
        return names
    ordered = class_order(names)
    most = np.argmax(array, axis=1)
    given = np.asarray(labels.to_pylist(), dtype=object)
    share = {}
    for order, of in (("come", names), ("sorted", ordered)):
        share[order] = float(np.mean(np.asarray(of, dtype=object)[most] == given))
    if share["sorted"] > share["come"]:
        raise GraphcleanerError(
            f"predictions: the largest of each row is the label of {share['come']:.0%} of nodes if the columns are the labels in the order in "
            f"which they come first, and of {share['sorted']:.0%} if they are sorted: say which with classes=…")
    return names
