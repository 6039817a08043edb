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
from .errors import GraphcleanerError, reading

if TYPE_CHECKING:
    import pyarrow as pa

_STEPS = ("import", "clean", "export")
_ANSWER = ("given_label", "suggested_label", "score", "confidence", "is_label_issue", "label_score", "predicted_label")


def clean(nodes: Any, edges: Any = None, predictions: Any = None, classes: Any = None, *, features: Any = None,
          columns: Mapping[str, str] | None = None, edge_columns: Mapping[str, str] | None = None,
          store: str | os.PathLike[str] | None = None, directed: bool = False, logits: bool = False, memory: str | None = None,
          threads: int | None = None, progress: bool = False, **options: Any) -> Any:
    """Gives every label of a graph the chance that it is wrong, and a better label.

    nodes          a frame of pandas or polars, a table of Arrow or a dict of columns: id, label and perhaps split (train, val, test or
                   none). Or an array: the labels of nodes 0, 1, 2… A missing label is an unlabelled node. Or a `Graph`
    edges          the same with src, dst and perhaps weight. Or an array [m, 2], or [2, m]; [2, 2] is taken for the
                   former. A `Graph` has its own
    predictions    probabilities of your own classifier, of nodes that it was not trained on: an array with a row for each node and a
                   column for each class, or a frame whose columns are the classes. None: the program trains a classifier of its own
    classes        the classes of the columns of an array. None: the labels in the order of pandas.factorize, or the classes of the `Graph`
    features       of the nodes, from which the classifier of the program learns: an array or a CSR matrix of scipy with a row for each
                   node, or a frame. A `Graph` has its own
    columns        your names of the columns of nodes: {"id": "paper_id", "label": "subject"}
    edge_columns   your names of the columns of edges: {"src": "source", "dst": "target"}
    store          a new directory that keeps the graph, its scores and all other columns of the nodes, for `open` and for reviews. It is
                   there once the call has ended well
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
    named = _tables.mapping(columns, "columns").get("id", "id")
    table = _tables.nodes_table(nodes, columns)
    ends = _tables.edges_table(edges, edge_columns)
    labels = _labels_of(table)
    rows = None if predictions is None else _predictions.table(predictions, classes, table, named, graph_classes)
    if rows is not None:
        _predictions.check_labels(rows, labels, table)
    if predictions is None and classes is not None:
        raise GraphcleanerError("classes: want predictions with them")
    if predictions is None and logits:
        raise GraphcleanerError("logits: want predictions with it")
    if named in _ANSWER:
        raise GraphcleanerError(f"columns: ids are called {named!r}, which is a column of the answer: rename them")
    if store is not None and os.path.lexists(store):
        raise GraphcleanerError(f"{os.fspath(store)}: there is something already, want a new directory for the store, or open the one that is there")
    chosen = _store.of_user(options)
    # The store is put into its place once all has been done: a failure leaves nothing.
    with _tables.folder(None if store is None else os.fspath(store)) as folder, _bar(progress) as step:
        made = ["--", str(Path(folder, "store"))]
        work = _store.flags(memory=memory, threads=threads)
        stored = table if store is not None else table.select([name for name in table.column_names if name in ("id", "label", "split")])
        arguments = ["import", *work, *_store.flags(directed=directed, logits=logits)]
        arguments += ["--nodes", _tables.write(stored, Path(folder, "nodes.parquet"), "nodes")]
        arguments += ["--edges", _tables.write(ends, Path(folder, "edges.parquet"), "edges")]
        if features is not None:
            arguments += ["--features", _tables.write_features(features, folder, named, len(table))]
        if rows is not None:
            arguments += ["--predictions", _tables.write(rows, Path(folder, "predictions.parquet"), "predictions")]
            arguments += ["--classes=" + name.replace(",", "\\,") for name in _predictions.classes_of(rows) if name not in labels]
        _binary.run([*arguments, *made])
        step()
        _binary.run(["clean", *work, *chosen, *made])
        step()
        # They repeat the warnings of the run.
        scores, suspects = (_store.exported(["export", *work], [*made, what], folder, warns=False) for what in ("scores", "suspects"))
        answer = _tables.as_kind(_answer(table, scores, suspects, named), kind)
        if store is not None:
            try:
                os.rename(made[1], store)
            except OSError as error:
                raise GraphcleanerError(f"{os.fspath(store)}: {error.strerror}, want a new directory for the store") from error
        step()
    return answer


def _labels_of(nodes: pa.Table) -> dict[str, None]:
    """The labels of the nodes, each once, as the program writes them."""
    import pyarrow as pa

    with reading("nodes: column 'label'"):
        column = _tables.plain(nodes.column("label"))
        pa.array([], pa.string()).cast(column.type)  # in which the answer will be
        labels = dict.fromkeys(label for label in column.cast(pa.string()).unique().to_pylist() if label)
    if not labels:
        raise GraphcleanerError("nodes: no node has a label, want one for some of them")
    return labels


def _answer(nodes: pa.Table, scores: pa.Table, suspects: pa.Table, named: str) -> pa.Table:
    """The frame of scores, with ids and labels typed as in the nodes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    labels = _tables.plain(nodes.column("label")).type
    given, suggested = _typed(scores["given_label"], labels), _typed(scores["suggested_label"], labels)
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
    return pa.table(answer)


def _typed(labels: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Labels, as the program writes them, as the type that they had."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):  # which the program writes in UTC
        labels = labels.cast(pa.timestamp(kind.unit, "UTC"))
    return labels.cast(kind)


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
