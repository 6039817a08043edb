"""A store of graphcleaner, asked in frames."""

from __future__ import annotations

import difflib
import inspect
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_args, overload

from . import _binary, _predictions, _tables
from ._statements import bound, clause, property_name, text
from .errors import GraphcleanerError, reading, short

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Frame = TypeVar("Frame")
Decision = Literal["accept", "reject", "relabel", "unlabel", "unsure"]

# Flags of the program that its methods pass on.
CLEANING = ("as_given", "expect", "hops", "in_sample", "memory", "out_of_fold", "preset", "seed", "stats", "threads",
            "threshold", "wait")
_EXPORTED = ("scores", "suspects", "labels", "decisions", "verdicts", "predictions", "features", "transition")
_EXPORTING = ("memory", "stats", "threads", "wait")


@overload
def open(path: str | os.PathLike[str], *, frames: Literal["arrow"] = "arrow", memory: str | None = None,
         threads: int | None = None,
         wait: str | None = None, who: str | None = None) -> Store[pa.Table]: ...
@overload
def open(path: str | os.PathLike[str], *, frames: Literal["pandas"], memory: str | None = None,
         threads: int | None = None,
         wait: str | None = None, who: str | None = None) -> Store[pd.DataFrame]: ...
@overload
def open(path: str | os.PathLike[str], *, frames: Literal["polars"], memory: str | None = None,
         threads: int | None = None,
         wait: str | None = None, who: str | None = None) -> Store[pl.DataFrame]: ...
@short
def open(path: str | os.PathLike[str], *, frames: Literal["arrow", "pandas", "polars"] = "arrow",
         memory: str | None = None,
         threads: int | None = None, wait: str | None = None, who: str | None = None) -> Store[Any]:
    """Opens a store that `graphcleaner import` or `clean(…, store=…)` made.

    `frames` is the kind of frame that answers are: arrow, pandas or polars. `memory`, `threads` and `wait` are the
    flags of the program, such as memory="2GiB". `who` decides, in the history of decisions.

    The store is open only while a method runs. So `with` and `close` free nothing: a closed one refuses to answer.
    """
    return Store(path, frames=frames, memory=memory, threads=threads, wait=wait, who=who)


@dataclass(frozen=True, repr=False)
class Neighborhood:
    """A picture of a node with its neighbours. Every text in it is escaped.

    svg   the picture, which needs nothing else: write it to a file, or show it in a page
    """

    svg: str

    def __repr__(self) -> str:
        return f"<Neighborhood, a picture of {len(self.svg):,} letters: show it in a notebook, or write .svg to a file>"

    def _repr_html_(self) -> str:
        return self.svg


@dataclass(frozen=True)
class Audit(Generic[Frame]):
    """Where an audit stands: what a look at labels that chance chose says of all labels. `Store.audit` makes one.

    drawn      how many labels people are asked for, and decided, how many of them they have answered
    look       the rate rests on the first draws, so many of them: 0 before the first look, which needs 25
    right      labels among these that people found right
    wrong      those that they found wrong; the others are unsettled: people are unsure or disagree
    rate       the share of wrong labels among all, None before the first look, and where most of these draws are
               unsettled
    low, high  an interval for it. All looks of an audit have intervals with the true share, with the chance level
    by_class   a dict for each class of these draws: class, decided (right or wrong), wrong, rate, low, high, None where
               the draws are too few
    estimator  how the rate is computed
    lists      a dict for the newest list of each promise, such as "fdr 0.1": promise, labels, drawn, good, wasted,
               open, forgiven (how many draws may be wasted) and kept, True where the draws show the promise
    """

    drawn: int
    decided: int
    look: int
    right: int
    wrong: int
    rate: float | None
    low: float | None
    high: float | None
    level: float
    estimator: str
    by_class: list[dict[str, Any]]
    lists: list[dict[str, Any]]
    _store: Store[Frame] = field(repr=False, compare=False)

    @short
    def draws(self) -> Frame:
        """The draws that nobody has answered, as a frame of id and label, in the order in which people are asked for
        them.
        """
        return self._store._draws(self.drawn)


def absolute(path: str | os.PathLike[str]) -> str:
    """A path that leads to the same place after os.chdir. os.path.abspath would go up from a link, and not from where
    it leads.
    """
    return os.path.join(os.getcwd(), os.fspath(path))


class Store(Generic[Frame]):
    """A store on disk, whose answers are frames. `open` makes one."""

    def __init__(self, path: str | os.PathLike[str], *, frames: str = "arrow", memory: str | None = None,
                 threads: int | None = None,
                 wait: str | None = None, who: str | None = None) -> None:
        if frames not in _tables.KINDS:
            raise GraphcleanerError(f"frames={frames!r}: want {' or '.join(map(repr, _tables.KINDS))}")
        self.path = absolute(path)
        self.frames = frames
        self._flags = flags(memory=memory, threads=threads, wait=wait)
        self._who = flags(who=who)
        self._closed = False
        if not os.path.isdir(self.path):
            # which brings back what a process that was killed had moved aside, or says that there is none
            _binary.run(["stats", "--", self.path])

    def __repr__(self) -> str:
        return f"graphcleaner.open({self.path!r})"

    def __enter__(self) -> Store[Frame]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the use of this object: its methods refuse from here on. The store is open only while one runs."""
        self._closed = True

    @property
    def _at(self) -> str:
        """The path, unless the store is closed."""
        if self._closed:
            raise GraphcleanerError(f"{self.path}: the store is closed, want graphcleaner.open(…) again")
        return self.path

    @short
    def query(self, statement: str, *values: Any, yes: bool = False) -> Frame:
        """Answers one statement of the query language. $1 in it is the first of the values, a text, a number or a time,
        whatever it holds.

        A time takes the form of the column, as in `when > $1`; without a zone it is UTC. A decision about all nodes
        that meet a condition wants yes=True.

        >>> store = graphcleaner.open(papers)
        >>> store.query("count nodes where degree > $1 and label != $2", 1, "it's x").to_pylist()
        [{'count': 60}]
        """
        arguments = ["shell", "--format", "parquet", *self._flags, *self._who, *(["--yes"] if yes else []), "--",
                     self._at]
        return self._frame(_printed(arguments, "statement", bound(statement, values)))

    def _frame(self, table: pa.Table) -> Frame:
        frame: Frame = _tables.as_kind(table, self.frames)
        return frame

    @short
    def suspects(self, where: str | None = None, *values: Any, order_by: str | None = None, limit: int | None = None,
                 columns: Sequence[str] | None = None) -> Frame:
        """The nodes whose label is probably wrong, highest score first. $1 in `where` is the first of the values, as in
        `query`.

        >>> graphcleaner.open(papers).suspects("label = $1", "AI", limit=1, columns=["id", "suggested"]).column_names
        ['id', 'suggested']
        """
        statement = "suspects"
        if where is not None:
            statement = bound(f"suspects where {clause(where, 'where')}", values)
        elif values:
            raise GraphcleanerError("where: got none, and values for it")
        if order_by is not None:
            statement += f" order by {clause(order_by, 'order_by')}"
        if limit is not None:
            statement += f" limit {_whole(limit, 'limit')}"
        if columns is not None:
            statement += " return " + ", ".join(property_name(str(name))
                                                for name in _tables.in_order(columns, "columns"))
        return self.query(statement)

    @short
    def score(self, ids: Any) -> Frame:
        """Scores of nodes as of now, by the model of the last run: a row for each id, of a list, an array or a series.
        Nothing is written.

        >>> graphcleaner.open(papers).score(["p1", "p2"]).num_rows
        2
        """
        import pyarrow as pa

        with _tables.folder() as folder:
            nodes = _tables.write(pa.table({"id": _tables.named(ids, "ids")}), Path(folder, "ids.parquet"), "ids")
            table = _printed(["score", "--nodes", nodes, "--format", "parquet", *self._flags, "--", self._at], "ids")
        return self._frame(table)

    @short
    def neighborhood(self, id: Any) -> Neighborhood:
        """The picture of a node with its neighbours, which a notebook shows: their labels, and what these say of the
        label of the node.

        >>> graphcleaner.open(papers).neighborhood("p7").svg[:4]
        '<svg'
        """
        return Neighborhood(_binary.run(["draw", *self._flags, "--", self._at, *_texts([id], "id")]))

    @short
    def append(self, nodes: Any = None, edges: Any = None, predictions: Any = None, classes: Any = None, *,
               columns: Mapping[str, str] | None = None, edge_columns: Mapping[str, str] | None = None,
               unlabelled: Sequence[Any] = ()) -> str:
        """Adds nodes, edges and predictions, all of them or nothing, and returns what the program says of them.

        The arguments are those of `clean`. Every column of the nodes becomes a property. A known node takes the values
        of its row.

        >>> new = {"id": ["new"], "label": ["Databases"]}
        >>> graphcleaner.open(papers).append(nodes=new, edges={"src": ["new"], "dst": ["p1"]})
        '...1 node...'
        """
        with _tables.folder() as folder:
            arguments = ["import", "--append", *self._flags]
            table = None
            if nodes is not None:
                table = _tables.nodes_table(nodes, columns, unlabelled)
                arguments += ["--nodes", _tables.write(table, Path(folder, "nodes.parquet"), "nodes")]
            if edges is not None:
                arguments += ["--edges",
                              _tables.write(_tables.edges_table(edges, edge_columns), Path(folder, "edges.parquet"),
                                            "edges")]
            if predictions is not None:
                arguments += _predictions.write(predictions, classes, table,
                                                _tables.mapping(columns, "columns").get("id", "id"), folder,
                                                index=_tables.of_pandas(nodes, "label")[0])
            return _binary.run([*arguments, "--", self._at]).strip()

    @short
    def decide(self, ids: Any, decision: Decision, label: Any = None, *, because: str | None = None) -> Frame:
        """Decides about the labels of some nodes, by one id or several, in one step.

        `decision` is accept (the suggested label is right), reject (the given label is right), relabel (`label` is
        right), unlabel or unsure.

        >>> store = graphcleaner.open(papers)
        >>> store.decide("p1", "relabel", "Databases", because="I have read it").column("decision").to_pylist()
        ['relabel']
        >>> store.undo().num_rows
        1
        """
        if decision not in get_args(Decision):
            raise GraphcleanerError(f"decision {decision!r}: want {', '.join(get_args(Decision))}")
        if (label is not None) != (decision == "relabel"):
            raise GraphcleanerError(f"decision {decision!r}: want a label with relabel, and none with the others")
        # Half a statement would decide half.
        listed = ", ".join(map(text, _texts(ids, "ids")))
        if not listed:
            raise GraphcleanerError("ids: want one or more")
        statement = f"{decision} {listed}"
        if label is not None:
            statement += " " + ", ".join(map(text, _texts([label], "label")))
        if because is not None:
            statement += " because " + text(str(because))
        try:
            return self.query(statement)
        except GraphcleanerError as error:  # without the place in a statement that the caller has not written
            raise GraphcleanerError(re.sub(r"^\d+:\d+: ", "", str(error)), code=error.code) from None

    @short
    def undo(self) -> Frame:
        """Takes the last step of decisions back."""
        return self.query("undo")

    @short
    def audit(self, size: int | None = None, seed: int | None = None) -> Audit[Frame]:
        """Tells how many labels are wrong, by labels that chance chose and people have looked at. With `size`, it asks
        people for so many in all.

        Answer them with `decide`, blind, or with `graphcleaner audit` or a review page. The seed, 1 by default, counts
        at the first draw.

        >>> store = graphcleaner.open(papers)
        >>> store.audit(size=50).draws().column_names
        ['id', 'label']
        >>> store.audit().rate is None
        True
        """
        if size is not None and _whole(size, "size") < 1:
            raise GraphcleanerError(f"size: got {size}, want 1 or more")
        if seed is not None and size is None:
            raise GraphcleanerError("seed: got one without size, want both")
        drawing = flags(size=size, seed=seed if seed is None else _whole(seed, "seed"))
        told = json.loads(_binary.run(["audit", "--format=json", *drawing, *self._flags, "--", self._at]))
        return Audit(**{of.name: told[of.name] for of in fields(Audit) if of.name in told}, _store=self)

    def _draws(self, size: int) -> Frame:
        """The open ones of so many draws."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if size == 0:  # the program would draw
            return self._frame(pa.table({"id": pa.array([], pa.string()), "label": pa.array([], pa.string())}))
        with _tables.folder() as folder:
            path = f"{folder}/draws.parquet"
            _binary.run(["audit", f"--draws={path}", f"--size={size}", *self._flags, "--", self._at])
            with pq.ParquetFile(path) as source:  # not mapped: the folder goes away
                return self._frame(source.read())

    @short
    def clean(self, **options: Any) -> str:
        """Cleans again, and returns what the program says of the run. Options are the flags of `graphcleaner clean`:
        hops=2, as_given=True.
        """
        return _binary.run(["clean", *self._flags, *of_user(options, CLEANING, self.clean), "--", self._at]).strip()

    @short
    def rescore(self) -> str:
        """Brings the stored scores up to date, and returns what the program says of it."""
        return _binary.run(["rescore", *self._flags, "--", self._at]).strip()

    @short
    def export(self, what: str, out: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """Exports scores, suspects, labels, decisions, verdicts, predictions, features or transition.

        With `out`, to a file whose name decides the format, such as scores.parquet. Without it, as a frame; features
        are an array of numpy. Options are the flags of `graphcleaner export`.

        >>> graphcleaner.open(papers).export("scores").column_names
        ['id', 'given_label', 'score', 'suggested_label', 'confidence']
        """
        if what not in _EXPORTED:
            raise GraphcleanerError(f"export({what!r}): want {', '.join(_EXPORTED[:-1])} or {_EXPORTED[-1]}")
        arguments, of = ["export", *self._flags, *of_user(options, _EXPORTING, self.export)], ["--", self._at, what]
        if out is not None:
            _binary.run([*arguments, f"--out={os.fspath(out)}", *of])
            return None
        with _tables.folder() as folder:
            if what == "features":
                import numpy as np

                _binary.run([*arguments, f"--out={folder}/features.npy", *of])
                return np.load(f"{folder}/features.npy")
            return self._frame(exported(arguments, of, folder))


def _texts(values: Any, what: str) -> list[str]:
    """Ids or labels as the program writes them."""
    import pyarrow as pa

    with reading(what):
        return _tables.named(values, what).cast(pa.string()).to_pylist()


def _whole(value: Any, what: str) -> int:
    with reading(what):
        whole = int(value)
    if whole != value:
        raise GraphcleanerError(f"{what}: got {value!r}, want a whole number")
    return whole


def _printed(arguments: Sequence[str], what: str, statements: str = "") -> Any:
    """The table that the program prints."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with _binary.running(arguments, statements) as out:
            return pq.ParquetFile(pa.BufferReader(out.read())).read()
    except pa.ArrowException as error:
        raise GraphcleanerError(f"{what}: the answer has no rows of a table, want one that has: {error}") from error


def exported(arguments: Sequence[str], of: Sequence[str], folder: str) -> Any:
    """The table that an export writes."""
    import pyarrow.parquet as pq

    path = f"{folder}/export.parquet"
    _binary.run([*arguments, f"--out={path}", *of])
    with pq.ParquetFile(path) as source:  # not mapped: the folder goes away
        return source.read()


def flags(**options: Any) -> list[str]:
    """Flags of the program from arguments of Python. None and False leave one out."""
    words: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            words.append(f"{flag}={value}")
    return words


def of_user(options: Mapping[str, Any], known: Sequence[str], method: Callable[..., Any]) -> list[str]:
    """Flags of a method's options."""
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, [*known, *inspect.signature(method).parameters], 1)
            says = f"there is no such option, want {', '.join(known)}"
            if near and near[0][0] == name[0]:
                says = f"did you mean {near[0]}=…"
            raise GraphcleanerError(f"{name}=…: {says}")
    return flags(**options)
