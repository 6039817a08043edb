"""Makes frames of columns, and columns of frames. These functions run in the tasks of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from . import frames
from .errors import GraphcleanerError
from .plan import chunk_bases

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
#: Makes frames of the rows of a chunk, whose place has row and first.
Maker = Callable[[dict[str, int], pa.Table], Iterable[bytes]]

CENSUS_ROWS = 1 << 20  # positions of a frame that the census reads


def arcs(starts: Sequence[int]) -> Task:
    """Both arcs of the edges in batches with `source`, `target` (numbers of nodes): `row` and `col`, the ranges of
    their ends, and `key`, the places of their ends in these, 32 bits each."""
    first = np.array(starts[:-1], np.int64)

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            ends = [batch.column(name).to_numpy() for name in ("source", "target")]
            of = [np.searchsorted(first, end, "right") - 1 for end in ends]
            local = [end - first[r] for end, r in zip(ends, of, strict=True)]
            for a, b in ((0, 1), (1, 0)):
                yield _batch(row=of[a], col=of[b], key=local[a] << 32 | local[b])

    return task


def arcs_feed(batches: Iterator[pa.RecordBatch], job: dict[str, Any]) -> Iterator[bytes]:
    """Edges frames of batches that arcs has made, sorted by row, col and key. A group frame comes before each block."""
    block = None
    for batch in batches:
        row, col, key = (batch.column(name).to_numpy() for name in ("row", "col", "key"))
        bounds = np.flatnonzero(np.diff(row) | np.diff(col)) + 1
        for at, end in zip([0, *bounds], [*bounds, len(key)], strict=True):
            if block != (row[at], col[at]):
                block = row[at], col[at]
                yield frames.pack(frames.GROUP, row=int(row[at]), column=int(col[at]))
            yield frames.pack(frames.EDGES, key[at:end].astype("<u8").tobytes(), count=int(end - at))


def addressed(starts: Sequence[int], chunk: int, kept: Sequence[str]) -> Task:
    """Adds where a node is to batches with its `number`: `chunk` (the number of its chunk in all), `row` (its range)
    and `local`. The columns kept come after them."""
    first = np.array(starts[:-1], np.int64)
    bases = np.array(chunk_bases(starts, chunk)[:-1], np.int64)

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            number = batch.column("number").to_numpy()
            row = np.searchsorted(first, number, "right") - 1
            local = number - first[row]
            yield _batch(chunk=bases[row] + local // chunk, row=row, local=local,
                         **{name: batch.column(name) for name in kept})

    return task


def chunk_frames(starts: Sequence[int], chunk: int, make: Maker) -> Task:
    """Frames of batches sorted by `chunk` and `local`, as addressed makes them: all rows of a chunk, in their order."""

    def made(batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
        for rows in _runs(batches, "chunk"):
            row, first = rows["row"][0].as_py(), rows["local"][0].as_py()
            count = min(chunk, starts[row + 1] - starts[row] - first)
            local = rows["local"].to_numpy()
            if first % chunk or not np.array_equal(local, np.arange(first, first + count)):
                raise GraphcleanerError(f"chunk of range {row} at row {first}: got {len(local)} rows, want {count}, "
                                        f"each once")
            yield from make({"row": row, "first": first}, rows)

    return lambda batches: frames.batches(made(batches))


def _runs(batches: Iterator[pa.RecordBatch], key: str) -> Iterator[pa.Table]:
    """The rows of each value of a column by which the batches are sorted."""
    pending: list[pa.RecordBatch] = []
    value = None
    for batch in batches:
        keys = batch.column(key).to_numpy()
        bounds = [0, *(np.flatnonzero(np.diff(keys)) + 1), len(keys)]
        for begin, end in zip(bounds, bounds[1:], strict=False):
            if begin == end:
                continue
            if pending and keys[begin] != value:
                yield pa.Table.from_batches(pending)
                pending = []
            value = keys[begin]
            pending.append(batch.slice(begin, end - begin))
    if pending:
        yield pa.Table.from_batches(pending)


def labels(place: dict[str, int], rows: pa.Table) -> Iterator[bytes]:
    """Labels frames of the column `label` (a class or -1)."""
    yield frames.pack(frames.LABELS, rows["label"].to_numpy().astype("<i4").tobytes(), count=len(rows),
                      width=1, **place)


def labels_and_predictions(classes: int) -> Maker:
    """Labels and predictions frames of the columns `label` and `predictions` (binary, null: none)."""
    none = np.full(classes, np.nan, "<f4").tobytes()

    def make(place: dict[str, int], rows: pa.Table) -> Iterator[bytes]:
        yield from labels(place, rows)
        payload = b"".join(none if p is None else p for p in rows["predictions"].to_pylist())
        yield frames.pack(frames.PREDICTIONS, payload, count=len(rows), width=classes, **place)

    return make


def splits_and_members(place: dict[str, int], rows: pa.Table) -> Iterator[bytes]:
    """Splits frames, and members frames where there are some, of the columns `split` and `member`."""
    yield frames.pack(frames.SPLITS, rows["split"].to_numpy().astype("u1").tobytes(), count=len(rows), width=1, **place)
    members = rows["local"].to_numpy()[rows["member"].to_numpy()]
    if len(members):
        yield frames.pack(frames.MEMBERS, members.astype("<u4").tobytes(), count=len(members), width=1, **place)


def census_frames(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Labels and splits frames by position, of batches sorted by `piece` and `position`, with `label` and `split`."""

    def made() -> Iterator[bytes]:
        for rows in _runs(batches, "piece"):
            first = rows["position"][0].as_py()
            for kind, column, dtype in [(frames.LABELS, "label", "<i4"), (frames.SPLITS, "split", "u1")]:
                yield frames.pack(kind, rows[column].to_numpy().astype(dtype).tobytes(), first=first,
                                  count=len(rows), width=1)

    return frames.batches(made())


def split_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """`position` and `split` of the splits frames by position."""
    for header, payload in frames.parsed(batches):
        positions = np.arange(header.first, header.first + header.count, dtype=np.int64)
        yield _batch(position=positions, split=frames.vector(header, payload, "u1").astype(np.int32))


def member_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """`position` of the members frames by position."""
    for header, payload in frames.parsed(batches):
        yield _batch(position=frames.vector(header, payload, "<u4").astype(np.int64))


_SCORE = np.dtype([("score", "<f4"), ("suggested", "<i4"), ("confidence", "<f4")])


def score_rows(starts: Sequence[int]) -> Task:
    """`number`, `score`, `suggested` and `confidence` of scores frames; null where there is none."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for header, payload in frames.parsed(batches):
            rows = frames.vector(header, payload, _SCORE)
            first, suggested = starts[header.row] + header.first, rows["suggested"].astype(np.int32)
            yield _batch(
                number=np.arange(first, first + header.count, dtype=np.int64),
                score=pa.array(rows["score"], mask=np.isnan(rows["score"])),
                suggested=pa.array(suggested, mask=suggested < 0),
                confidence=pa.array(rows["confidence"], mask=np.isnan(rows["confidence"])),
            )

    return task


def _batch(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({name: pa.array(values) if isinstance(values, np.ndarray) else values
                                       for name, values in columns.items()})
