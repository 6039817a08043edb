"""Graphs of NetworkX and of PyTorch Geometric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _tables
from ._graph import Graph, numbered, split_numbers
from ._rules import SPLITS, class_order
from .errors import GraphcleanerError, reading, short


@short
def from_networkx(G: Any, label: str = "label", *, split: str | None = None, weight: str | None = None,
                  properties: Sequence[str] | None = None) -> Graph:
    """Takes a graph of NetworkX, for `clean`.

    label       the attribute of nodes that has their label. A node without it is unlabelled
    split       the attribute of nodes that has train, val, test or none
    weight      the attribute of edges that has their weight; an edge without it has the weight 1, as in NetworkX
    properties  other attributes of nodes to keep; None: all of them

    Parallel edges count once, or by the sum of their weights. A node that is no text and no whole number has its text
    as id. The same of two nodes is an error.

    The nodes have the order of G.nodes, which `graph.ids` has, and which need not be that of your frame. So give
    `clean` predictions as a frame whose index has the ids: `clean(graph, predictions=pandas.DataFrame(softmax,
    index=papers.id, columns=model.classes_))`.

    >>> import networkx
    >>> G = networkx.Graph([(("x", 1), ("x", 2)), (("x", 2), ("y", 1))])
    >>> networkx.set_node_attributes(G, {("x", 1): "red", ("x", 2): "blue"}, "colour")
    >>> graph = graphcleaner.from_networkx(G, label="colour")
    >>> graph.ids, graph.classes, graph.labels.tolist()
    (["('x', 1)", "('x', 2)", "('y', 1)"], ['blue', 'red'], [1, 0, -1])
    """
    rows = list(G.nodes(data=True))
    ids = _ids([node for node, _ in rows])
    if rows and not any(label in values for _, values in rows):
        known = sorted({str(name) for _, values in rows for name in values})
        raise GraphcleanerError(f"nodes: none has the attribute {label!r}, they have "
                                f"{', '.join(map(repr, known)) or 'no attributes'}: want label=…")
    what = f"nodes: attribute {label!r}"
    classes, labels = numbered(_column([values.get(label) for _, values in rows], what), what)
    if properties is None:
        properties = [name for name in dict.fromkeys(name for _, values in rows for name in values)
                      if name not in (label, split)]
    kept = {}
    for name in properties:
        if str(name) in ("id", "label", "split") or str(name) in kept:
            raise GraphcleanerError(f"nodes: the attribute {name!r} would be called as a column that is there: want "
                                    f"properties=[…] without it")
        kept[str(name)] = _column([values.get(name) for _, values in rows], f"attribute {name!r}")
    place = {node: i for i, (node, _) in enumerate(rows)}
    ends = np.array([(place[u], place[v]) for u, v in G.edges()], np.int64).reshape(-1, 2).T
    weights = None
    if weight is not None:
        given = [w for _, _, w in G.edges(data=weight)]
        if given and all(w is None for w in given):
            known = sorted({str(name) for _, _, values in G.edges(data=True) for name in values})
            raise GraphcleanerError(f"edges: none has the attribute {weight!r}, they have "
                                    f"{', '.join(map(repr, known)) or 'no attributes'}")
        with reading(f"edges: attribute {weight!r}"):
            weights = np.array([1.0 if w is None else float(w) for w in given])
    return Graph(
        ids=ids, classes=classes, labels=labels, edges=np.ascontiguousarray(ends), weights=weights,
        directed=G.is_directed(), properties=kept,
        splits=None if split is None else split_numbers([values.get(split) for _, values in rows]))


@short
def from_pyg(data: Any, *, ids: Sequence[Any] | None = None, classes: Sequence[Any] | None = None,
             directed: bool = False) -> Graph:
    """Takes a graph of PyTorch Geometric (`torch_geometric.data.Data`), for `clean`.

    x becomes the features, y the labels (below 0 or NaN: none), train_mask, val_mask and test_mask the splits,
    edge_weight the weights.

    ids       names of the nodes; None: 0, 1, 2…
    classes   names of the classes of y, by their numbers; None: the numbers themselves
    directed  whether edges have a direction
    """
    if not hasattr(data, "edge_index") or getattr(data, "edge_index", None) is None or not hasattr(data, "num_nodes"):
        raise GraphcleanerError(f"data: got {type(data).__name__} without edge_index, want a Data of PyTorch "
                                f"Geometric, of one kind of nodes")
    n = int(data.num_nodes)
    ids = list(range(n)) if ids is None else _ids(list(_tables.in_order(ids, "ids")))
    if len(ids) != n:
        raise GraphcleanerError(f"ids: got {len(ids)}, want one for each of {n} nodes")
    if getattr(data, "y", None) is None:
        raise GraphcleanerError("data: there is no y, want the labels")
    y = _numbers(data.y)
    if y.shape not in ((n,), (n, 1)):
        raise GraphcleanerError(f"data: got y of shape {y.shape}, want one label for each of {n} nodes")
    y = y.reshape(n)
    codes = np.where(np.isfinite(y) & (y >= 0), y, -1).astype(np.int64)
    if (codes[codes >= 0] != y[codes >= 0]).any():
        raise GraphcleanerError("data: y has numbers that are not whole, want those of classes")
    most = int(codes.max(initial=-1)) + 1
    names = _ids(list(range(most) if classes is None else _tables.in_order(classes, "classes")), "classes")
    if len(names) < most:
        raise GraphcleanerError(f"classes: got {len(names)}, and y has the number {most - 1}")
    # The order of graphcleaner, which that of y need not be.
    place = {name: j for j, name in enumerate(class_order(list(map(str, names))))}
    sorted_names = sorted(names, key=lambda name: place[str(name)])
    number = np.array([place[str(name)] for name in names] + [-1], np.int64)

    splits = None
    for at, name in enumerate(SPLITS[1:], 1):
        mask = getattr(data, f"{name}_mask", None)
        if mask is None:
            continue
        mask = _numbers(mask)
        if mask.shape != (n,):
            raise GraphcleanerError(f"data: got {name}_mask of shape {mask.shape}, want [{n}]: choose one of several "
                                    f"splits first")
        splits = np.zeros(n, np.int8) if splits is None else splits
        splits[mask.astype(bool)] = at
    ends, weights = _numbers(data.edge_index).astype(np.int64), getattr(data, "edge_weight", None)
    weights = None if weights is None else _numbers(weights).reshape(-1)
    if ends.size and not 0 <= ends.min() <= ends.max() < n:
        raise GraphcleanerError(f"data: edge_index has numbers from {ends.min()} to {ends.max()}, want nodes from 0 "
                                f"to {n - 1}")
    if not directed and data.is_undirected():  # each edge is there in both directions
        once = ends[0] <= ends[1]
        ends, weights = ends[:, once], None if weights is None else weights[once]
    x = getattr(data, "x", None)
    return Graph(ids=ids, classes=sorted_names, labels=number[codes], edges=np.ascontiguousarray(ends), weights=weights,
                 directed=directed,
                 splits=splits, features=None if x is None else _tables.features_of(_numbers(x), n))


@short
def to_pyg(graph: Graph) -> Any:
    """Makes a `torch_geometric.data.Data`: x, edge_index, y (-1 without a label), train_mask, val_mask, test_mask,
    edge_weight.

    What the graph has not is left out. Masks are of labelled nodes. Without directions, edge_index has each edge in
    both of them. The numbers of y are places in `graph.classes`.
    """
    try:
        import torch
        from torch_geometric.data import Data
    except ImportError as error:
        raise GraphcleanerError(f"to_pyg wants {error.name}: pip install 'graphcleaner[pyg]'") from error
    data = Data(y=torch.from_numpy(graph.labels), num_nodes=graph.num_nodes)
    if graph.directed:
        data.edge_index = torch.from_numpy(np.ascontiguousarray(graph.edges))
        weights = graph.weights
    else:
        a = graph.adjacency().tocoo()
        data.edge_index = torch.from_numpy(np.stack([a.row, a.col]).astype(np.int64))
        weights = None if graph.weights is None else a.data
    if weights is not None:
        data.edge_weight = torch.from_numpy(np.asarray(weights, np.float32))
    if graph.features is not None:
        dense = graph.features.toarray() if hasattr(graph.features, "toarray") else graph.features
        data.x = torch.from_numpy(np.ascontiguousarray(dense, np.float32))
    if graph.splits is not None:
        for place, name in enumerate(SPLITS[1:], 1):
            data[f"{name}_mask"] = torch.from_numpy((graph.splits == place) & (graph.labels >= 0))
    return data


def _ids(values: list[Any], what: str = "nodes") -> list[Any]:
    """Values as whole numbers if all of them are, else as texts."""
    if all(isinstance(value, (int, np.integer)) and not isinstance(value, bool) for value in values):
        kept: list[Any] = [int(value) for value in values]
    else:
        kept = [str(value) for value in values]
    if len(set(kept)) < len(kept):
        seen: dict[Any, Any] = {}
        for name, value in zip(kept, values):
            if name in seen:
                raise GraphcleanerError(f"{what}: {seen[name]!r} and {value!r} are both written {name!r}, want names "
                                        f"that differ")
            seen[name] = value
    return kept


def _column(values: list[Any], what: str) -> Any:
    """Values as a column, as texts if they are of several kinds."""
    import pyarrow as pa

    try:
        column = pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        column = pa.array([None if value is None or isinstance(value, float) and value != value else str(value)
                           for value in values])
    return _tables.array(column, what)


def _numbers(tensor: Any) -> np.ndarray:
    """A tensor, or an array, as an array."""
    if hasattr(tensor, "detach"):
        tensor = tensor.detach()
        tensor = (tensor.to_dense() if hasattr(tensor, "to_dense") and str(tensor.layout) != "torch.strided"
                  else tensor).cpu().numpy()
    return np.asarray(tensor)
