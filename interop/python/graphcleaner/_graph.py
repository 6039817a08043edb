"""A labelled graph in arrays, which the readers of other formats make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _tables
from ._rules import SPLIT_NAMES, SPLITS, class_order
from .errors import GraphcleanerError, reading, short

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, repr=False)
class Graph:
    """A labelled graph of n nodes, m edges, c classes and d features. `clean` takes one in place of nodes and edges.

    ids         [n], of the nodes in their order
    classes     [c], in the order of graphcleaner: as numbers where all are numbers, else by bytes
    labels      [n] int64, the number of the class, -1 where there is no label
    edges       [2, m] int64, the places of both ends in ids
    features    [n, d] float32, CSR of scipy or dense; None where there are none
    splits      [n] int8, places in ("none", "train", "val", "test"); None where there are none
    weights     [m], of the edges; None where they have none
    directed    an edge leads from edges[0] to edges[1]
    properties  other columns of the nodes, each [n]

    >>> nodes, edges = {"id": ["a", "b", "c"], "label": ["x", "y", "x"]}, {"src": ["a", "b"], "dst": ["b", "c"]}
    >>> graph = graphcleaner.Graph.of(nodes, edges)
    >>> graph.classes, graph.labels.tolist(), graph.edges.tolist()
    (['x', 'y'], [0, 1, 0], [[0, 1], [1, 2]])
    """

    ids: Sequence[Any]
    classes: Sequence[Any]
    labels: np.ndarray
    edges: np.ndarray
    features: Any = None
    splits: np.ndarray | None = None
    weights: np.ndarray | None = None
    directed: bool = False
    properties: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    @short
    def of(cls, nodes: Any, edges: Any, features: Any = None, *, columns: Mapping[str, str] | None = None,
           edge_columns: Mapping[str, str] | None = None, directed: bool = False, edge_nodes: bool = False) -> Graph:
        """Makes a graph of the frames that `clean` takes. Features are an array with a row for each node, those of
        edge_nodes last.
        """
        import pyarrow.compute as pc

        if hasattr(features, "columns"):
            raise GraphcleanerError(f"features: got {type(features).__name__}, want an array with a row for each node")
        table, ends = _tables.nodes_table(nodes, columns), _tables.edges_table(edges, edge_columns)
        if edge_nodes:
            table = _tables.with_ends(table, ends)
        ids = _tables.plain(table["id"])
        if len(pc.unique(ids)) < len(ids):
            counts = pc.value_counts(ids)
            again = counts.field("values").filter(pc.greater(counts.field("counts"), 1))[0]
            raise GraphcleanerError(f"nodes: got id {again.as_py()!r} again, want every id once")
        places = []
        for end in ("src", "dst"):
            column = _tables.plain(ends[end])
            with reading(f"edges: column {end!r}"):
                found = pc.index_in(column.cast(ids.type), value_set=ids.combine_chunks())
            if found.null_count:
                unknown = column.filter(found.is_null())[0].as_py()
                raise GraphcleanerError(f"edges: unknown node {unknown!r}, want an id of the nodes, or edge_nodes=True")
            places.append(found.to_numpy().astype(np.int64))
        splits = table["split"].to_pylist() if "split" in table.column_names else None
        classes, labels = numbered(table["label"])
        return cls(
            ids=ids.to_pylist(), classes=classes, labels=labels, edges=np.stack(places),
            features=None if features is None else _tables.features_of(features, len(ids)),
            splits=None if splits is None else split_numbers(splits),
            weights=ends["weight"].to_numpy() if "weight" in ends.column_names else None, directed=directed,
            properties={name: table[name] for name in table.column_names if name not in ("id", "label", "split")})

    def __repr__(self) -> str:
        labelled = int((self.labels >= 0).sum())
        return (f"<Graph of {self.num_nodes} nodes, {labelled} labelled, {len(self.classes)} classes, "
                f"{self.edges.shape[1]} edges>")

    @property
    def num_nodes(self) -> int:
        return len(self.ids)

    def frames(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Nodes and edges as columns, by the names of the program."""
        import pyarrow as pa

        ids, classes = _tables.array(self.ids, "ids"), _tables.array(self.classes, "classes")
        nodes = {"id": ids, "label": classes.take(pa.array(self.labels, mask=self.labels < 0))}
        if self.splits is not None:
            nodes["split"] = pa.array(SPLITS).take(pa.array(self.splits))
        nodes.update(self.properties)
        edges = {"src": ids.take(pa.array(self.edges[0])), "dst": ids.take(pa.array(self.edges[1]))}
        if self.weights is not None:
            edges["weight"] = self.weights
        return nodes, edges

    def adjacency(self) -> Any:
        """The simple undirected graph, a CSR matrix [n, n] of scipy: ones, or the weights of each pair added up."""
        from scipy import sparse

        between = self.edges[0] != self.edges[1]
        src, dst = self.edges[:, between]
        weights = np.ones(len(src), np.float32) if self.weights is None else self.weights[between].astype(np.float32)
        a = sparse.csr_matrix((np.r_[weights, weights], (np.r_[src, dst], np.r_[dst, src])),
                              shape=(self.num_nodes,) * 2)
        if self.weights is None:
            a.data[:] = 1
        return a


def numbered(labels: Any, what: str = "nodes: column 'label'") -> tuple[list[Any], np.ndarray]:
    """The classes of labels in the order of graphcleaner, and the number of the class of each, -1 where there is
    none.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = _tables.texts(labels, what)
    texts = pc.if_else(pc.equal(texts, ""), None, texts)
    names = class_order(pc.unique(texts.drop_null()).to_pylist())
    order = pa.array(names, pa.string())
    places = pc.index_in(texts, value_set=order, skip_nulls=True).fill_null(-1).to_numpy().astype(np.int64)
    return order.cast(_tables.plain(labels).type).to_pylist(), places


def split_numbers(names: Sequence[Any]) -> np.ndarray:
    """Splits as their places in SPLITS."""
    try:
        return np.array([SPLIT_NAMES["" if name is None else str(name).lower()] for name in names], np.int8)
    except KeyError as error:
        raise GraphcleanerError(f"nodes: split {error.args[0]}: want train, val, test or none") from error
