"""Makes frames of columns, and columns of frames. These functions run in the tasks of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from . import frames
from .errors import FrameError, GraphcleanerError
from .plan import chunk_bases

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

CENSUS_ROWS = 1 << 20  # positions of a frame that the census reads
_EDGES = 1 << 17  # of a frame


def edges_feed(batches: Iterator[pa.RecordBatch], job: dict[str, Any]) -> Iterator[bytes]:
    """Edges frames of the columns source, target (numbers of nodes) and, if the job is weighted, weight (float32)."""
    weighted = job["weighted"]
    for batch in batches:
        source, target = (batch.column(name).to_numpy().astype("<u8") for name in ("source", "target"))
        weight = batch.column("weight").to_numpy().astype("<f4") if weighted else None
        for at in range(0, batch.num_rows, _EDGES):
            part = slice(at, at + _EDGES)
            payload = source[part].tobytes() + target[part].tobytes()
            if weight is not None:
                payload += weight[part].tobytes()
            yield frames.pack(
                frames.EDGES, payload, count=len(source[part]), width=int(weighted)
            )


def addressed(starts: Sequence[int], chunk: int, kept: Sequence[str]) -> Task:
    """Adds where a node is to batches with its `number`: `chunk` (the number of its chunk in all), `row` (its range) and
    `local`. The columns kept come after them."""
    first = np.array(starts[:-1], np.int64)
    bases = np.array(chunk_bases(starts, chunk)[:-1], np.int64)

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            number = batch.column("number").to_numpy()
            row = np.searchsorted(first, number, "right") - 1
            local = number - first[row]
            columns = [pa.array(bases[row] + local // chunk), pa.array(row), pa.array(local)]
            yield pa.RecordBatch.from_arrays(
                [*columns, *(batch.column(name) for name in kept)], ["chunk", "row", "local", *kept]
            )

    return task


Maker = Callable[[dict[str, int], pa.Table], Iterable[tuple[int, bytes, dict[str, int]]]]


def chunk_frames(starts: Sequence[int], chunk: int, make: Maker) -> Task:
    """Frames of batches sorted by `chunk` and `local`, as addressed makes them: all rows of a chunk, in their order.

    make gets row and first of a chunk, and its rows, and yields kind, payload, and count and width of frames.
    """

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gathered = frames.Batches()
        for rows in runs(batches, "chunk"):
            row, first = rows["row"][0].as_py(), rows["local"][0].as_py()
            count = min(chunk, starts[row + 1] - starts[row] - first)
            local = rows["local"].to_numpy()
            if first % chunk or len(local) != count or not np.array_equal(local, np.arange(first, first + count)):
                raise GraphcleanerError(f"chunk of range {row} at row {first}: got {len(local)} rows, want {count}, each once")
            for kind, payload, numbers in make({"row": row, "first": first}, rows):
                batch = gathered.pack(kind, payload, row=row, first=first, **numbers)
                if batch is not None:
                    yield batch
        rest = gathered.rest()
        if rest is not None:
            yield rest

    return task


def runs(batches: Iterator[pa.RecordBatch], key: str) -> Iterator[pa.Table]:
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


def backbone(classes: int) -> Maker:
    """Labels and predictions frames of the columns `label` (a class or -1) and `predictions` (binary, null: none)."""
    none = np.full(classes, np.nan, "<f4").tobytes()

    def make(place: dict[str, int], rows: pa.Table) -> Iterator[tuple[int, bytes, dict[str, int]]]:
        yield from labels(place, rows)
        payload = b"".join(none if p is None else p for p in rows["predictions"].to_pylist())
        yield frames.PREDICTIONS, payload, {"count": len(rows), "width": classes}

    return make


def labels(place: dict[str, int], rows: pa.Table) -> Iterator[tuple[int, bytes, dict[str, int]]]:
    """Labels frames of the column `label` (a class or -1)."""
    yield frames.LABELS, rows["label"].to_numpy().astype("<i4").tobytes(), {"count": len(rows), "width": 1}


def splits_and_members(place: dict[str, int], rows: pa.Table) -> Iterator[tuple[int, bytes, dict[str, int]]]:
    """Splits frames, and members frames where there are some, of the columns `split` and `member`."""
    yield frames.SPLITS, rows["split"].to_numpy().astype("u1").tobytes(), {"count": len(rows), "width": 1}
    members = rows["local"].to_numpy()[rows["member"].to_numpy()]
    if len(members):
        yield frames.MEMBERS, members.astype("<u4").tobytes(), {"count": len(members), "width": 1}


def census_frames(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Labels and splits frames by position, of batches sorted by `piece` and `position`, with `label` and `split`."""
    gathered = frames.Batches()
    for rows in runs(batches, "piece"):
        first = rows["position"][0].as_py()
        for kind, column, dtype in [(frames.LABELS, "label", "<i4"), (frames.SPLITS, "split", "u1")]:
            payload = rows[column].to_numpy().astype(dtype).tobytes()
            batch = gathered.pack(kind, payload, first=first, count=len(rows), width=1)
            if batch is not None:
                yield batch
    rest = gathered.rest()
    if rest is not None:
        yield rest


def split_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """`position` and `split` of the splits frames by position."""
    for header, payload in _parsed(batches):
        positions = np.arange(header.first, header.first + header.count, dtype=np.int64)
        yield _batch(position=positions, split=vector(header, payload, "u1", 1).astype(np.int32))


def member_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """`position` of the members frames by position."""
    for header, payload in _parsed(batches):
        yield _batch(position=vector(header, payload, "<u4", 1).astype(np.int64))


def member_frames(chunk: int) -> Task:
    """Members frames of batches sorted by `chunk` and `local`, as addressed makes them: some rows of a chunk."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gathered = frames.Batches()
        for rows in runs(batches, "chunk"):
            local = rows["local"].to_numpy()
            batch = gathered.pack(
                frames.MEMBERS, local.astype("<u4").tobytes(), row=rows["row"][0].as_py(),
                first=int(local[0]) // chunk * chunk, count=len(local), width=1)
            if batch is not None:
                yield batch
        rest = gathered.rest()
        if rest is not None:
            yield rest

    return task


def pair_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """`source`, `target` and `weight` (null without one) of pairs frames and edges frames."""
    for header, payload in _parsed(batches):
        ends, rest = payload[:16 * header.count], payload[16 * header.count:]
        source, target = vector(header, ends, "<i8", 2).reshape(2, header.count)
        weight = vector(header, rest, "<f4", header.width)
        yield _batch(source=source, target=target, weight=pa.array(weight) if header.width else pa.nulls(header.count, pa.float32()))


def member_values(starts: Sequence[int]) -> Task:
    """`number` and `p` (a list of float32) of the members of each `chunk`, of a frame of values and one of members."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in runs(batches, "chunk"):
            (header, payload), (of, members) = (
                frames.parse(frame) for column in rows["frame"].chunks for frame in frames.binaries(column))
            values = vector(header, payload, "<f4", header.width).reshape(header.count, header.width)
            local = vector(of, members, "<u4", 1).astype(np.int64)
            kept = np.ascontiguousarray(values[local - header.first])
            offsets = np.arange(len(kept) + 1, dtype=np.int32) * np.int32(header.width)
            yield _batch(number=starts[of.row] + local, p=pa.ListArray.from_arrays(pa.array(offsets), pa.array(kept.ravel())))

    return task


_SCORE = np.dtype([("score", "<f4"), ("suggested", "<i4"), ("confidence", "<f4")])


def score_rows(starts: Sequence[int]) -> Task:
    """`number`, `score`, `suggested` and `confidence` of scores frames; null where there is none."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for header, payload in _parsed(batches):
            rows = vector(header, payload, _SCORE, 1)
            suggested = rows["suggested"].astype(np.int32)
            yield _batch(
                number=_numbers_of(starts, header),
                score=pa.array(rows["score"], mask=np.isnan(rows["score"])),
                suggested=pa.array(suggested, mask=suggested < 0),
                confidence=pa.array(rows["confidence"], mask=np.isnan(rows["confidence"])),
            )

    return task


def feature_rows(starts: Sequence[int]) -> Task:
    """`number`, `part` and `value` (of the given label) of features frames; null where there is none."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for header, payload in _parsed(batches):
            values = np.ascontiguousarray(vector(header, payload, "<f4", header.width).reshape(-1, header.width)[:, 0])
            yield _batch(
                number=_numbers_of(starts, header),
                part=np.full(header.count, header.part, np.int32),
                value=pa.array(values, mask=np.isnan(values)),
            )

    return task


def _numbers_of(starts: Sequence[int], header: frames.Header) -> np.ndarray:
    first = starts[header.row] + header.first
    return np.arange(first, first + header.count, dtype=np.int64)


def _parsed(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[frames.Header, memoryview]]:
    for batch in batches:
        for frame in frames.binaries(batch.column("frame")):
            yield frames.parse(frame)


def vector(header: frames.Header, payload: memoryview, dtype: Any, width: int) -> np.ndarray:
    """The payload of a frame as a vector, borrowed from it: FrameError if it has another length."""
    want = header.count * width * np.dtype(dtype).itemsize
    if len(payload) != want:
        raise FrameError(f"{header.place()}: got {len(payload)} bytes for {header.count} rows, want {want}")
    return np.frombuffer(payload, dtype)


def _batch(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({name: pa.array(values) if isinstance(values, np.ndarray) else values
                                       for name, values in columns.items()})
