"""Predictions of a classifier, as the program reads them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from . import _tables
from ._column_order import Matches
from ._rules import class_order
from .errors import GraphcleanerError, reading

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger("graphcleaner")


def table(predictions: Any, classes: Any, nodes: pa.Table | None, id_name: str, graph_classes: Any = None) -> pa.Table:
    """Predictions with a column id and a column a class.

    A frame names its classes by its columns, and its nodes by a column of ids if it has one. Without that, and in an array, the rows are
    those of the nodes. The columns of an array are `classes`, else the classes of the `Graph`, else the labels in the order in which they
    come first, as pandas.factorize numbers them.
    """
    import numpy as np
    import pyarrow as pa

    if not names_classes(predictions):
        with reading("predictions"):
            array = np.asarray(predictions)
        if array.ndim != 2:
            raise GraphcleanerError(f"predictions: got an array of {array.ndim} dimensions, want a row for each node and a column for each class")
        if nodes is None:
            raise GraphcleanerError("predictions: rows of an array are those of the nodes, and there are no nodes: want a frame with ids")
        if classes is not None:
            names, why = _named(classes), None
        elif graph_classes is not None:
            names, why = _named(graph_classes), ", as the Graph has them"
        else:
            names, why = _first_come(nodes), ", as the labels come first"
        if len(names) != array.shape[1]:
            raise GraphcleanerError(
                f"predictions: got {array.shape[1]} columns, and {len(names)} {'labels among the nodes' if why else 'classes'}: {_listed(names)}"
                f"{': want classes=…' if why else ''}")
        if array.dtype.kind not in "biuf":
            raise GraphcleanerError(f"predictions: got an array of {array.dtype}, want real numbers")
        array = array.astype(np.float32 if array.dtype.itemsize <= 4 else np.float64, copy=False)
        if len(array) == len(nodes) > 0 < len(names) == len(set(names)):
            _check_order(array, names, nodes, why)
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


def check_labels(predictions: pa.Table, labels: Collection[str], nodes: pa.Table) -> None:
    """Refuses a label of the nodes that is none of the classes."""
    import pyarrow as pa

    classes = classes_of(predictions)
    for label in labels:
        if label not in classes:
            hint = ""
            if label == "-1":
                hint = ": pandas.factorize writes -1 for a missing label, want null there"
            elif pa.types.is_integer(_tables.plain(nodes.column("label")).type):
                hint = f": the labels are numbers, want these as classes, such as range({len(classes)}), or the names as labels"
            raise GraphcleanerError(f"predictions: nodes have the label {label!r}, and the classes are {_listed(classes)}{hint}")


def _named(classes: Any) -> list[str]:
    import pyarrow as pa

    with reading("classes"):
        names = _tables.array(_tables.in_order(classes, "classes"), "classes").cast(pa.string()).to_pylist()
    if None in names:
        raise GraphcleanerError("classes: one of them is missing, want a class for each column of the predictions")
    return names


def _first_come(nodes: pa.Table) -> list[str]:
    """The labels in the order in which they come first."""
    import pyarrow.compute as pc

    labels = _tables.texts(nodes.column("label")).drop_null()
    return pc.unique(labels.filter(pc.not_equal(labels, ""))).to_pylist()


def _check_order(array: Any, names: list[str], nodes: pa.Table, why: str | None) -> None:
    """Compares the largest prediction of each node with its label.

    `why` says why the columns are taken for these classes where nobody named them. Then another order is an error, and so is that of the
    sorted labels, which a classifier may well have meant, as soon as it fits better. Classes that the caller named are warned of.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    labels = pc.index_in(_tables.texts(nodes.column("label")), value_set=pa.array(names, pa.string())).fill_null(-1)
    matches = Matches(labels.to_numpy(), array)
    better, taken = matches.better(), list(range(len(names)))
    if why and better is None:
        place = {name: i for i, name in enumerate(names)}
        better = [place[name] for name in class_order(names)]
        if matches.of(better) <= matches.of(taken):
            return
    if better is None:
        return
    says = (f"predictions: the largest of each row is the label of {matches.of(taken)} of {matches.nodes} nodes if the columns are "
            f"{_listed(names)}{why or ', as classes says'}, and of {matches.of(better)} if they are {_listed([names[i] for i in better])}")
    if why:
        raise GraphcleanerError(f"{says}: say which with classes=…")
    _log.warning("%s", says)


def _listed(names: list[str]) -> str:
    most = 20
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")
