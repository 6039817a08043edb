"""Frames: blocks of a graph as bytes, with a header and a checksum. Data sets of Spark hold them whole.

All numbers are little endian. A frame is a header of 40 bytes and a payload. Who makes a frame computes its checksum, and
everyone who reads it compares the two, so damage on the way does not stay hidden.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from .errors import FrameError

MAGIC, VERSION = b"GCwk", 1
GREATEST_PAYLOAD = 64 << 20
AIM_PAYLOAD = 4 << 20

OPERATIONS = {
    name: number
    for number, name in enumerate(
        "source arcs merge strength multiply add triangles census noise fit score pack".split()
    )
}

JOB, END, REPORT, GROUP = 1, 2, 3, 4
EDGES, ARCS, SUMS, STRENGTH, SLICE, DIAGONAL, LABELS, SPLITS = 10, 11, 12, 13, 14, 15, 16, 17
PREDICTIONS, BALLOTS, TESTED, FEATURES, MEMBERS, SAMPLE, SCORES, MODEL = 18, 19, 20, 21, 22, 23, 24, 25
VERDICTS, PAIRS, INPUTS = 26, 27, 28

_HEADER = struct.Struct("<4sBBBB8I")
HEADER_SIZE = _HEADER.size
_CHECKED = HEADER_SIZE - 4  # bytes of the header that the checksum covers

#: The columns of a data set of frames. `frame` is a whole frame; the others repeat its header.
COLUMNS = ("row", "col", "part", "kind", "first", "count", "frame")
SPARK_SCHEMA = "row bigint, col bigint, part bigint, kind int, first bigint, count bigint, frame binary"
ARROW_SCHEMA = pa.schema(
    [(name, pa.int32() if name == "kind" else pa.int64()) for name in COLUMNS[:-1]] + [("frame", pa.binary())]
)


class Header(NamedTuple):
    """The header of a frame.

    operation, kind   numbers of OPERATIONS and of the kinds above
    row, column       the ranges of nodes that it is about
    part              what the kind says
    first, count      rows
    width             columns
    length            bytes of the payload
    checksum          CRC-32 of the header before it, and of the payload
    """

    operation: int
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
    operation: int = 0,
    row: int = 0,
    column: int = 0,
    part: int = 0,
    first: int = 0,
    count: int = 0,
    width: int = 0,
) -> bytes:
    """A whole frame. Its numbers must be at least 0 and below 2^32, and its payload at most 64 MiB: FrameError."""
    if len(payload) > GREATEST_PAYLOAD:
        raise FrameError(f"frame of kind {kind}: got a payload of {len(payload)} bytes, want at most {GREATEST_PAYLOAD}")
    try:
        head = _HEADER.pack(
            MAGIC, VERSION, operation, kind, 0, row, column, part, first, count, width, len(payload), 0
        )[:_CHECKED]
    except struct.error as err:
        raise FrameError(f"frame of kind {kind}, block {row},{column}, part {part}, row {first}: {err}") from None
    return b"".join((head, struct.pack("<I", zlib.crc32(payload, zlib.crc32(head))), payload))


def parse_header(head: bytes | memoryview) -> Header:
    """The header in the first 40 bytes. FrameError if they are none, or name another version or too long a payload."""
    if len(head) < HEADER_SIZE:
        raise FrameError(f"frame: got {len(head)} bytes, want a header of {HEADER_SIZE}")
    magic, version, operation, kind, _, *numbers = _HEADER.unpack_from(head)
    if magic != MAGIC:
        raise FrameError(f"frame: got magic {magic!r}, want {MAGIC!r}")
    if version != VERSION:
        raise FrameError(f"frame: got version {version}, want {VERSION}")
    header = Header(operation, kind, *numbers)
    if header.length > GREATEST_PAYLOAD:
        raise FrameError(f"{header.place()}: got a payload of {header.length} bytes, want at most {GREATEST_PAYLOAD}")
    return header


def check(header: Header, frame: bytes | bytearray | memoryview) -> None:
    """Compares the length and the checksum of a whole frame with its header: FrameError."""
    view = memoryview(frame)
    if len(view) != HEADER_SIZE + header.length:
        raise FrameError(f"{header.place()}: got {len(view)} bytes, want {HEADER_SIZE + header.length}")
    found = zlib.crc32(view[HEADER_SIZE:], zlib.crc32(view[:_CHECKED]))
    if found != header.checksum:
        raise FrameError(f"{header.place()}: checksum {found:08x}, want {header.checksum:08x}")


def parse(frame: bytes | bytearray | memoryview) -> tuple[Header, memoryview]:
    """Header and payload of a whole frame, checked: FrameError. The payload is borrowed from frame."""
    view = memoryview(frame)
    header = parse_header(view)
    check(header, view)
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
    if got != header.length:
        raise FrameError(f"{header.place()}: ends after {got} of {header.length} bytes")
    check(header, frame)
    return header, frame


class Batches:
    """Gathers frames to record batches of ARROW_SCHEMA, each of about `aim` bytes."""

    def __init__(self, aim: int = 16 << 20):
        self._aim = aim
        self._headers: list[Header] = []
        self._frames: list[bytes | bytearray] = []
        self._size = 0

    def add(self, header: Header, frame: bytes | bytearray) -> pa.RecordBatch | None:
        """Takes a whole frame. Returns a batch if it is full."""
        self._headers.append(header)
        self._frames.append(frame)
        self._size += len(frame)
        return self.rest() if self._size >= self._aim else None

    def pack(self, kind: int, payload: bytes, **place: int) -> pa.RecordBatch | None:
        """Makes a frame and takes it: see pack."""
        frame = pack(kind, payload, **place)
        return self.add(parse_header(frame), frame)

    def rest(self) -> pa.RecordBatch | None:
        """What is not returned yet; None if that is nothing."""
        if not self._frames:
            return None
        lengths = np.fromiter(map(len, self._frames), np.int32, len(self._frames))
        offsets = np.zeros(len(self._frames) + 1, np.int32)
        np.cumsum(lengths, out=offsets[1:])
        frames = pa.Array.from_buffers(
            pa.binary(),
            len(self._frames),
            [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(self._frames))],
        )
        columns = [
            pa.array([getattr(h, "column" if name == "col" else name) for h in self._headers], ARROW_SCHEMA.field(name).type)
            for name in COLUMNS[:-1]
        ]
        self._headers, self._frames, self._size = [], [], 0
        return pa.RecordBatch.from_arrays([*columns, frames], schema=ARROW_SCHEMA)


def binaries(column: pa.Array) -> Iterable[memoryview]:
    """The values of a binary column, borrowed from it. No value may be null."""
    for value in column:
        yield memoryview(value.as_buffer())
