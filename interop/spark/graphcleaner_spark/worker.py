"""Runs `graphcleaner worker` in the tasks of Spark: frames go in, frames come out.

A task starts one process. A thread writes to it, the task itself reads from it, so neither waits for the other with a
full pipe. The process never outlives its task.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from . import frames
from .errors import FrameError, WorkerError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Job = dict[str, Any]
#: Makes whole frames, group frames included, of the record batches of a task.
Feed = Callable[[Iterator[pa.RecordBatch], Job], Iterable["bytes | memoryview"]]

#: The columns that name the group of a frame.
GROUP_COLUMNS = ("group_row", "group_col", "group_part")

_BAD_FRAME = ": bad frame: "  # what the worker says of one that it gets
_PATIENCE = 10.0  # seconds for a process to end, after it has closed its output


def find_binary(name: str) -> str:
    """The path of the binary on this machine: a path as it is, a name among the files that Spark ships, then in
    PATH.
    """
    if os.sep in name:
        return name
    from pyspark import SparkFiles

    try:
        shipped = SparkFiles.get(name)
    except (AssertionError, AttributeError):  # outside of a task and of a session
        shipped = ""
    if shipped and os.access(shipped, os.X_OK):
        return shipped
    found = shutil.which(name)
    if found is None:
        raise WorkerError(f"{name}: no such program among the files of Spark or in PATH, want --binary, or --files "
                          f"{name}")
    return found


def exchange(binary: str, job: Job, feed: Iterable[bytes | memoryview]) -> Iterator[bytearray]:
    """Sends a job and frames to a worker, and yields the frames it answers with, checked.

    WorkerError if the process fails or answers with damaged frames, FrameError if it gets some, and whatever the feed
    raises. When the iterator is closed, the process is killed. The feed is read in a thread of its own.
    """
    failed: list[BaseException] = []
    with tempfile.TemporaryFile() as messages:
        try:
            process = subprocess.Popen([binary, "worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=messages)
        except OSError as err:
            raise WorkerError(f"{binary}: {err.strerror or err}") from None
        writer = threading.Thread(target=_write, args=(process.stdin, job, feed, failed), daemon=True)
        writer.start()
        try:
            damage = yield from _answers(process)
            try:
                # A process that dies tears its last frame: how it died says more. One that goes on has written damage.
                code = process.wait(_PATIENCE)
                writer.join(_PATIENCE)
            except subprocess.TimeoutExpired:
                code, damage = 0, damage or "ends, and the process goes on"
            if failed:
                raise failed[0]
            said = _last_line(messages)
            if code and _BAD_FRAME in said:
                raise FrameError(said)
            if code:
                death = f"killed by signal {-code}" if code < 0 else f"exit code {code} without a message"
                raise WorkerError(said or f"graphcleaner worker: {job['op']}: {death}")
            if damage:
                raise WorkerError(f"graphcleaner worker: {job['op']}: its output: {damage}")
        finally:
            process.kill()
            process.wait()
            process.stdout.close()  # type: ignore[union-attr]
            writer.join(1.0)  # it may wait for input of Spark, which ends with the task


def _write(pipe: Any, job: Job, feed: Iterable[bytes | memoryview], failed: list[BaseException]) -> None:
    """Writes job, frames and end frame to a process. What ends it goes to failed, except that the process reads no
    more.
    """
    count = 0
    try:
        pipe.write(frames.pack(frames.JOB, json.dumps(job, allow_nan=False).encode()))
        for frame in feed:
            pipe.write(frame)
            count += 1
        pipe.write(frames.pack(frames.END, count=count % (1 << 32)))
        pipe.flush()
    except BrokenPipeError:
        pass  # the process says why
    except BaseException as err:  # noqa: BLE001 - the task raises it
        failed.append(err)
    finally:
        try:
            pipe.close()  # without an end frame, the process fails
        except BrokenPipeError:
            pass


def _answers(process: subprocess.Popen[bytes]) -> Iterator[bytearray]:
    """The frames up to the end frame. Returns what is wrong with the output, "" for nothing."""
    count = 0
    try:
        while (found := frames.read(process.stdout)) is not None:  # type: ignore[arg-type]
            header, frame = found
            if header.kind == frames.END:
                return "" if header.count == count % (1 << 32) else f"got {count} frames, want {header.count}"
            count += 1
            yield frame
    except FrameError as err:
        return str(err)
    return "ends without an end frame"


def _last_line(messages: Any) -> str:
    """The last line that the process wrote to standard error."""
    size = messages.seek(0, os.SEEK_END)
    messages.seek(max(0, size - 4096))
    lines = messages.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def frames_feed(batches: Iterator[pa.RecordBatch], job: Job) -> Iterator[bytes | memoryview]:
    """The column `frame` as it is. Where the batches have GROUP_COLUMNS, a group frame comes before each group."""
    group: tuple[int, ...] | None = None
    for batch in batches:
        if GROUP_COLUMNS[0] not in batch.schema.names:
            yield from frames.of_column(batch)
            continue
        groups = zip(*(batch.column(name).to_pylist() for name in GROUP_COLUMNS), strict=True)
        for next_group, frame in zip(groups, frames.of_column(batch), strict=True):
            if next_group != group:
                group = next_group
                row, column, part = group
                yield frames.pack(frames.GROUP, row=row, column=column, part=part)
            yield frame


def deal(df: DataFrame, place: Column, partitions: int) -> DataFrame:
    """Brings every row to the partition that place names, modulo partitions: even loads, where hashes would meet."""
    from pyspark.sql import functions as F

    return df.repartitionById(partitions, F.pmod(place, F.lit(partitions)).cast("int"))


def run(df: DataFrame, job: Job, *, binary: str, group: Sequence[Column], place: Column, partitions: int,
        order: Sequence[Column]) -> DataFrame:
    """A data set of the frames that workers answer with, one worker for each partition that is not empty.

    df       frames
    job      sent to every worker
    group    row, column and part of the group of a frame; a group must lie in one partition
    place    the number of the partition that a frame belongs in, taken modulo partitions
    order    of the frames in a group
    """
    placed = deal(df.withColumns(dict(zip(GROUP_COLUMNS, group, strict=True))), place, partitions)
    return answers(placed.sortWithinPartitions(*GROUP_COLUMNS, *order).select(*GROUP_COLUMNS, "frame"), job,
                   binary=binary)


def answers(df: DataFrame, job: Job, *, binary: str, feed: Feed = frames_feed) -> DataFrame:
    """A data set of the frames that workers answer with to what feed makes of the rows of a partition."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        full = (batch for batch in batches if batch.num_rows)
        first = next(full, None)
        if first is not None:
            yield from frames.batches(exchange(find_binary(binary), job, feed(_chained(first, full), job)))

    return df.mapInArrow(task, frames.SPARK_SCHEMA)


def _chained(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def run_here(binary: str, job: Job, feed: Iterable[bytes | memoryview]) -> list[bytearray]:
    """What a worker on this machine answers to a job, all of it in memory."""
    return list(exchange(find_binary(binary), job, feed))


def version(binary: str) -> str:
    """What the binary says to --version. WorkerError if it is none."""
    path = find_binary(binary)
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as err:
        raise WorkerError(f"{path}: {getattr(err, 'strerror', None) or err}") from None
    if done.returncode != 0 or not done.stdout.startswith("graphcleaner"):
        said = (done.stdout.strip() or done.stderr.strip()).partition("\n")[0]
        raise WorkerError(f'{path} --version: got "{said}", want graphcleaner and a version')
    return done.stdout.strip()


def of_kind(df: DataFrame, kind: int) -> DataFrame:
    """The frames of a kind."""
    return df.where(df["kind"] == kind)


def payloads(df: DataFrame, kind: int) -> list[bytes]:
    """The payloads of the frames of a kind, on the driver."""
    rows = of_kind(df, kind).orderBy("row", "col", "part", "first").select("frame").collect()
    return [bytes(frames.parse(row["frame"])[1]) for row in rows]


def merged_reports(df: DataFrame) -> dict[str, Any]:
    """One report of those in a data set of frames."""
    return merge_reports(json.loads(report) for report in payloads(df, frames.REPORT)) or {}


def merge_reports(reports: Iterable[Any]) -> Any:
    """One report of many: numbers are added, lists elementwise, lists of [i, j, x] by i and j, objects by key.

    None counts as nothing. Of truths and texts the first stays.
    """
    merged: Any = None
    for report in reports:
        merged = _merge(merged, report)
    return merged


def _merge(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, dict):
        return {key: (_merge_cells if key == "cells" else _merge)(a.get(key), b.get(key)) for key in {**a, **b}}
    if isinstance(a, list):
        return [_merge(x, y) for x, y in zip(a, b, strict=True)]
    return a if isinstance(a, (bool, str)) else a + b


def _merge_cells(a: list[list[Any]] | None, b: list[list[Any]] | None) -> list[list[Any]]:
    counts: dict[tuple[int, int], Any] = {}
    for i, j, x in [*(a or ()), *(b or ())]:
        counts[i, j] = counts.get((i, j), 0) + x
    return [[i, j, x] for (i, j), x in sorted(counts.items())]
