"""Frames: blocks of a graph as bytes, with a header and a checksum. Data sets of Spark hold them whole.

All numbers are little endian. A frame is a header of 40 bytes and a payload. Who makes a frame computes its checksum,
and everyone who reads it compares the two, so damage on the way does not stay hidden.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from .errors import FrameError

MAGIC, VERSION = b"GCwk", 1
GREATEST_PAYLOAD = 64 << 20
AIM_PAYLOAD = 4 << 20

JOB, END, REPORT, GROUP = 1, 2, 3, 4
EDGES, ARCS, SUMS, STRENGTH, SLICE, DIAGONAL, LABELS, SPLITS = 10, 11, 12, 13, 14, 15, 16, 17
PREDICTIONS, BALLOTS, TESTED, FEATURES, MEMBERS, SAMPLE, SCORES, MODEL = 18, 19, 20, 21, 22, 23, 24, 25
VERDICTS = 26

_HEADER = struct.Struct("<4sBBBB8I")
HEADER_SIZE = _HEADER.size
_CHECKED = HEADER_SIZE - 4  # bytes of the header that the checksum covers

#: The columns of a data set of frames. `frame` is a whole frame; the others repeat its header.
COLUMNS = ("row", "col", "part", "kind", "first", "frame")
SPARK_SCHEMA = "row bigint, col bigint, part bigint, kind int, first bigint, frame binary"
ARROW_SCHEMA = pa.schema(
    [(name, pa.int32() if name == "kind" else pa.int64()) for name in COLUMNS[:-1]] + [("frame", pa.binary())]
)


class Header(NamedTuple):
    """The header of a frame.

    kind           a number of those above
    row, column    the ranges of nodes that it is about
    part           what the kind says
    first, count   rows
    width          columns
    length         bytes of the payload
    checksum       CRC-32 of the header before it, and of the payload
    """

    kind: int
    row: int
    column: int
    part: int
    first: int
    count: int  # type: ignore[assignment]
    width: int
    length: int
    checksum: int

    def place(self) -> str:
        """The frame in words, for errors."""
        return f"frame of kind {self.kind}, block {self.row},{self.column}, part {self.part}, row {self.first}"


def pack(
    kind: int,
    payload: bytes = b"",
    *,
    row: int = 0,
    column: int = 0,
    part: int = 0,
    first: int = 0,
    count: int = 0,
    width: int = 0,
) -> bytes:
    """A whole frame. Its numbers must be at least 0 and below 2^32, and its payload at most 64 MiB: FrameError."""
    if len(payload) > GREATEST_PAYLOAD:
        raise FrameError(f"frame of kind {kind}: got a payload of {len(payload)} bytes, want at most "
                         f"{GREATEST_PAYLOAD}")
    try:
        head = _HEADER.pack(
            MAGIC, VERSION, 0, kind, 0, row, column, part, first, count, width, len(payload), 0
        )[:_CHECKED]
    except struct.error as err:
        raise FrameError(f"frame of kind {kind}, block {row},{column}, part {part}, row {first}: {err}") from None
    return b"".join((head, struct.pack("<I", zlib.crc32(payload, zlib.crc32(head))), payload))


def parse_header(head: bytes | memoryview) -> Header:
    """The header in the first 40 bytes. FrameError if they are none, or name another version or too long a payload."""
    if len(head) < HEADER_SIZE:
        raise FrameError(f"frame: got {len(head)} bytes, want a header of {HEADER_SIZE}")
    magic, version, _, kind, _, *numbers = _HEADER.unpack_from(head)
    if magic != MAGIC:
        raise FrameError(f"frame: got magic {magic!r}, want {MAGIC!r}")
    if version != VERSION:
        raise FrameError(f"frame: got version {version}, want {VERSION}")
    header = Header(kind, *numbers)
    if header.length > GREATEST_PAYLOAD:
        raise FrameError(f"{header.place()}: got a payload of {header.length} bytes, want at most {GREATEST_PAYLOAD}")
    return header


def parse(frame: bytes | bytearray | memoryview) -> tuple[Header, memoryview]:
    """Header and payload of a whole frame: FrameError if it is damaged. The payload is borrowed from frame."""
    view = memoryview(frame)
    header = parse_header(view)
    if len(view) != HEADER_SIZE + header.length:
        raise FrameError(f"{header.place()}: got {len(view)} bytes, want {HEADER_SIZE + header.length}")
    found = zlib.crc32(view[HEADER_SIZE:], zlib.crc32(view[:_CHECKED]))
    if found != header.checksum:
        raise FrameError(f"{header.place()}: checksum {found:08x}, want {header.checksum:08x}")
    return header, view[HEADER_SIZE:]


def read(source: BinaryIO) -> tuple[Header, bytearray] | None:
    """The next frame of a stream, checked: header and whole frame. None at the end of the stream. FrameError."""
    head = source.read(HEADER_SIZE)
    if not head:
        return None
    header = parse_header(head)
    frame = bytearray(HEADER_SIZE + header.length)
    frame[:HEADER_SIZE] = head
    got = source.readinto(memoryview(frame)[HEADER_SIZE:])  # type: ignore[attr-defined]
    parse(memoryview(frame)[:HEADER_SIZE + got])
    return header, frame


def batches(every: Iterable[bytes | bytearray], aim: int = 16 << 20) -> Iterator[pa.RecordBatch]:
    """Record batches of ARROW_SCHEMA of whole frames, each of about `aim` bytes."""
    some: list[bytes | bytearray] = []
    size = 0
    for frame in every:
        some.append(frame)
        size += len(frame)
        if size >= aim:
            yield _batch(some)
            some, size = [], 0
    if some:
        yield _batch(some)


def _batch(some: list[bytes | bytearray]) -> pa.RecordBatch:
    headers = [parse_header(frame) for frame in some]
    names = ["column" if name == "col" else name for name in COLUMNS[:-1]]
    values = [[getattr(header, name) for header in headers] for name in names]
    return pa.RecordBatch.from_arrays(
        [pa.array(of, ARROW_SCHEMA.field(i).type) for i, of in enumerate([*values, some])], schema=ARROW_SCHEMA)


def of_column(batch: pa.RecordBatch | pa.Table) -> Iterator[memoryview]:
    """The frames of a batch or a table, borrowed from it."""
    column = batch.column("frame")
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        for value in chunk:
            yield memoryview(value.as_buffer())


def parsed(batches_of_frames: Iterable[pa.RecordBatch]) -> Iterator[tuple[Header, memoryview]]:
    """Header and payload of all frames, checked."""
    for batch in batches_of_frames:
        for frame in of_column(batch):
            yield parse(frame)


def vector(header: Header, payload: memoryview, dtype: Any, width: int = 1) -> np.ndarray:
    """The payload of a frame as a vector, borrowed from it: FrameError if it has another length."""
    want = header.count * width * np.dtype(dtype).itemsize
    if len(payload) != want:
        raise FrameError(f"{header.place()}: got {len(payload)} bytes for {header.count} rows, want {want}")
    return np.frombuffer(payload, dtype)
