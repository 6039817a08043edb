"""Stages: each writes a data set and notes where it is, so that a later start goes on behind it."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from . import frames
from .errors import FrameError, GraphcleanerError, InputError, raised_in_task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PATTERN = re.compile(r"[\\*?\[\]{}]")  # letters of a path that Spark and Hadoop take for patterns
_UNREAD = re.compile(r"\[FAILED_READ_FILE\S*\] Encountered error while reading file (\S+)\.\s")

# A frame has up to 4 MiB, so a few of them are a batch. The columns of a table are read in batches of Spark's usual
# size.
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
def plain_errors(work: str = "") -> Iterator[None]:
    """Turns what Spark makes of an error into one sentence: a GraphcleanerError. Of damage in the folder work it says
    what helps.
    """
    try:
        yield
    except (PySparkException, Py4JError, FrameError) as err:
        ours = err if isinstance(err, FrameError) else raised_in_task(err)
        file = _unread_file(err)
        if work and (isinstance(ours, FrameError) or ours is None and file is not None and "/work/" in file):
            says = ours or f"{file}: {one_line(err)}"
            raise FrameError(f"{says}. A file is damaged: remove the folder {work} and start again") from None
        if ours is not None:
            raise ours from None
        if file is not None:
            raise InputError(f"{file}: {one_line(err)}") from None
        raise GraphcleanerError(f"Spark: {one_line(err)}") from err


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

    def names(self, folder: str) -> list[str]:
        """The names of what is in a folder; none if there is no folder."""
        fs, place = self._open(folder)
        return [status.getPath().getName() for status in fs.listStatus(place)] if fs.exists(place) else []

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

    def only(self, folder: str, ending: str) -> str:
        """The one file of a folder with an ending."""
        (found,) = [name for name, _, _ in self.listing(folder) if name.endswith(ending)]
        return found

    def move(self, path: str, to: str) -> None:
        """Moves a file or a folder, in place of what is there."""
        self.remove(to)
        (fs, source), (_, target) = self._open(path), self._open(to)
        fs.mkdirs(target.getParent())
        if not fs.rename(source, target):
            raise GraphcleanerError(f"{to}: {path} cannot be moved there")

    def remove(self, path: str) -> None:
        """Removes a file or a folder, if there is one."""
        fs, place = self._open(path)
        fs.delete(place, True)


class Stages:
    """Writes data sets below a folder, each unless it is there.

    A data set is a folder of its own name. A file with the name of the stage names it, as soon as it is complete. So
    two runs in one folder do not mix their files.
    """

    def __init__(self, spark: SparkSession, folder: str, log: Callable[[str], None]):
        self._spark, self._folder, self._log = spark, folder, log
        self._files = Files(spark)
        whole = {self._note(name) for name in self._files.names(folder) if "-" not in name}
        for name in self._files.names(folder):
            if "-" in name and name not in whole:  # of a stage that has not ended
                self._files.remove(f"{folder}/{name}")

    def _note(self, name: str) -> str:
        return self._files.read(f"{self._folder}/{name}")

    def run(self, name: str, build: Callable[[], DataFrame], *, of_frames: bool = True,
            reads_frames: bool = True) -> DataFrame:
        """The data set that build makes. of_frames says whether it has frames, in folders by kind, and reads_frames
        whether build reads some."""
        if self._files.exists(f"{self._folder}/{name}"):
            self._log(f"{name}: is there")
        else:
            began, own = time.monotonic(), f"{name}-{uuid.uuid4().hex}"
            self.write(f"{self._folder}/{own}", build, name, of_frames, reads_frames)
            self._files.write(f"{self._folder}/{name}", own)
            self._log(f"{name}: {time.monotonic() - began:.1f} s")
        return open_parquet(self._spark, f"{self._folder}/{self._note(name)}", frames.SPARK_SCHEMA if of_frames
                            else None)

    def write(self, path: str, build: Callable[[], DataFrame], name: str, of_frames: bool = False,
              reads_frames: bool = True) -> None:
        """Writes what build makes to a path. The pages and the event log of Spark have the name."""
        context = self._spark.sparkContext
        self._spark.conf.set("spark.sql.parquet.columnarReaderBatchSize", _FRAMES_READ if reads_frames else _ROWS_READ)
        context.setLocalProperty("spark.job.description", f"graphcleaner: {name}")
        try:
            writer = build().write.mode("overwrite")
            if of_frames:
                writer = writer.options(**_FRAME_OPTIONS).partitionBy("kind")
            writer.parquet(path)
        except BaseException:
            self._files.remove(path)
            raise
        finally:
            context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]


def open_parquet(spark: SparkSession, path: str, schema: str | None = None) -> DataFrame:
    """The table of parquet files at a path, whatever its letters are. Without a schema, that of one of the files."""
    reader = spark.read if schema is None else spark.read.schema(schema)
    return reader.parquet(_literal(path))


def read_parquet(spark: SparkSession, path: str) -> DataFrame:
    """The table of a parquet file, or of a folder of them: a file that lacks a column has nulls there. InputError if
    they are none.
    """
    return _read(spark, path, lambda: spark.read.option("mergeSchema", "true").parquet(_literal(path)), (".parquet",))


def read_csv(spark: SparkSession, path: str) -> DataFrame:
    """The table of a csv file with a header, all of it texts. InputError if it is none."""
    return _read(spark, path, lambda: spark.read.csv(_literal(path), header=True, escape='"', multiLine=True),
                 (".csv", ".gz"))


def _read(spark: SparkSession, path: str, opened: Callable[[], DataFrame], endings: tuple[str, ...]) -> DataFrame:
    given = 0
    for file, _, _ in Files(spark).listing(path):
        *folders, name = file.split(f"/{path.rstrip('/').rpartition('/')[2]}/", 1)[-1].split("/")
        # by a writer: it is no data
        is_left = any(folder.startswith(("_", ".")) and "=" not in folder for folder in folders)
        given += name.endswith(endings) and not is_left
    try:
        df = opened()
        read = len(df.inputFiles())
    except (PySparkException, Py4JError) as err:
        text = one_line(err)
        if "UNABLE_TO_INFER_SCHEMA" in text:
            text = "got no rows and no columns, want a table, under a name that does not begin with _ or ."
        raise InputError(f"{path}: {text}") from None
    if read < given:
        raise InputError(f"{path}: Spark reads {read} of {given} files: it skips names that begin with _ or . and "
                         f"folders that are no "
                         "COLUMN=VALUE, want other names")
    return df


def _literal(path: str) -> str:
    """A path as the readers of Spark want it: they take some letters for patterns, which writers and Files do not."""
    return _PATTERN.sub(r"\\\g<0>", path)
