"""Decisions of people about labels, as `graphcleaner export DB verdicts` writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from . import frames
from .errors import InputError
from .inputs import name_classes
from .stages import read_csv, read_parquet

COLUMNS = ("id", "label_before", "label_now")
MOST = 1 << 16  # as many as the export writes: more would say no more


class Decision(NamedTuple):
    """What a person said of the label of a node.

    before, now   classes: the label before all decisions, and the right one, -1 for none
    """

    id: str
    before: int
    now: int


class Decided(NamedTuple):
    """A node that a decision is about, by its number and its position."""

    number: int
    position: int
    by: Decision


def read(spark: SparkSession, path: str, classes: Sequence[str]) -> list[Decision]:
    """All decisions of a csv or parquet file, in any order. InputError for what is none."""
    csv = path.endswith((".csv", ".csv.gz"))
    df = read_csv(spark, path) if csv else read_parquet(spark, path)
    for column in COLUMNS:
        if column not in df.columns:
            raise InputError(f"{path}: no column {column} in {', '.join(df.columns)}, want {', '.join(COLUMNS)}")
    texts = [F.col(column).cast("string").alias(column) for column in COLUMNS]
    rows = df.select(*texts).limit(MOST + 1).collect()
    if len(rows) > MOST:
        raise InputError(f"{path}: got more than {MOST} decisions, want at most as many as `graphcleaner export` "
                         f"writes")
    numbers, found = {name: k for k, name in enumerate(classes)}, {}
    for row in rows:
        decision = _decision(path, row, numbers)
        if decision.id in found:
            raise InputError(f'{path}: node "{decision.id}": got a second decision, want one')
        found[decision.id] = decision
    return list(found.values())


def _decision(path: str, row: Any, classes: dict[str, int]) -> Decision:
    if not row["id"]:
        raise InputError(f'{path}: column "id": got none, want an id')
    labels: list[int] = []
    for column in COLUMNS[1:]:
        name = row[column] or ""
        if name not in classes and (name or column == "label_before"):
            raise InputError(
                f'{path}: node "{row["id"]}": column "{column}": got "{name}", want one of the labels '
                f'{name_classes(list(classes))}'
            )
        labels.append(classes.get(name, -1))
    before, now = labels
    return Decision(row["id"], before, now)


def find(spark: SparkSession, decisions: Sequence[Decision], nodes: DataFrame) -> DataFrame:
    """The nodes that decisions are about, of those with id, number, position and label."""
    ids = spark.createDataFrame([(decision.id,) for decision in decisions], "decided string")
    return (
        nodes.withColumn("decided", F.col("id").cast("string")).join(F.broadcast(ids), "decided")
        .select("decided", "number", "position", "label")
    )


def settle(
    path: str, nodes_path: str, decisions: Sequence[Decision], found: DataFrame, classes: Sequence[str]
) -> list[Decided]:
    """The decided nodes by ascending position. InputError if a node is unknown, or its label is not that of the
    decision.
    """
    rows = {row["decided"]: row for row in found.collect()}
    settled = []
    for decision in decisions:
        row = rows.get(decision.id)
        if row is None:
            raise InputError(f'{path}: got a decision about "{decision.id}", want ids that {nodes_path} has')
        if row["label"] not in (decision.before, decision.now):
            given, wanted = (classes[k] if k >= 0 else "" for k in (row["label"], decision.before))
            raise InputError(
                f'{path}: node "{decision.id}": column "label_before": got "{wanted}", want "{given}", its label in '
                f'{nodes_path}'
            )
        settled.append(Decided(row["number"], row["position"], decision))
    return sorted(settled, key=lambda decided: decided.position)


def frame(decided: Iterable[Decided]) -> bytes:
    """A verdicts frame by position."""
    verdicts = [{"node": node.position, "before": node.by.before, "now": node.by.now} for node in decided]
    return frames.pack(frames.VERDICTS, json.dumps(verdicts).encode(), count=len(verdicts))
