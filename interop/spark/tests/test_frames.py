import io

import pytest

from graphcleaner_spark import frames
from graphcleaner_spark.errors import FrameError

PLACE = {"row": 3, "column": 5, "part": 7, "first": 1 << 16, "count": 2, "width": 9}


def test_a_frame_is_its_header_and_its_payload():
    frame = frames.pack(frames.SUMS, b"payload", **PLACE)
    assert frame[:36].hex(" ", 4) == "4743776b 01000c00 03000000 05000000 07000000 00000100 02000000 09000000 07000000"
    header, payload = frames.parse(frame)
    assert bytes(payload) == b"payload"
    assert header[:-1] == (frames.SUMS, 3, 5, 7, 1 << 16, 2, 9, 7)


def test_checksum_is_that_of_zlib_over_header_and_payload():
    import zlib

    frame = frames.pack(frames.END, b"abc", count=5)
    assert int.from_bytes(frame[36:40], "little") == zlib.crc32(frame[:36] + b"abc")


@pytest.mark.parametrize("at", [*range(5, 7), 8, 20, 30, 36, 39, 40, 46])
def test_a_changed_byte_is_found(at):
    frame = bytearray(frames.pack(frames.SUMS, b"payload", **PLACE))
    frame[at] ^= 1
    with pytest.raises(FrameError, match="checksum .* want "):
        frames.parse(bytes(frame))


@pytest.mark.parametrize("change, says", [
    (lambda f: b"GCwx" + f[4:], "got magic b'GCwx', want b'GCwk'"),
    (lambda f: f[:4] + b"\2" + f[5:], "got version 2, want 1"),
    (lambda f: f[:20], "got 20 bytes, want a header of 40"),
    (lambda f: f[:-1], "block 3,5, part 7, row 65536: got 46 bytes, want 47"),
    (lambda f: f[:32] + (65 << 20).to_bytes(4, "little") + f[36:], "got a payload of 68157440 bytes, want at most "
                                                                   "67108864"),
])
def test_refusals_name_what_is_wrong(change, says):
    with pytest.raises(FrameError) as err:
        frames.parse(change(frames.pack(frames.SUMS, b"payload", **PLACE)))
    assert says in str(err.value)


@pytest.mark.parametrize("value", [-1, 1 << 32])
def test_numbers_beyond_32_bits_are_refused(value):
    with pytest.raises(FrameError, match="row"):
        frames.pack(frames.SUMS, first=value)


def test_too_long_a_payload_is_refused():
    with pytest.raises(FrameError, match="want at most 67108864"):
        frames.pack(frames.SUMS, bytes(frames.GREATEST_PAYLOAD + 1))


def test_a_stream_is_read_frame_by_frame():
    whole = [frames.pack(frames.LABELS, bytes([i] * i), first=i) for i in range(3)]
    source = io.BytesIO(b"".join(whole))
    assert [bytes(frames.read(source)[1]) for _ in whole] == whole
    assert frames.read(source) is None


def test_a_torn_stream_is_found():
    frame = frames.pack(frames.LABELS, b"payload", row=2)
    for length in range(1, len(frame)):
        with pytest.raises(FrameError):
            frames.read(io.BytesIO(frame[:length]))


def test_batches_hold_frames_whole_and_stay_small():
    whole = [frames.pack(frames.SLICE, bytes(1000), row=i, column=2 * i, part=3, first=i, count=1) for i in range(10)]
    batches = list(frames.batches(whole, aim=3000))
    assert [batch.num_rows for batch in batches] == [3, 3, 3, 1]
    assert [bytes(f) for batch in batches for f in frames.of_column(batch)] == whole
    assert batches[1].column("col").to_pylist() == [6, 8, 10]
    assert batches[0].schema == frames.ARROW_SCHEMA
