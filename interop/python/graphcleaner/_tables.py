"""Frames of pandas, polars, Arrow and numpy, to and from Arrow."""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import GraphcleanerError, reading

if TYPE_CHECKING:
    import pyarrow as pa


@contextmanager
def folder(names: Mapping[str, Mapping[str, str]] | None = None) -> Iterator[str]:
    """A folder for the files between this process and the program, among temporary files.

    Errors name the files without it, and have the caller's `names` of the columns of each frame.
    """
    try:
        made = tempfile.TemporaryDirectory(prefix="graphcleaner-")
    except OSError as error:
        raise GraphcleanerError(f"{tempfile.gettempdir()}: {error.strerror}, want a folder to write to") from error
    with _unwound(), made as path:
        try:
            yield path
        except GraphcleanerError as error:
            says = re.sub(r"^(\w+)(, row \d+)?, column '(\w+)'", lambda at: f"{at[1]}{at[2] or ''}, column "
                          f"{(names or {}).get(at[1], {}).get(at[3], at[3])!r}", str(error).replace(path + os.sep, ""))
            raise GraphcleanerError(says, code=error.code) from error.__cause__


@contextmanager
def _unwound() -> Iterator[None]:
    """SIGTERM is an exception meanwhile, so that it leaves no program and no folder, unless somebody has a handler for
    it.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


KINDS = ("arrow", "pandas", "polars")


def kind_of(frame: Any) -> str:
    """Which kind of frame something is; what is none of these is as pandas where that is installed."""
    for kind in ("polars", "pandas"):
        module = sys.modules.get(kind)
        if module and isinstance(frame, (module.DataFrame, *((module.LazyFrame,) if kind == "polars" else ()))):
            return kind
    if hasattr(frame, "__arrow_c_stream__"):
        return "arrow"
    try:
        import pandas  # noqa: F401
    except ImportError:
        return "arrow"
    return "pandas"


def as_kind(table: pa.Table, kind: str) -> Any:
    """A table as a frame."""
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        import polars

        return polars.from_arrow(table)
    return table


def of_pandas(nodes: Any, label: str) -> tuple[Any, Any]:
    """The index of nodes and the type of their labels in pandas; None where they are no frame of pandas or the labels
    are no column.
    """
    if kind_of(nodes) != "pandas" or not hasattr(nodes, "columns") or not hasattr(nodes, "index"):
        return None, None
    return nodes.index, next((dtype for name, dtype in nodes.dtypes.items() if str(name) == label), None)


def to_table(frame: Any, what: str, wanted: Sequence[str] = ()) -> pa.Table:
    """A frame, or a dict of columns, as a table. An index of pandas counts as a column if it has a wanted name."""
    import pyarrow as pa

    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    with reading(what):
        if pandas and isinstance(frame, pandas.DataFrame):
            if any(name in wanted and name not in frame.columns for name in frame.index.names):
                frame = frame.reset_index()
            return pa.Table.from_pandas(frame, preserve_index=False)
        if polars and isinstance(frame, polars.LazyFrame):
            frame = frame.collect()
        if isinstance(frame, pa.Table):
            return frame
        if isinstance(frame, Mapping):
            return pa.table({name: _column(values, name, what) for name, values in frame.items()})
        if hasattr(frame, "__arrow_c_stream__") and not _is_series(frame):
            return pa.table(frame)
    raise GraphcleanerError(f"{what}: got {type(frame).__name__}, want a frame of pandas or polars, a table of Arrow, "
                            f"or a dict of columns")


def _column(values: Any, name: Any, what: str) -> pa.ChunkedArray:
    """A column of a dict."""
    import pyarrow as pa

    with reading(f"{what}: column {name!r}"):
        return pa.table({name: values}).column(0)


def _is_series(values: Any) -> bool:
    """Whether something is one column of pandas, polars or Arrow."""
    import pyarrow as pa

    return isinstance(values, pa.ChunkedArray) or type(values).__name__ == "Series"


def mapping(columns: Any, what: str) -> dict[Any, str]:
    """The names of a frame by those of the program. The names of pandas may be numbers, which Arrow writes as texts."""
    if not isinstance(columns or {}, Mapping):
        raise GraphcleanerError(f"{what}: got {type(columns).__name__}, want a dict that has your names by ours")
    return {ours: str(theirs) for ours, theirs in dict(columns or {}).items()}


def renamed(table: pa.Table, what: str, columns: dict[Any, str], wanted: Sequence[str],
            optional: Sequence[str]) -> pa.Table:
    """The table under the names of the program. `columns` has the names of the frame by those of the program."""
    columns = dict(columns)
    if odd := [name for name in columns if name not in (*wanted, *optional)]:
        turned = {theirs: name for name, theirs in columns.items()}
        hint = f", as in {turned}" if set(turned) <= {*wanted, *optional} else ""
        raise GraphcleanerError(f"{what}: the mapping has {odd[0]!r}, want {', '.join((*wanted, *optional))} before "
                                f"your names{hint}")
    for name in wanted:
        theirs = columns.setdefault(name, name)
        if theirs not in table.column_names:
            hint = ", ".join(f"{n!r}: …" for n in wanted)
            raise GraphcleanerError(
                f"{what}: there is no column {theirs!r} among {', '.join(map(repr, table.column_names))}: "
                f"want {'edge_columns' if what == 'edges' else 'columns'}={{{hint}}}")
    for name, theirs in columns.items():
        if theirs not in table.column_names:
            raise GraphcleanerError(f"{what}: there is no column {theirs!r} for {name!r} among "
                                    f"{', '.join(map(repr, table.column_names))}")
    ours = {theirs: name for name, theirs in columns.items()}
    if len(ours) < len(columns):
        raise GraphcleanerError(f"{what}: one column stands for two names: {columns}")
    names = [ours.get(name, name) for name in table.column_names]
    if twice := [name for name in names if names.count(name) > 1]:
        raise GraphcleanerError(f"{what}: two columns would be called {twice[0]!r}: rename one of them")
    return table.rename_columns(names)


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of ids or labels without a dictionary, and with whole numbers as integers: pandas makes floats of
    integers if one is missing.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):
        return column.cast(pa.string())
    if pa.types.is_floating(column.type):
        if column.type == pa.float16():
            column = column.cast(pa.float32())
        column = pc.if_else(pc.is_nan(column), None, column)
        if pc.all(pc.and_(pc.equal(column, pc.floor(column)), pc.less(pc.abs(column), 2.0**63)), min_count=0).as_py():
            return column.cast(pa.int64())
    return column


def array(values: Any, what: str) -> pa.Array:
    """Values of ids or labels: of a list, an array, a series or a column."""
    import pyarrow as pa

    if isinstance(values, Iterable) and not hasattr(values, "__len__"):
        values = list(values)
    with reading(what):
        column = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values, from_pandas=True)
        column = plain(pa.chunked_array([column]) if isinstance(column, pa.Array) else column)
    return column.combine_chunks()


def named(values: Any, what: str) -> pa.Array:
    """Ids or labels that a caller names: one, or those of a list, an array or a series. None may be missing."""
    if isinstance(values, Mapping) or hasattr(values, "columns"):
        raise GraphcleanerError(f"{what}: got a frame, want one column, such as frame.id")
    if getattr(values, "dtype", None) == bool:
        raise GraphcleanerError(f"{what}: got True and False, want {what} themselves, such as frame.id[mask]")
    column = array([values] if isinstance(values, (str, bytes)) or not isinstance(values, Iterable) else values, what)
    if column.null_count:
        raise GraphcleanerError(f"{what}: got none at position {column.is_null().index(True).as_py()}, want one")
    return column


def in_order(values: Any, what: str) -> Sequence[Any]:
    """Values whose order counts."""
    if isinstance(values, (str, bytes, Set, Mapping)) or not isinstance(values, Iterable):
        raise GraphcleanerError(f"{what}: got {type(values).__name__}, want a list or an array, since the order counts")
    return values if isinstance(values, Sequence) else list(values)


def texts(column: pa.ChunkedArray, what: str) -> pa.ChunkedArray:
    """Labels as the program writes them, in a type in which they can come back."""
    import pyarrow as pa

    if pa.types.is_nested(column.type):
        raise GraphcleanerError(f"{what}: got {column.type}, want one label for each node")
    with reading(what):
        column = plain(column)
        pa.array([], pa.string()).cast(column.type)
        return column.cast(pa.string())


def write(table: pa.Table, path: Path, what: str) -> str:
    """Writes a table as Parquet, with columns that repeat as they are, and returns its path."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with reading(what):
        for i, field in enumerate(table.schema):
            if pa.types.is_dictionary(field.type) or pa.types.is_null(field.type) or field.name in ("id", "label",
                                                                                                    "src", "dst"):
                table = table.set_column(i, field.name, plain(table.column(i)))
            elif pa.types.is_float16(field.type):  # the program reads none
                table = table.set_column(i, field.name, table.column(i).cast(pa.float32()))
        pq.write_table(table, path)
    return str(path)


def write_features(features: Any, folder: str, id_name: str, rows: int) -> str:
    """Writes features, a frame with ids or an array with a row for each node, and returns the path."""
    import numpy as np

    if isinstance(features, Mapping) or hasattr(features, "columns"):
        table = to_table(features, "features", [id_name])
        if id_name not in table.column_names:
            raise GraphcleanerError(f"features: there is no column {id_name!r} among "
                                    f"{', '.join(map(repr, table.column_names))}")
        return write(table.rename_columns(["id" if name == id_name else name for name in table.column_names]),
                     Path(folder, "features.parquet"), "features")
    if hasattr(features, "detach"):
        features = features.detach().cpu().numpy()
    features = features_of(features, rows)
    if hasattr(features, "tocsr"):
        from scipy import sparse

        sparse.save_npz(Path(folder, "features.npz"), features)
        return str(Path(folder, "features.npz"))
    np.save(Path(folder, "features.npy"), features)
    return str(Path(folder, "features.npy"))


def features_of(features: Any, rows: int) -> Any:
    """Features as float32, [rows, d], CSR or dense."""
    import numpy as np

    with reading("features"):
        features = features.tocsr().astype(np.float32) if hasattr(features,
                                                                  "tocsr") else np.asarray(features, np.float32)
    if features.ndim != 2 or features.shape[0] != rows:
        raise GraphcleanerError(f"features: got shape {features.shape}, want a row for each of {rows} nodes")
    if not np.isfinite(features.data if hasattr(features, "tocsr") else features).all():
        raise GraphcleanerError("features: got some that are no numbers, want finite ones")
    return features


def nodes_table(nodes: Any, columns: Mapping[str, str] | None, unlabelled: Any = ()) -> pa.Table:
    """Nodes under the names of the program. A numpy array of one dimension is the labels of nodes 0, 1, 2…

    `unlabelled` are values that stand for no label.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if _is_series(nodes):
        raise GraphcleanerError("nodes: got a series, want a frame with ids and labels, or an array of the labels of "
                                "nodes 0, 1, 2…, "
                                "such as series.to_numpy()")
    if isinstance(nodes, Sequence) and not isinstance(nodes, (str, bytes)) or getattr(nodes, "ndim", 0) == 1:
        with reading("nodes"):
            nodes = {"id": range(len(nodes)), "label": pa.array(nodes, from_pandas=True)}
    names = mapping(columns, "columns")
    table = renamed(to_table(nodes, "nodes", [*names.values(), "id"]), "nodes", names, ("id", "label"), ("split",))
    labels = texts(table.column("label"), "nodes: column 'label'")
    values = [unlabelled] if isinstance(unlabelled, (str, bytes)) or not isinstance(unlabelled,
                                                                                    Iterable) else unlabelled
    none = pa.concat_arrays([pa.array([], pa.string()),
                             *(array([value], "unlabelled").cast(pa.string()) for value in values)])
    if pc.any(missing := pc.is_in(labels, none)).as_py():
        column = table.column("label")
        column = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        table = table.set_column(table.column_names.index("label"), "label", pc.if_else(missing, None, column))
    return table


def with_ends(nodes: pa.Table, edges: pa.Table) -> pa.Table:
    """Nodes and, behind them, the ends of edges that are none of them. These have an id alone."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ids, chunks = plain(nodes["id"]), []
    for end in ("src", "dst"):
        with reading(f"edges: column {end!r}"):
            chunks += plain(edges[end]).cast(ids.type).chunks
    ends = pa.chunked_array(chunks, ids.type).drop_null()
    more = pc.unique(ends.filter(pc.invert(pc.is_in(ends, value_set=ids.combine_chunks()))))
    columns = {name: pa.chunked_array([*nodes[name].chunks, pa.nulls(len(more), nodes[name].type)])
               for name in nodes.column_names}
    return pa.table({**columns, "id": pa.chunked_array([*ids.chunks, more])})


def edges_table(edges: Any, columns: Mapping[str, str] | None) -> pa.Table:
    """Edges under the names of the program. A numpy array is [m, 2], or [2, m] as the edge_index of PyG."""
    if hasattr(edges, "ndim") and not hasattr(edges, "columns"):
        import numpy as np

        ends = np.asarray(edges)
        if ends.ndim != 2 or 2 not in ends.shape:
            raise GraphcleanerError(f"edges: got an array of shape {ends.shape}, want [m, 2], or [2, m]")
        ends = ends if ends.shape[1] == 2 else ends.T
        edges = {"src": np.ascontiguousarray(ends[:, 0]), "dst": np.ascontiguousarray(ends[:, 1])}
    table = renamed(to_table(edges, "edges"), "edges", mapping(columns, "edge_columns"), ("src", "dst"), ("weight",))
    return table.select([name for name in table.column_names if name in ("src", "dst", "weight")])
