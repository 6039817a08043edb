"""Runs `graphcleaner worker` in the tasks of Spark: frames go in, frames come out.

A task starts one process. A thread writes to it, the task itself reads from it, so neither waits for the other with a full
pipe. The process never outlives its task.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from . import frames
from .errors import FrameError, WorkerError
from .frames import Header

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Job = dict[str, Any]
#: Makes whole frames, group frames included, of the record batches of a task.
Feed = Callable[[Iterator[pa.RecordBatch], Job], Iterable["bytes | memoryview"]]

#: The columns that name the group of a frame.
GROUP_COLUMNS = ("group_row", "group_col", "group_part")

_PIPE_BYTES = 1 << 20
_BAD_FRAME = ": bad frame: "  # what the worker says of one that it gets
_PATIENCE = 10.0  # seconds for a process to end, after it has closed its output or its input


def find_binary(name: str) -> str:
    """The path of the binary on this machine: a path as it is, a name among the files that Spark ships, then in PATH."""
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
        raise WorkerError(f"{name}: no such program among the files of Spark or in PATH, want --binary, or --files {name}")
    return found


def exchange(binary: str, job: Job, feed: Iterable[bytes | memoryview]) -> Iterator[tuple[Header, bytearray]]:
    """Sends a job and frames to a worker, and yields the frames it answers with, checked.

    WorkerError if the process fails or answers with damaged frames, FrameError if it gets some, and whatever the feed raises. When the
    iterator is closed, the process is killed. The feed is read in a thread of its own.
    """
    # What it sorts on the disk lies where Spark keeps its own files, and goes with the process, however that ends.
    disks = [folder for folder in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if os.path.isdir(folder)]
    disk = random.choice(disks) if disks else None
    with tempfile.TemporaryFile() as messages, tempfile.TemporaryDirectory(prefix="graphcleaner-", dir=disk) as own:
        try:
            process = subprocess.Popen(
                [binary, "worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages, env={**os.environ, "TMPDIR": own}
            )
        except OSError as err:
            raise WorkerError(f"{binary}: {err.strerror or err}") from None
        writer = _Writer(process, job, feed)
        try:
            _widen(process)
            writer.start()
            yield from _answers(process, job["op"], writer, messages)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdout.close()  # type: ignore[union-attr]
            writer.join(1.0)  # it may wait for input of Spark, which ends with the task


class _Writer(threading.Thread):
    """Writes job, frames and end frame to a process. `error` is what ended it, except that the process reads no more."""

    def __init__(self, process: subprocess.Popen[bytes], job: Job, feed: Iterable[bytes | memoryview]):
        super().__init__(name="graphcleaner worker feed", daemon=True)
        self._process, self._job, self._feed = process, job, feed
        self.error: BaseException | None = None

    def run(self) -> None:
        operation = frames.OPERATIONS[self._job["op"]]
        pipe = self._process.stdin
        assert pipe is not None
        try:
            payload = json.dumps(self._job, separators=(",", ":"), allow_nan=False).encode()
            pipe.write(frames.pack(frames.JOB, payload, operation=operation))
            count = 0
            for frame in self._feed:
                pipe.write(frame)
                count += 1
            pipe.write(frames.pack(frames.END, operation=operation, count=count % (1 << 32)))
            pipe.flush()
        except BrokenPipeError:
            pass  # the process says why
        except BaseException as err:  # noqa: BLE001 - the task raises it
            self.error = err
        finally:
            # Without an end frame the process fails at the end of its input.
            try:
                pipe.close()
            except BrokenPipeError:
                pass


def _answers(
    process: subprocess.Popen[bytes], operation: str, writer: _Writer, messages: Any
) -> Iterator[tuple[Header, bytearray]]:
    count, ended, damage = 0, False, None
    try:
        while (frame := frames.read(process.stdout)) is not None:  # type: ignore[arg-type]
            header = frame[0]
            if ended:
                raise FrameError(f"{header.place()}: comes after the end frame")
            if header.kind != frames.END:
                count += 1
                yield frame
                continue
            if header.count != count % (1 << 32):
                raise FrameError(f"end frame: got {count} frames before it, want {header.count}")
            ended = True
    except FrameError as err:
        damage = err
    if damage is not None and process.poll() is None:
        # A process that dies tears its last frame. How it died says more.
        try:
            process.wait(0.5)
        except subprocess.TimeoutExpired:
            process.kill()
            raise WorkerError(f"graphcleaner worker: {operation}: its output: {damage}") from None
    try:
        code = process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        raise WorkerError(f"graphcleaner worker: {operation}: closed its output and went on") from None
    if code == 0:
        writer.join(_PATIENCE)
    if writer.error is not None:
        raise writer.error
    if code != 0:
        said = _last_line(messages)
        if _BAD_FRAME in said:
            raise FrameError(said)
        raise WorkerError(said or f"graphcleaner worker: {operation}: {_death(code)}")
    if damage is not None:
        raise WorkerError(f"graphcleaner worker: {operation}: its output: {damage}")
    if not ended:
        raise WorkerError(f"graphcleaner worker: {operation}: its output ends without an end frame")


def _death(code: int) -> str:
    return f"killed by signal {-code}" if code < 0 else f"exit code {code} without a message"


def _last_line(messages: Any) -> str:
    """The last line that the process wrote to standard error."""
    size = messages.seek(0, os.SEEK_END)
    messages.seek(max(0, size - 4096))
    lines = messages.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _widen(process: subprocess.Popen[bytes]) -> None:
    """Pipes of the system's default size make both sides wait more often."""
    try:
        import fcntl

        for pipe in (process.stdin, process.stdout):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)  # type: ignore[arg-type]
    except (ImportError, AttributeError, OSError):
        pass  # it only costs time


def frames_feed(batches: Iterator[pa.RecordBatch], job: Job) -> Iterator[bytes | memoryview]:
    """The column `frame` as it is. Where the batches have GROUP_COLUMNS, a group frame comes before each group."""
    operation = frames.OPERATIONS[job["op"]]
    group: tuple[int, ...] | None = None
    for batch in batches:
        values = frames.binaries(batch.column("frame"))
        if GROUP_COLUMNS[0] not in batch.schema.names:
            yield from values
            continue
        groups = zip(*(batch.column(name).to_pylist() for name in GROUP_COLUMNS), strict=True)
        for next_group, frame in zip(groups, values, strict=True):
            if next_group != group:
                group = next_group
                row, column, part = group
                yield frames.pack(frames.GROUP, operation=operation, row=row, column=column, part=part)
            yield frame


def deal(df: DataFrame, place: Column, partitions: int) -> DataFrame:
    """Brings every row to the partition that place names, modulo partitions: even loads, where hashes would meet."""
    from pyspark.sql import functions as F

    return df.repartitionById(partitions, F.pmod(place, F.lit(partitions)).cast("int"))


def run(
    df: DataFrame,
    job: Job,
    *,
    binary: str,
    group: Sequence[Column] | None = None,
    place: Column | None = None,
    order: Sequence[Column] = (),
    partitions: int = 0,
    feed: Feed = frames_feed,
) -> DataFrame:
    """A data set of the frames that workers answer with, one worker for each partition that is not empty.

    df          frames, or what feed makes frames of
    job         sent to every worker, with "task": the number of the partition
    binary      see find_binary
    group       row, column and part of the group of a frame; a group must lie in one partition. None: no groups
    place       the number of the partition that a frame belongs in; taken modulo partitions. None: as df is
    order       of the frames in a group, or in a partition
    """
    columns = list(df.columns)
    if group is not None:
        df = df.withColumns(dict(zip(GROUP_COLUMNS, group, strict=True)))
        columns += GROUP_COLUMNS
    if place is not None:
        df = deal(df, place, partitions)
    keys = [*(GROUP_COLUMNS if group is not None else ()), *order]
    if keys:
        df = df.sortWithinPartitions(*keys)
    if feed is frames_feed:
        columns = [*(GROUP_COLUMNS if group is not None else ()), "frame"]
    return df.select(*columns).mapInArrow(_task(binary, job, feed), frames.SPARK_SCHEMA)


def _task(binary: str, job: Job, feed: Feed) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        some = _some(batches)
        if some is None:
            return
        context = TaskContext.get()
        of_task = {**job, "task": context.partitionId() if context is not None else 0}
        gathered = frames.Batches()
        answers = exchange(find_binary(binary), of_task, feed(some, of_task))
        try:
            for header, frame in answers:
                batch = gathered.add(header, frame)
                if batch is not None:
                    yield batch
        finally:
            answers.close()  # type: ignore[attr-defined]
        batch = gathered.rest()
        if batch is not None:
            yield batch

    return task


def _some(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch] | None:
    """The batches that have rows; None if none has."""
    full = (batch for batch in batches if batch.num_rows)
    first = next(full, None)
    if first is None:
        return None

    def chained() -> Iterator[pa.RecordBatch]:
        yield first
        yield from full

    return chained()


def run_here(binary: str, job: Job, feed: Iterable[bytes | memoryview]) -> list[tuple[Header, bytearray]]:
    """What a worker on this machine answers to a job, all of it in memory."""
    return list(exchange(find_binary(binary), {**job, "task": 0}, feed))


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


def merge_reports(reports: Iterable[Any]) -> Any:
    """One report of many: numbers are added, lists elementwise, lists of [i, j, x] by i and j, objects by key.

    None counts as nothing. Of truths and texts the first stays. WorkerError if two do not fit.
    """
    merged: Any = None
    for report in reports:
        merged = _merge(merged, report, "report")
    return merged


def _merge(a: Any, b: Any, where: str) -> Any:
    if a is None or b is None:
        return b if a is None else a
    if type(a) is not type(b) and not (isinstance(a, (int, float)) and isinstance(b, (int, float))):
        raise WorkerError(f"{where}: got {type(b).__name__} and {type(a).__name__}, want the same of every worker")
    if isinstance(a, dict):
        return {
            key: _merge_cells(a.get(key), b.get(key)) if key == "cells" else _merge(a.get(key), b.get(key), f"{where} {key}")
            for key in {**a, **b}
        }
    if isinstance(a, list):
        if len(a) != len(b):
            raise WorkerError(f"{where}: got lists of {len(a)} and {len(b)}, want the same length of every worker")
        return [_merge(x, y, where) for x, y in zip(a, b, strict=True)]
    return a if isinstance(a, (bool, str)) else a + b


def _merge_cells(a: list[list[Any]] | None, b: list[list[Any]] | None) -> list[list[Any]]:
    counts: dict[tuple[int, int], Any] = {}
    for i, j, x in [*(a or ()), *(b or ())]:
        counts[i, j] = counts.get((i, j), 0) + x
    return [[i, j, x] for (i, j), x in sorted(counts.items())]
