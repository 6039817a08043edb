"""A store of graphcleaner, asked in frames."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_args, overload

from . import _binary, _predictions, _tables
from .errors import GraphcleanerError, reading

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Frame = TypeVar("Frame")
Decision = Literal["accept", "reject", "relabel", "unlabel", "unsure"]


@overload
def open(path: str | os.PathLike[str], *, frames: Literal["arrow"] = "arrow", memory: str | None = None, threads: int | None = None,
         wait: str | None = None, who: str | None = None) -> Store[pa.Table]: ...
@overload
def open(path: str | os.PathLike[str], *, frames: Literal["pandas"], memory: str | None = None, threads: int | None = None,
         wait: str | None = None, who: str | None = None) -> Store[pd.DataFrame]: ...
@overload
def open(path: str | os.PathLike[str], *, frames: Literal["polars"], memory: str | None = None, threads: int | None = None,
         wait: str | None = None, who: str | None = None) -> Store[pl.DataFrame]: ...
def open(path: str | os.PathLike[str], *, frames: Literal["arrow", "pandas", "polars"] = "arrow", memory: str | None = None,
         threads: int | None = None, wait: str | None = None, who: str | None = None) -> Store[Any]:
    """Opens a store that `graphcleaner import` or `clean(…, store=…)` made.

    `frames` is the kind of frame that answers are: arrow, pandas or polars. `memory`, `threads` and `wait` are the flags of the program,
    such as memory="2GiB". `who` decides, in the history of decisions.

    The store is open only while a method runs.
    """
    return Store(path, frames=frames, memory=memory, threads=threads, wait=wait, who=who)


@dataclass(frozen=True)
class Neighborhood:
    """A picture of a node with its neighbours. Every text in it is escaped.

    svg   the picture, which needs nothing else: write it to a file, or show it in a page
    """

    svg: str = field(repr=False)

    def _repr_html_(self) -> str:
        return self.svg


class Store(Generic[Frame]):
    """A store on disk, whose answers are frames. `open` makes one."""

    def __init__(self, path: str | os.PathLike[str], *, frames: str = "arrow", memory: str | None = None, threads: int | None = None,
                 wait: str | None = None, who: str | None = None) -> None:
        if frames not in _tables.KINDS:
            raise GraphcleanerError(f"frames={frames!r}: want {' or '.join(map(repr, _tables.KINDS))}")
        self.path = os.fspath(path)
        self.frames = frames
        self._flags = flags(memory=memory, threads=threads, wait=wait)
        self._who = flags(who=who)
        if not os.path.isdir(self.path):
            raise GraphcleanerError(f"{self.path}: there is no such store")

    def __repr__(self) -> str:
        return f"graphcleaner.open({self.path!r})"

    def query(self, statement: str, *, yes: bool = False) -> Frame:
        """Answers one statement of the query language.

        A decision about all nodes that meet a condition wants yes=True.

        >>> store = graphcleaner.open(papers)
        >>> store.query("count nodes where degree > 1").to_pylist()
        [{'count': 60}]
        """
        arguments = ["shell", "--format", "arrow", *self._flags, *self._who, *(["--yes"] if yes else []), "--", self.path]
        return self._frame(_streamed(arguments, "statement", statement))

    def _frame(self, table: pa.Table) -> Frame:
        frame: Frame = _tables.as_kind(table, self.frames)
        return frame

    def suspects(self, where: str | None = None, *, order_by: str | None = None, limit: int | None = None,
                 columns: Sequence[str] | None = None) -> Frame:
        """The nodes whose label is probably wrong, highest score first.

        >>> graphcleaner.open(papers).suspects("score > 0.5", limit=1, columns=["id", "suggested"]).column_names
        ['id', 'suggested']
        """
        statement = "suspects"
        if where is not None:
            statement += f" where {where}"
        if order_by is not None:
            statement += f" order by {order_by}"
        if limit is not None:
            statement += f" limit {_whole(limit, 'limit')}"
        if columns is not None:
            statement += " return " + ", ".join(property_name(str(name)) for name in _tables.in_order(columns, "columns"))
        return self.query(statement)

    def score(self, ids: Any) -> Frame:
        """Scores of nodes as of now, by the model of the last run: a row for each id, of a list, an array or a series. Nothing is written.

        >>> graphcleaner.open(papers).score(["p1", "p2"]).num_rows
        2
        """
        import pyarrow as pa

        with _tables.folder() as folder:
            nodes = _tables.write(pa.table({"id": _tables.named(ids, "ids")}), Path(folder, "ids.parquet"), "ids")
            table = _streamed(["score", "--nodes", nodes, "--format", "arrow", *self._flags, "--", self.path], "ids")
        return self._frame(table)

    def neighborhood(self, id: Any) -> Neighborhood:
        """The picture of a node with its neighbours, which a notebook shows: their labels, and what these say of the label of the node.

        >>> graphcleaner.open(papers).neighborhood("p7").svg[:4]
        '<svg'
        """
        return Neighborhood(_binary.run(["draw", *self._flags, "--", self.path, *_texts([id], "id")]))

    def append(self, nodes: Any = None, edges: Any = None, predictions: Any = None, classes: Any = None, *,
               columns: Mapping[str, str] | None = None, edge_columns: Mapping[str, str] | None = None) -> str:
        """Adds nodes, edges and predictions, all of them or nothing, and returns what the program says of them.

        The arguments are those of `clean`. Every column of the nodes becomes a property. A known node takes the values of its row.

        >>> graphcleaner.open(papers).append(nodes={"id": ["new"], "label": ["Databases"]}, edges={"src": ["new"], "dst": ["p1"]})
        '...1 node...'
        """
        with _tables.folder() as folder:
            arguments = ["import", "--append", *self._flags]
            table = None
            if nodes is not None:
                table = _tables.nodes_table(nodes, columns)
                arguments += ["--nodes", _tables.write(table, Path(folder, "nodes.parquet"), "nodes")]
            if edges is not None:
                arguments += ["--edges", _tables.write(_tables.edges_table(edges, edge_columns), Path(folder, "edges.parquet"), "edges")]
            if predictions is not None:
                rows = _predictions.table(predictions, classes, table, _tables.mapping(columns, "columns").get("id", "id"))
                arguments += ["--predictions", _tables.write(rows, Path(folder, "predictions.parquet"), "predictions")]
            return _binary.run([*arguments, "--", self.path]).strip()

    def decide(self, ids: Any, decision: Decision, label: Any = None, *, because: str | None = None) -> Frame:
        """Decides about the labels of some nodes, by one id or several, in one step.

        `decision` is accept (the suggested label is right), reject (the given label is right), relabel (`label` is right), unlabel or unsure.

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
        return self.query(statement)

    def undo(self, steps: int = 1) -> Frame:
        """Takes the last steps of decisions back."""
        return self.query(f"undo {_whole(steps, 'steps')}")

    def clean(self, **options: Any) -> str:
        """Cleans again, and returns what the program says of the run. Options are the flags of `graphcleaner clean`: hops=2, as_given=True."""
        return _binary.run(["clean", *self._flags, *of_user(options), "--", self.path]).strip()

    def rescore(self) -> str:
        """Brings the stored scores up to date, and returns what the program says of it."""
        return _binary.run(["rescore", *self._flags, "--", self.path]).strip()

    def export(self, what: str, out: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """Exports scores, suspects, labels, decisions, verdicts, predictions, features or transition.

        With `out`, to a file whose name decides the format, such as scores.parquet. Without it, as a frame; features are an array of numpy.
        Options are the flags of `graphcleaner export`.

        >>> graphcleaner.open(papers).export("scores").column_names
        ['id', 'given_label', 'score', 'suggested_label', 'confidence']
        """
        arguments, of = ["export", *self._flags, *of_user(options)], ["--", self.path, what]
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
        return int(value)


def _streamed(arguments: Sequence[str], what: str, statements: str = "") -> Any:
    """The table that the program prints."""
    import pyarrow as pa

    try:
        with _binary.running(arguments, statements, warns=not statements) as out:
            return pa.ipc.open_stream(out).read_all()
    except pa.ArrowException as error:
        raise GraphcleanerError(f"{what}: the answer has no rows of a table, want one that has: {error}") from error


def exported(arguments: Sequence[str], of: Sequence[str], folder: str, *, warns: bool = True) -> Any:
    """The table that an export writes."""
    import pyarrow as pa

    path = f"{folder}/export.arrow"
    _binary.run([*arguments, f"--out={path}", *of], warns=warns)
    with pa.OSFile(path) as source:  # not mapped: the folder goes away
        return pa.ipc.open_file(source).read_all()


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


def of_user(options: Mapping[str, Any]) -> list[str]:
    """Flags of a method's options, without those that the package sets itself."""
    for name in options:
        if name in ("format", "log", "quiet", "help", "version", "out"):
            raise GraphcleanerError(f"{name}: got it as an option, which the package has itself: want none")
    return flags(**options)


def text(value: str) -> str:
    """A text in a statement."""
    return "'" + value.replace("'", "''") + "'"


def property_name(name: str) -> str:
    """A property in a statement."""
    return '"' + name.replace('"', '""') + '"'
