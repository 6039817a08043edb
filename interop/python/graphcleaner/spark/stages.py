"""Stages: each writes a data set and remembers what it was made of, so that a later start goes on after the last one."""

from __future__ import annotations

import hashlib
import json
import math
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from . import frames
from .errors import FrameError, GraphcleanerError, InputError, raised_in_task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FORMAT = 3  # of what the stages write
_BEAT = 10.0  # seconds after which a run counts on
_WAIT = 3 * _BEAT  # to see whether another run lives
_PATTERN = re.compile(r"[\\*?\[\]{}]")  # letters of a path that Spark and Hadoop take for patterns

_UNREAD = re.compile(r"\[FAILED_READ_FILE\S*\] Encountered error while reading file (\S+)\.\s")

# A frame has up to 4 MiB, so a few of them are a batch. The columns of a table are read in batches of Spark's usual size.
_FRAMES_READ, _ROWS_READ = 8, 4096
_SETTINGS: dict[str, str | int] = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": 1 << 17,
    "spark.sql.execution.arrow.maxBytesPerBatch": 32 << 20,
    "spark.sql.maxConcurrentOutputFileWriters": 16,  # else a task sorts its frames by kind before it writes them
    "spark.sql.parquet.columnarReaderBatchSize": _ROWS_READ,
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.caseSensitive": "true",  # classes are columns
}
# Pages and row groups are measured after every row: a hundred frames are too much to hold.
_FRAME_OPTIONS: dict[str, str | int] = {
    "parquet.page.size.row.check.min": 1,
    "parquet.block.size.row.check.min": 1,
    "parquet.block.size.row.check.max": 1,
    "parquet.page.size.row.check.max": 1,
    "parquet.block.size": 32 << 20,
    "parquet.enable.dictionary": "false",
}


@contextmanager
def settings(spark: SparkSession) -> Iterator[None]:
    """Sets what the stages need in a session, and puts back what was there."""
    before = {name: spark.conf.get(name) for name in _SETTINGS}
    try:
        for name, value in _SETTINGS.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, text in before.items():
            spark.conf.set(name, text)  # type: ignore[arg-type]


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turns what Spark makes of an error into one sentence: a GraphcleanerError."""
    try:
        yield
    except (PySparkException, Py4JError) as err:
        ours = raised_in_task(err)
        if ours is not None:
            raise ours from None
        file = _unread_file(err)
        if file is not None:
            raise InputError(f"{file}: {one_line(err)}") from None
        raise GraphcleanerError(f"Spark: {one_line(err)}") from err


@contextmanager
def _naming(folders: Sequence[str]) -> Iterator[None]:
    """Says in the error of a damaged frame which folders were read, and in that of a damaged file in which of them it is."""
    try:
        yield
    except (PySparkException, Py4JError, FrameError) as err:
        ours = err if isinstance(err, FrameError) else raised_in_task(err)
        if isinstance(ours, FrameError) and folders:
            raise FrameError(f"{ours}. It is in one of {', '.join(folders)}: remove that folder and start again") from None
        file = _unread_file(err) or ""
        for folder in folders:
            if ours is None and f"/work/{folder.rpartition('/')[2]}/" in file:
                raise GraphcleanerError(f"{file}: {one_line(err)}. Remove the folder {folder} and start again") from None
        raise


def one_line(err: BaseException) -> str:
    """What Spark says of the cause of an error."""
    java = getattr(err, "java_exception", None)
    while java is not None and java.getCause() is not None:
        java = java.getCause()
    text = str(err) if java is None else java.toString()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any(line.startswith("Traceback ") for line in lines):
        return lines[-1]  # what an error of Python ends with
    return lines[0] if lines else type(err).__name__


def _unread_file(err: BaseException) -> str | None:
    """The file that Spark has failed to read. None if an error is of something else."""
    found = _UNREAD.search(str(err))
    return unquote(found[1]).removeprefix("file://") if found else None


def literal(path: str) -> str:
    """A path as the readers of Spark want it: they take some letters for patterns, which writers and Files do not."""
    return _PATTERN.sub(r"\\\g<0>", path)


def open_parquet(spark: SparkSession, path: str, schema: str | None = None) -> DataFrame:
    """The table of parquet files at a path, whatever its letters are. Without a schema, that of one of the files."""
    reader = spark.read if schema is None else spark.read.schema(schema)
    return reader.parquet(literal(path))


class Files:
    """Files that Spark reaches: paths are those of its data sets."""

    def __init__(self, spark: SparkSession):
        self._jvm: Any = spark._jvm
        self._conf = spark._jsc.hadoopConfiguration()

    def _open(self, path: str) -> tuple[Any, Any]:
        place = self._jvm.org.apache.hadoop.fs.Path(path)
        return place.getFileSystem(self._conf), place

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder."""
        fs, place = self._open(path)
        return bool(fs.exists(place))

    def resolved(self, path: str) -> str:
        """A path that is there, as a listing has it."""
        fs, place = self._open(path)
        return str(fs.getFileStatus(place).getPath().toString())

    def listing(self, path: str) -> list[tuple[str, int, int]]:
        """Name, size and time of change of every file of a data set, sorted. InputError if there is none."""
        try:
            fs, place = self._open(path)
            there = fs.exists(place)
        except Py4JJavaError as err:
            raise InputError(f"{path}: {one_line(err)}") from None
        if not there:
            raise InputError(f"{path}: no such file or folder")
        files, found = fs.listFiles(place, True), []
        while files.hasNext():
            status = files.next()
            found.append((status.getPath().toString(), status.getLen(), status.getModificationTime()))
        return sorted(found)

    def read(self, path: str) -> str:
        """A text file."""
        fs, place = self._open(path)
        stream = fs.open(place)
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, path: str, text: str) -> None:
        """Writes a text file, in place of one that is there."""
        fs, place = self._open(path)
        stream = fs.create(place, True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()

    def copy_only(self, folder: str, ending: str, path: str) -> None:
        """Copies the one file of a folder with an ending, in place of a file that is there."""
        found = [name for name, _, _ in self.listing(folder) if name.endswith(ending)]
        if len(found) != 1:
            raise GraphcleanerError(f"{folder}: got {len(found)} files {ending}, want one")
        (fs, source), (to_fs, to) = self._open(found[0]), self._open(path)
        self._jvm.org.apache.hadoop.fs.FileUtil.copy(fs, source, to_fs, to, False, True, self._conf)

    def remove(self, path: str) -> None:
        """Removes a file or a folder, if there is one."""
        fs, place = self._open(path)
        fs.delete(place, True)


class OnlyRun:
    """Keeps other runs out of a folder, as long as it is entered. It counts on in a file there, so that a run that waits a while sees
    whether this one lives. What a killed run left does not count on, so the next run takes its place."""

    def __init__(self, files: Files, folder: str, log: Callable[[str], None]):
        self._files, self._path, self._log = files, f"{folder}/work/running", log
        self._own, self._count = uuid.uuid4().hex, 0
        self._left, self._writing = threading.Event(), threading.Lock()

    def __enter__(self) -> OnlyRun:
        found = self._found()
        if found is not None:
            self._log(f"{self._path}: it is of another run; waiting {_WAIT:g} s to see whether that one lives")
            time.sleep(_WAIT)
            if self._found() not in (None, found):
                raise GraphcleanerError(f"{self._path}: another run is at work there, want one at a time")
        self._write()
        self._thread = threading.Thread(target=self._count_on, name="graphcleaner run", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._left.set()
        self._thread.join()
        with suppress(PySparkException, Py4JError, OSError):  # Spark may be gone
            if self._is_own(self._found()):
                self._files.remove(self._path)

    def check(self) -> None:
        """GraphcleanerError if another run has come into the folder."""
        with self._writing:
            is_own = self._is_own(self._found())
        if not is_own:
            raise GraphcleanerError(f"{self._path}: another run has begun there, want one at a time: start it again")

    def _count_on(self) -> None:
        while not self._left.wait(_BEAT):
            with suppress(PySparkException, Py4JError, OSError), self._writing:  # it may get through the next time
                if self._is_own(self._found()):
                    self._write()

    def _write(self) -> None:
        self._count += 1
        self._files.write(self._path, f"{self._own} {self._count}")

    def _found(self) -> str | None:
        if not self._files.exists(self._path):
            return None
        try:
            return self._files.read(self._path)
        except (PySparkException, Py4JError):
            return ""  # half of it was written

    def _is_own(self, found: str | None) -> bool:
        return found is not None and found.startswith(self._own)


class Stages:
    """Writes data sets below a folder, each unless it is there and was made of the same."""

    def __init__(self, spark: SparkSession, folder: str, log: Callable[[str], None]):
        self._spark, self._folder, self._log = spark, folder.rstrip("/"), log
        self._files = Files(spark)
        self._prints: dict[str, str] = {}
        self.check: Callable[[], None] = lambda: None  # raises if a stage was not made of what its note would say
        self.outdated: Sequence[str] = ()  # paths of results: they go as soon as a stage is made, as they are of other inputs then
        self.complete = False  # whether stages that are not there are refused, and the others not spoken of
        self.began = math.inf  # when the first of the stages began, in seconds since 1970
        self.seconds = 0.0  # that all of them took

    def run(
        self,
        name: str,
        build: Callable[[], DataFrame],
        *,
        needs: Sequence[str] = (),
        of: Any = None,
        of_frames: bool = True,
        reads_frames: bool = True,
        path: str | None = None,
        title: str | None = None,
    ) -> DataFrame:
        """The data set of a stage.

        build          makes it
        needs          names of the stages that build reads
        of             what it is made of beside them: anything that json takes
        of_frames      it is a data set of frames, in folders by kind; else any columns
        reads_frames   build reads data sets of frames
        path           where it lies; None: work/NAME below the folder
        title          what the log calls it; None: its name
        """
        path = path or f"{self._folder}/work/{name}"
        note = f"{self._folder}/work/{name}.json"
        text = json.dumps([_FORMAT, frames.VERSION, name, of, [self._prints[need] for need in needs]], sort_keys=True)
        print_of_stage = hashlib.sha256(text.encode()).hexdigest()
        self._prints[name] = print_of_stage
        kept = self._kept(path, note, print_of_stage)
        if kept is not None:
            if not self.complete:
                self._log(f"{title or name}: is there")
        elif self.complete:
            raise GraphcleanerError(
                f"{path}: is not as a run with these inputs and this binary leaves it, want a finished run: start it again")
        else:
            began, kept = time.monotonic(), {"fingerprint": print_of_stage, "began": time.time()}
            for result in (*self.outdated, note):
                self._files.remove(result)
            self.outdated = ()
            with plain_errors(), _naming([f"{self._folder}/work/{need}" for need in needs]):
                self._spark.conf.set(
                    "spark.sql.parquet.columnarReaderBatchSize", _FRAMES_READ if reads_frames else _ROWS_READ
                )
                with self._described(title or name):
                    writer = build().write.mode("overwrite")
                    if of_frames:
                        writer = writer.options(**_FRAME_OPTIONS).partitionBy("kind")
                    writer.parquet(path)
            self.check()
            kept["seconds"] = time.monotonic() - began
            kept["size"] = self._size(path)
            self._files.write(note, json.dumps(kept))
            self._log(f"{title or name}: {kept['seconds']:.1f} s")
        self.began, self.seconds = min(self.began, kept["began"]), self.seconds + kept["seconds"]
        return open_parquet(self._spark, path, frames.SPARK_SCHEMA if of_frames else None)

    @contextmanager
    def _described(self, name: str) -> Iterator[None]:
        """The jobs of a stage have its name in the pages and the event log of Spark."""
        context = self._spark.sparkContext
        before = context.getLocalProperty("spark.job.description")
        context.setLocalProperty("spark.job.description", f"graphcleaner: {name}")
        try:
            yield
        finally:
            context.setLocalProperty("spark.job.description", before)  # type: ignore[arg-type]

    def _kept(self, path: str, note: str, fingerprint: str) -> dict[str, Any] | None:
        """What was noted of a data set; None if it is not there, or is another one."""
        if not self._files.exists(f"{path}/_SUCCESS") or not self._files.exists(note):
            return None
        try:
            kept = dict(json.loads(self._files.read(note)))
        except (ValueError, TypeError):
            return None
        there = kept.get("fingerprint") == fingerprint and {"began", "seconds"} <= kept.keys() and kept.get("size") == self._size(path)
        return kept if there else None

    def _size(self, path: str) -> list[int]:
        """How many files a data set has, and their bytes."""
        files = self._files.listing(path)
        return [len(files), sum(size for _, size, _ in files)]
