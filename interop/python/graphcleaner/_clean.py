"""From frames to suspects in one call."""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _binary, _predictions, _store, _tables
from ._graph import Graph
from .errors import GraphcleanerError, short

if TYPE_CHECKING:
    import pyarrow as pa

_STEPS = ("import", "clean", "export")
_ANSWER = ("given_label", "suggested_label", "score", "confidence", "is_label_issue", "label_score", "predicted_label")


@short
def clean(nodes: Any, edges: Any = None, predictions: Any = None, classes: Any = None, *, features: Any = None,
          columns: Mapping[str, str] | None = None, edge_columns: Mapping[str, str] | None = None,
          unlabelled: Sequence[Any] = (),
          store: str | os.PathLike[str] | None = None, replace: bool = False, directed: bool = False,
          edge_nodes: bool = False, logits: bool = False,
          memory: str | None = None, threads: int | None = None, progress: bool = False, **options: Any) -> Any:
    """Gives every label of a graph the chance that it is wrong, and a better label.

    nodes          a frame of pandas or polars, a table of Arrow or a dict of columns: id, label and perhaps split
                   (train, val, test or none). Or an array: the labels of nodes 0, 1, 2… A missing label is an
                   unlabelled node. Or a `Graph`
    edges          the same with src, dst and perhaps weight. Or an array [m, 2], or [2, m]; [2, 2] is taken for the
                   former. A `Graph` has its own
    predictions    probabilities of your own classifier, of nodes that it was not trained on: an array with a row for
                   each node and a column for each class, or a frame whose columns are the classes. A frame may have the
                   ids as a column or as its index, or the index of the nodes; then its rows may have any order, and
                   nodes may be missing. If an index without the name of the ids fits in two ways that differ, that is
                   an error. Else row i is of row i of the nodes, and a row of NaN is none. None: the program trains a
                   classifier of its own
    classes        the classes of the columns of an array, such as model.classes_. None: the labels in sorted order,
                   numbers as numbers, or the categories of pandas, or the classes of the `Graph`
    features       of the nodes, from which the classifier of the program learns: an array or a CSR matrix of scipy with
                   a row for each node, or a frame. A `Graph` has its own
    columns        your names of the columns of nodes: {"id": "paper_id", "label": "subject"}
    edge_columns   your names of the columns of edges: {"src": "source", "dst": "target"}
    edge_nodes     ends of edges that the nodes lack become nodes without a label, behind the others. The answer is
                   without them
    unlabelled     labels that mean that there is none: ["NA", -1]
    store          a new directory that keeps the graph, its scores and all other columns of the nodes, for `open` and
                   for reviews. If the import fails, there is none. If the cleaning fails, the graph stays in it: clean
                   it with `open(…).clean()`
    replace        a store that is there goes, with the decisions in it, once the graph is imported, before the
                   cleaning. A failed import leaves the old store
    progress       show a bar of tqdm
    options        flags of `graphcleaner clean`: hops=2, seed=7, expect=0.1, as_given=True

    The frame that comes back is of the kind of `nodes`, and has their order, and their index in pandas. Its columns:

    your id        the id of the node, unless the index has it
    given_label, suggested_label
    score          the chance that the given label is wrong; null without a label
    confidence     of the suggested label
    is_label_issue the node is a suspect: its score is above the threshold of the run, and another label is suggested
    label_score    1 - score, as cleanlab counts: the lowest are the worst
    predicted_label  the likelier of given_label and suggested_label, under cleanlab's name

    `found.attrs["graphcleaner"]` of pandas and polars is a dict about the run: its threshold, suspects, contradicted
    and so on, its warnings, and all notes, such as what was done with the predictions. A table of Arrow has it as json
    in `found.schema.metadata[b"graphcleaner"]`.
    """
    kind, graph_classes = _tables.kind_of(nodes), None
    none = [unlabelled] if isinstance(unlabelled, str) or not isinstance(unlabelled, Iterable) else list(unlabelled)
    names = _tables.mapping(columns, "columns")
    named = names.get("id", "id")
    index, dtype = _tables.of_pandas(nodes, names.get("label", "label"))
    with_id = index is None or named in map(str, nodes.columns)
    if isinstance(nodes, Graph):
        for name, given in (("edges", edges), ("columns", columns), ("edge_columns", edge_columns),
                            ("features", features),
                            ("edge_nodes", edge_nodes or None)):
            if given is not None:
                raise GraphcleanerError(f"{name}: a Graph has its own, want none beside it")
        directed, features = directed or nodes.directed, nodes.features
        graph_classes = [name for name in nodes.classes if name not in none]
        nodes, edges = nodes.frames()
    elif edges is None:
        for sign, got, made in _GRAPHS:
            if hasattr(nodes, sign):
                raise GraphcleanerError(f"nodes: got {got}, want graphcleaner.{made}")
        raise GraphcleanerError("edges: got none, want a frame, an array, or a Graph in place of the nodes")
    chosen = _store.of_user(options, _store.CLEANING, clean)
    table = _tables.nodes_table(nodes, columns, none)
    ends = _tables.edges_table(edges, edge_columns)
    given = _tables.texts(table.column("label"), "nodes: column 'label'").unique().to_pylist()
    labels = dict.fromkeys(filter(None, given))
    if not labels:
        raise GraphcleanerError("nodes: no node has a label, want one for some of them")
    for what, given in (("classes", classes is not None), ("logits", logits)):
        if given and predictions is None:
            raise GraphcleanerError(f"{what}: want predictions with {'it' if what == 'logits' else 'them'}")
    if named in _ANSWER:
        raise GraphcleanerError(f"columns: ids are called {named!r}, which is a column of the answer: rename them")
    if replace and store is None:
        raise GraphcleanerError("replace: want a store with it")
    store = None if store is None else _store.absolute(store)
    work = _store.flags(memory=memory, threads=threads)
    said: list[tuple[int, str]] = []
    if not len(ends):
        said.append((logging.WARNING, "edges: there are none, so no score learns from neighbours"))
        _binary.log.warning(said[0][1])
    whole = _tables.with_ends(table, ends) if edge_nodes else table
    if more := len(whole) - len(table):
        if features is not None:
            raise GraphcleanerError(f"features: they lack {more:,} ends of edges that are no nodes: want every node "
                                    f"in the nodes, without edge_nodes")
        said.append((logging.INFO, f"edges: {more:,} ends that the nodes lack became nodes without a label"))
        _binary.log.info(said[-1][1])
    theirs = {"nodes": names, "edges": _tables.mapping(edge_columns, "edge_columns"),
              **dict.fromkeys(("predictions", "features"), {"id": named})}
    with _tables.folder(theirs) as folder, _bar(progress) as step:
        made = ["--", store or str(Path(folder, "store"))]
        stored = whole if store is not None else whole.select([name for name in whole.column_names
                                                               if name in ("id", "label", "split")])
        arguments = ["import", *work, *_store.flags(directed=directed, logits=logits, replace=replace, yes=replace)]
        arguments += ["--nodes", _tables.write(stored, Path(folder, "nodes.parquet"), "nodes")]
        arguments += ["--edges", _tables.write(ends, Path(folder, "edges.parquet"), "edges")]
        if features is not None:
            arguments += ["--features", _tables.write_features(features, folder, named, len(table))]
        if predictions is not None:
            arguments += _predictions.write(predictions, classes, table, named, folder, labels=labels,
                                            graph_classes=graph_classes,
                                            index=index, categories=getattr(dtype, "categories", None), more=more)
        _binary.run([*arguments, *made], said=said)
        step()
        try:
            _binary.run(["clean", *work, *chosen, *made], said=said)
            run = json.loads(_binary.run(["shell", "--quiet", "--format=json", "--command=runs", *made]))[-1]
        except GraphcleanerError as error:
            if store is None:
                raise
            raise GraphcleanerError(f"{error}\n{store} has the graph, but is not cleaned. Clean it with "
                                    f"graphcleaner.open({store!r}).clean(…), "
                                    "or call this again with replace=True", code=error.code) from None
        step()
        # Quietly: they repeat the warnings of the run.
        scores, suspects = (_store.exported(["export", "--quiet", *work], [*made, what], folder)
                            for what in ("scores", "suspects"))
        answer = _answer(table, scores.slice(0, len(table)), suspects, named)
        step()
    run = {**run, "warnings": [line for level, line in said if level == logging.WARNING],
           "notes": [line for _, line in said]}
    return _framed(answer if with_id else answer.drop_columns([named]), kind, index, dtype, run)


# Graphs that are no `Graph`: an attribute that no frame has, what it is, and what makes a `Graph` of it.
_GRAPHS = (("adj", "a graph of NetworkX", "from_networkx(G, label=…)"),
           ("edge_index", "data of PyTorch Geometric", "from_pyg(data)"))


def _framed(answer: pa.Table, kind: str, index: Any, dtype: Any, run: dict[str, Any]) -> Any:
    """The answer as a frame of a kind, with what is known of the run. In pandas, labels have the type of those that
    were given.
    """
    if kind == "arrow":
        return answer.replace_schema_metadata({"graphcleaner": json.dumps(run)})
    frame = answer.to_pandas(integer_object_nulls=True) if kind == "pandas" else _tables.as_kind(answer, kind)
    if dtype is not None and not hasattr(dtype, "categories"):
        with suppress(TypeError, ValueError):  # a class that no label has may be of another type
            frame = frame.astype(dict.fromkeys(("given_label", "suggested_label", "predicted_label"), dtype))
    if index is not None:
        frame.index = index
    frame.attrs = {"graphcleaner": run}
    return frame


def _answer(nodes: pa.Table, scores: pa.Table, suspects: pa.Table, named: str) -> pa.Table:
    """The frame of scores, with ids and labels typed as in the nodes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = nodes.column("label")
    is_float = pa.types.is_float32(column.type) or pa.types.is_float64(column.type)
    kind = column.type if is_float else _tables.plain(column).type
    suggested = _typed(scores["suggested_label"], kind)
    given, right = _typed(scores["given_label"], kind), pc.subtract(1.0, scores["score"])
    likelier = pc.fill_null(pc.greater(pc.cast(scores["confidence"], "float64"), pc.cast(right, "float64")), True)
    answer = {
        named: nodes.column("id"),
        "given_label": given,
        "suggested_label": suggested,
        "score": scores["score"],
        "confidence": scores["confidence"],
        "is_label_issue": pc.is_in(scores["id"], suspects["id"].combine_chunks()),
        "label_score": right,
        "predicted_label": _typed(pc.if_else(likelier, scores["suggested_label"], scores["given_label"]), kind),
    }
    return pa.table(answer)


def _typed(labels: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Labels, as the program writes them, as the type that they had. Texts where one is none of it: a class that no
    label has.
    """
    import pyarrow as pa

    try:
        # The program writes times in UTC.
        return (labels.cast(pa.timestamp(kind.unit, "UTC")) if pa.types.is_timestamp(kind) else labels).cast(kind)
    except pa.ArrowInvalid:
        return labels


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
