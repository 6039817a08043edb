"""A linear classifier of Spark ML: predictions of nodes by their features, smoothed over the arcs.

The functions that return tasks run in the tasks of Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from . import frames, inputs, sources
from .errors import GraphcleanerError

NAME = "linear classifier (Spark ML)"
HOPS = 2  # over which features are smoothed: X, SX and S²X are what it sees
MOST_TEACHERS = 1_000_000
GREATEST_WIDTH = 1 << 16
_TEACHES = (0, 1)  # splits: none and train
_JUDGED = (2, 3)  # splits: val and test
_REGULARIZATION = 1e-3
_ITERATIONS = 100
_PARTITION_BYTES = 128 << 20

MOMENTS_SCHEMA = "part int, count bigint, mean binary, squares binary"
TEACHERS_SCHEMA = "label int, x array<float>"
MODEL_SCHEMA = "class int, intercept double, coefficients array<double>"


def moments(read: sources.Task) -> sources.Task:
    """Count, means and sums of squares about them (float64 [d]) of the features that read makes: a row for a task."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        count, mean, squares = 0, np.zeros(0), np.zeros(0)
        for batch in read(batches):
            if not batch.num_rows:
                continue
            x = np.stack([np.frombuffer(row, "<f4") for row in frames.binaries(batch.column("row"))]).astype(np.float64)
            of_batch = x.mean(0)
            other = (len(x), of_batch, ((x - of_batch) ** 2).sum(0))
            count, mean, squares = _together((count, mean, squares), other) if count else other
        if count:
            context = TaskContext.get()
            part = context.partitionId() if context is not None else 0
            yield pa.RecordBatch.from_arrays(
                [pa.array([part], pa.int32()), pa.array([count], pa.int64()), pa.array([mean.tobytes()]), pa.array([squares.tobytes()])],
                ["part", "count", "mean", "squares"],
            )

    return task


Moments = tuple[int, np.ndarray, np.ndarray]


def _together(a: Moments, b: Moments) -> Moments:
    count, apart = a[0] + b[0], b[1] - a[1]
    return count, a[1] + apart * (b[0] / count), a[2] + b[2] + apart**2 * (a[0] * b[0] / count)


def scale(path: str, found: DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation (1 in place of 0) of all features, of what moments has found."""
    rows = found.orderBy("part").collect()
    if not rows:
        raise GraphcleanerError(f"{path}: no node has features, want some")
    parts: list[Moments] = [(row["count"], np.frombuffer(row["mean"]), np.frombuffer(row["squares"])) for row in rows]
    all_of = parts[0]
    for part in parts[1:]:
        all_of = _together(all_of, part)
    deviation = np.sqrt(all_of[2] / all_of[0])
    return all_of[1], np.where(deviation > 0, deviation, 1)


def standardized(mean: np.ndarray, deviation: np.ndarray) -> sources.Maker:
    """Inputs frames of the column `features` (float32 [d]): mean 0, deviation 1, and zeros where it is null."""

    def make(place: dict[str, int], rows: pa.Table) -> Iterator[tuple[int, bytes, dict[str, int]]]:
        x = np.zeros((len(rows), len(mean)), "<f4")
        for i, row in enumerate(rows["features"].to_pylist()):
            if row is not None:
                x[i] = (np.frombuffer(row, "<f4") - mean) / deviation
        yield frames.INPUTS, x.tobytes(), {"count": len(rows), "width": len(mean)}

    return make


def teachers(starts: Sequence[int], seed: int, share: float) -> sources.Task:
    """Label and inputs of the labelled nodes that teach, or of a share of them, drawn by a hash of their numbers.

    Takes frames sorted by `chunk`, `kind` and `part`: labels, splits and inputs of all parts.
    """
    below = np.uint64(min(int(share * 2.0**64), 2**64 - 1))

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for first, labels, splits, x in _chunks(batches, starts):
            chosen = (labels >= 0) & np.isin(splits, _TEACHES)
            if share < 1:
                chosen &= _hash(first, len(labels), seed) < below
            kept = np.ascontiguousarray(x[chosen])
            if len(kept):
                offsets = np.arange(len(kept) + 1, dtype=np.int32) * np.int32(x.shape[1])
                lists = pa.ListArray.from_arrays(pa.array(offsets), pa.array(kept.ravel()))
                yield pa.RecordBatch.from_arrays([pa.array(labels[chosen]), lists], ["label", "x"])

    return task


def _hash(first: int, count: int, seed: int) -> np.ndarray:
    """SplitMix64 of the numbers from first on."""
    z = np.arange(first, first + count, dtype=np.uint64) + np.uint64(seed % 2**32 << 32)
    with np.errstate(over="ignore"):
        z = (z + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def _chunks(
    batches: Iterator[pa.RecordBatch], starts: Sequence[int]
) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """The number of the first node, labels, splits and inputs [count×(HOPS+1)d] of each chunk."""
    for rows in sources.runs(batches, "chunk"):
        parts: list[np.ndarray] = []
        for frame in (frame for column in rows["frame"].chunks for frame in frames.binaries(column)):
            header, payload = frames.parse(frame)
            if header.kind == frames.LABELS:
                first, labels = starts[header.row] + header.first, sources.vector(header, payload, "<i4", 1)
            elif header.kind == frames.SPLITS:
                splits = sources.vector(header, payload, "u1", 1)
            else:
                parts.append(sources.vector(header, payload, "<f4", header.width).reshape(header.count, header.width))
        yield first, labels, splits, np.concatenate(parts, axis=1)


def parts_of_teachers(count: int, width: int) -> int:
    """How many partitions the rows of teachers take. Spark adds the sums of partitions as they come: those of one or two are the
    same in any order."""
    return -(-count * width * 4 // _PARTITION_BYTES)


def fit(spark: SparkSession, taught: DataFrame, classes: int) -> DataFrame:
    """A model of rows of teachers: intercept and coefficients of each class."""
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import functions as F

    nominal = {"ml_attr": {"type": "nominal", "num_vals": classes}}  # a class may have no teacher
    rows = taught.select(F.col("label").cast("double").alias("label", metadata=nominal), array_to_vector(F.col("x")).alias("features"))
    model = LogisticRegression(
        family="multinomial", regParam=_REGULARIZATION, maxIter=_ITERATIONS, standardization=True
    ).fit(rows)
    intercepts, coefficients = model.interceptVector.toArray(), model.coefficientMatrix.toArray()
    if not (np.isfinite(intercepts).all() and np.isfinite(coefficients).all()):
        raise GraphcleanerError(f"{NAME}: its fit has found numbers that are not finite")
    return spark.createDataFrame(
        [(k, float(intercepts[k]), coefficients[k].tolist()) for k in range(classes)], MODEL_SCHEMA)


def predictions(starts: Sequence[int], classes: Sequence[str], model: DataFrame) -> sources.Task:
    """Predictions frames of what teachers takes, and a report a task: of labels of val and test nodes, how many are `right`
    and how many were `looked` at."""
    rows = model.orderBy("class").collect()
    intercepts = np.array([row["intercept"] for row in rows])
    coefficients = np.array([row["coefficients"] for row in rows])

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gathered, report = frames.Batches(), {"right": 0, "looked": 0}
        for first, labels, splits, x in _chunks(batches, starts):
            logits = x.astype(np.float64) @ coefficients.T + intercepts
            odds = np.exp(logits - logits.max(1, keepdims=True))
            ids = pa.array(np.arange(first, first + len(labels)))
            p = inputs.normalized(NAME, ids, odds / odds.sum(1, keepdims=True), classes)
            judged = (labels >= 0) & np.isin(splits, _JUDGED)
            report["looked"] += int(judged.sum())
            report["right"] += int((p.argmax(1) == labels)[judged].sum())
            row = int(np.searchsorted(starts, first, "right")) - 1
            batch = gathered.pack(
                frames.PREDICTIONS, p.astype("<f4").tobytes(), row=row, first=first - starts[row], count=len(labels), width=len(classes))
            if batch is not None:
                yield batch
        for batch in (gathered.pack(frames.REPORT, json.dumps(report).encode()), gathered.rest()):
            if batch is not None:
                yield batch

    return task


def check_taught(taught: Iterable[int] | None, classes: Sequence[str]) -> None:
    """Refuses labels that cannot teach: taught are the nodes that teach, by class."""
    some = [name for name, count in zip(classes, taught or (), strict=False) if count]
    if not some:
        raise GraphcleanerError(f"{NAME}: no labelled node has the split train or none, want some to learn from")
    if len(some) == 1:
        raise GraphcleanerError(f'{NAME}: all labels to learn from are "{some[0]}", want two classes')
