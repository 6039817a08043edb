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
_MOST_LISTED = 20


def table(predictions: Any, classes: Any, nodes: pa.Table | None, id_name: str, graph_classes: Any = None, index: Any = None,
          categories: Any = None) -> pa.Table:
    """Predictions with a column id and a column a class.

    A frame names its classes by its columns, and its nodes by a column of ids or an index. Without these, and in an array, the rows are
    those of the nodes. The columns of an array are `classes`, else the classes of the `Graph`, else the categories of the labels, else the
    labels sorted. `index` and `categories` are those of nodes in pandas.
    """
    import numpy as np

    if names_classes(predictions):
        if classes is not None:
            raise GraphcleanerError("predictions: a frame names its classes by its columns: want classes with an array alone")
        if hasattr(predictions, "rename") and hasattr(predictions, "index"):
            predictions = predictions.rename(columns=str)
            if id_name not in (*predictions.columns, *predictions.index.names):
                predictions = _placed(predictions, nodes, index, id_name)
        rows = _tables.to_table(predictions, "predictions", [id_name])
        if id_name in rows.column_names:
            return rows.rename_columns(["id" if name == id_name else name for name in rows.column_names])
    else:
        with reading("predictions"):
            array = np.asarray(predictions)
        if array.ndim != 2:
            raise GraphcleanerError(f"predictions: got an array of {array.ndim} dimensions, want a row for each node and a column for each class")
        if nodes is None:
            raise GraphcleanerError("predictions: rows of an array are those of the nodes, and there are no nodes: want a frame with ids")
        names, why = _columns(classes, graph_classes, nodes, categories, array.shape[1])
        if len(names) != array.shape[1]:
            raise GraphcleanerError(
                f"predictions: got {array.shape[1]} columns, and {len(names)} {'labels among the nodes' if why else 'classes'}: {_listed(names)}"
                f"{': want classes=model.classes_, or a list of yours' if why else ''}")
        if array.dtype.kind not in "biuf":
            raise GraphcleanerError(f"predictions: got an array of {array.dtype}, want real numbers")
        array = array.astype(np.float32 if array.dtype.itemsize <= 4 else np.float64, copy=False)
        if len(array) == len(nodes) > 0 < len(names) == len(set(names)):
            _check_order(array, names, nodes, why)
        columns = {name: np.ascontiguousarray(array[:, i]) for i, name in enumerate(names)}
        if len(columns) < len(names):
            raise GraphcleanerError("predictions: classes names a class twice")
        rows = _tables.to_table(columns, "predictions")
    if nodes is None:
        raise GraphcleanerError(f"predictions: there is no column {id_name!r}, and there are no nodes whose rows these could be")
    if rows.num_rows != nodes.num_rows:
        raise GraphcleanerError(f"predictions: got {rows.num_rows} rows for {nodes.num_rows} nodes: want a row for each node, of NaN where there "
                                "is none, or a frame with the ids as a column or index")
    if "id" in rows.column_names:
        raise GraphcleanerError("predictions: a class is called 'id', which is the name of the column of ids")
    return rows.add_column(0, "id", nodes.column("id"))


def _placed(predictions: Any, nodes: pa.Table | None, index: Any, id_name: str) -> Any:
    """A frame of pandas whose index says which nodes its rows are of, with their ids as its index; else as it is."""
    import pandas

    own = predictions.index
    if nodes is None or index is not None and own.equals(index):
        return predictions
    if own.equals(pandas.RangeIndex(len(own))):  # nobody gave it one: the rows are those of the nodes
        if index is not None and len(own) == len(index) and own.isin(index).all():
            raise GraphcleanerError("predictions: their index has the numbers of that of the nodes in another order: want "
                                    "predictions.set_axis(nodes.index) if row i is of row i of the nodes, else predictions.loc[nodes.index]")
        return predictions
    with reading("predictions: their index"):
        if index is not None and index.is_unique and own.isin(index).all():
            return predictions.set_axis(pandas.Index(nodes.column("id").to_pandas().to_numpy()[index.get_indexer(own)], name=id_name))
        return predictions.rename_axis(index=id_name)


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


def _columns(classes: Any, graph_classes: Any, nodes: pa.Table, categories: Any, count: int) -> tuple[list[str], str | None]:
    """The classes of the columns of an array, and why they are these, where nobody named them."""
    import pyarrow.compute as pc

    if classes is not None:
        return _named(classes), None
    if graph_classes is not None:
        return _named(graph_classes), "in the order of graph.classes"
    labels = _tables.texts(nodes.column("label"), "nodes: column 'label'").drop_null()
    names = class_order(pc.unique(labels.filter(pc.not_equal(labels, ""))).to_pylist())
    if categories is not None:
        order = _named(categories)
        return order if len(order) == count else [name for name in order if name in names], "in the order of the categories"
    return names, "in sorted order"


def _check_order(array: Any, names: list[str], nodes: pa.Table, why: str | None) -> None:
    """Compares the largest prediction of each node with its label.

    `why` says why the columns are taken for these classes where nobody named them. Then another order is an error, and so is that of the
    sorted labels, which a classifier may well have meant, as soon as it fits better. Classes that the caller named are warned of.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    labels = pc.index_in(_tables.texts(nodes.column("label"), "nodes: column 'label'"), value_set=pa.array(names, pa.string())).fill_null(-1)
    matches = Matches(labels.to_numpy(), array)
    better, taken = matches.better(), list(range(len(names)))
    if why and better is None:
        place = {name: i for i, name in enumerate(names)}
        better = [place[name] for name in class_order(names)]
        if matches.of(better) <= matches.of(taken):
            return
    if better is None:
        return
    order = [names[i] for i in better]
    says = (f"predictions: with the columns {why or 'as classes says'} ({_listed(names)}), the top class is the label of {matches.of(taken)} of "
            f"{matches.nodes} nodes, and of {matches.of(better)} in the order {_listed(order)}")
    if why:
        raise GraphcleanerError(f"{says}. Pass classes=model.classes_" + (f", or classes={order}" if len(order) <= _MOST_LISTED else ""))
    _log.warning("%s", says)


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:_MOST_LISTED])) + (f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else "")
