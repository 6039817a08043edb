"""From frames to suspects in one call."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _binary, _predictions, _store, _tables
from ._graph import Graph
from .errors import GraphcleanerError

if TYPE_CHECKING:
    import pyarrow as pa

_STEPS = ("import", "clean", "export")


def clean(nodes: Any, edges: Any = None, predictions: Any = None, classes: Any = None, *, features: Any = None,
          columns: Mapping[str, str] | None = None, edge_columns: Mapping[str, str] | None = None,
          store: str | os.PathLike[str] | None = None, directed: bool = False, logits: bool = False, memory: str | None = None,
          threads: int | None = None, progress: bool = False, **options: Any) -> Any:
    """Gives every label of a graph the chance that it is wrong, and a better label.

    nodes          a frame of pandas or polars, a table of Arrow or a dict of columns: id, label and perhaps split (train, val, test or
                   none). Or an array: the labels of nodes 0, 1, 2… A missing label is an unlabelled node. Or a `Graph`
    edges          the same with src, dst and perhaps weight. Or an array [m, 2], or [2, m]. A `Graph` has its own
    predictions    probabilities of your own classifier, of nodes that it was not trained on: an array with a row for each node and a
                   column for each class, or a frame whose columns are the classes. None: the program trains a classifier of its own
    classes        the classes of the columns of an array. None: the labels in the order of pandas.factorize, or the classes of the `Graph`
    features       of the nodes, from which the classifier of the program learns: an array or a CSR matrix of scipy with a row for each
                   node, or a frame. A `Graph` has its own
    columns        your names of the columns of nodes: {"id": "paper_id", "label": "subject"}
    edge_columns   your names of the columns of edges: {"src": "source", "dst": "target"}
    store          a new directory that keeps the graph, its scores and all other columns of the nodes, for `open` and for reviews
    progress       show a bar of tqdm
    options        flags of `graphcleaner clean`: hops=2, seed=7, expect=0.1, as_given=True

    The frame that comes back is of the kind of `nodes`, and has their order. Its columns:

    your id        the id of the node
    given_label, suggested_label
    score          the chance that the given label is wrong; null without a label
    confidence     of the suggested label
    is_label_issue the node is a suspect: its score is above the threshold of the run, and another label is suggested
    label_score    1 - score, as cleanlab counts: the lowest are the worst
    predicted_label  suggested_label under cleanlab's name
    """
    kind, graph_classes = _tables.kind_of(nodes), None
    if isinstance(nodes, Graph):
        for name, given in (("edges", edges), ("columns", columns), ("edge_columns", edge_columns), ("features", features)):
            if given is not None:
                raise GraphcleanerError(f"{name}: a Graph has its own, want none beside it")
        directed, features = directed or nodes.directed, nodes.features
        graph_classes = nodes.classes
        nodes, edges = nodes.frames()
    elif edges is None:
        raise GraphcleanerError("edges: got none, want a frame, an array, or a Graph in place of the nodes")
    named = (columns or {}).get("id", "id")
    table = _tables.nodes_table(nodes, columns)
    ends = _tables.edges_table(edges, edge_columns)
    if all(label in (None, "") for label in _tables.texts(table.column("label")).unique().to_pylist()):
        raise GraphcleanerError("nodes: no node has a label, want one for some of them")
    rows = None if predictions is None else _predictions.table(predictions, classes, table, named, graph_classes)
    if predictions is None and classes is not None:
        raise GraphcleanerError("classes: want predictions with them")
    if predictions is None and logits:
        raise GraphcleanerError("logits: want predictions with it")
    with _tables.folder() as folder, _bar(progress) as step:
        kept = os.fspath(store) if store is not None else str(Path(folder, "store"))
        if os.path.exists(kept):
            raise GraphcleanerError(f"{kept}: there is something already, want a new directory for the store, or open the one that is there")
        work = _store.flags(memory=memory, threads=threads)
        stored = table if store is not None else table.select([name for name in table.column_names if name in ("id", "label", "split")])
        arguments = ["import", kept, *work, *_store.flags(directed=directed, logits=logits)]
        arguments += ["--nodes", _tables.write(stored, Path(folder, "nodes.parquet"), "nodes")]
        arguments += ["--edges", _tables.write(ends, Path(folder, "edges.parquet"), "edges")]
        if features is not None:
            arguments += ["--features", _tables.write_features(features, folder, named, len(table))]
        if rows is not None:
            arguments += ["--predictions", _tables.write(rows, Path(folder, "predictions.parquet"), "predictions")]
            given = set(_tables.texts(table.column("label")).unique().to_pylist())
            if more := [name for name in _predictions.classes_of(rows) if name not in given]:
                arguments.append("--classes=" + ",".join(name.replace("\\", "\\\\").replace(",", "\\,") for name in more))
        _binary.run(arguments)
        step()
        _binary.run(["clean", kept, *work, *_store.flags(**options)])
        step()
        scores = _store.exported(["export", kept, "scores", *work], folder)
        suspects = _store.exported(["export", kept, "suspects", *work], folder)
        step()
    return _tables.as_kind(_answer(table, scores, suspects, named), kind)


def _answer(nodes: pa.Table, scores: pa.Table, suspects: pa.Table, named: str) -> pa.Table:
    """The frame of scores, with ids and labels typed as in the nodes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    labels = _tables.plain(nodes.column("label")).type
    given, suggested = scores["given_label"].cast(labels), scores["suggested_label"].cast(labels)
    answer = {
        named: nodes.column("id"),
        "given_label": given,
        "suggested_label": suggested,
        "score": scores["score"],
        "confidence": scores["confidence"],
        "is_label_issue": pc.is_in(scores["id"], suspects["id"].combine_chunks()),
        "label_score": pc.subtract(1.0, scores["score"]),
        "predicted_label": suggested,
    }
    if named in ("given_label", "suggested_label", "score", "confidence", "is_label_issue", "label_score", "predicted_label"):
        raise GraphcleanerError(f"columns: ids are called {named!r}, which is a column of the answer: rename them")
    return pa.table(answer)


@contextmanager
def _bar(shown: bool) -> Iterator[Any]:
    """A bar over the steps, and what ends one."""
    if not shown:
        yield lambda: None
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a notebook without ipywidgets, where the bar is text
            from tqdm.auto import tqdm
    except ImportError as error:
        raise GraphcleanerError("progress=True wants tqdm: pip install tqdm") from error
    with tqdm(total=len(_STEPS), desc=_STEPS[0], unit="step") as bar:
        def step() -> None:
            bar.update()
            if bar.n < len(_STEPS):
                bar.set_description(_STEPS[bar.n])

        yield step
