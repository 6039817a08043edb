"""Cleaning: the stages from nodes, edges and predictions to scores.

The mathematics is that of the binary, in `graphcleaner worker`. Here bytes are brought to the tasks that need them. The
driver gets reports, a histogram of degrees and a sample of nodes, nothing that grows with the graph.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from functools import partial, reduce
from itertools import accumulate
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from .._rules import SPLIT_NAMES, class_order
from . import decisions, frames, inputs, linear, sources, worker
from .errors import GraphcleanerError, InputError
from .plan import Plan, check_shape, chunk_bases, cut, cut_into, make_plan, show_bytes, show_hours
from .stages import Files, OnlyRun, Stages, open_parquet, plain_errors, settings
from .tables import read_parquet

LEAST_SPARK = (4, 1)
_DEFAULT_BINARY = "graphcleaner"
_GREATEST_FLOAT = 3.4028234663852886e38
_EXACT_DEGREES = 1024  # greater ones are counted in 64 bins an octave


@dataclass(frozen=True)
class Summary:
    """What a run found.

    rate, interval   the estimated share of wrong labels, and bounds of it
    threshold        the score above which a node is a suspect
    classified       how many labels of val and test nodes the linear classifier predicts, and of how many; None: the
                     predictions are given
    """

    nodes: int
    edges: int
    scored: int
    suspects: int
    rate: float
    interval: tuple[float, float]
    threshold: float
    classified: tuple[int, int] | None = None
    warnings: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()

    def __str__(self) -> str:
        low, high = self.interval
        lines = [
            f"{self.nodes:,} nodes, {self.edges:,} edges, {self.scored:,} labels scored",
            f"{self.suspects:,} suspects above {self.threshold:.4g}; "
            f"estimated share of wrong labels {self.rate:.4g} ({low:.4g} to {high:.4g})",
        ]
        if self.classified is not None:
            right, looked = self.classified
            lines.insert(1, f"{linear.NAME}: accuracy {right / max(looked, 1):.4g} on the {looked:,} labels of val and test nodes")
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings), *self.notices])


def clean(
    spark: SparkSession,
    nodes: str,
    edges: str,
    predictions: str | None,
    out: str,
    *,
    node_features: str | None = None,
    hops: int = 3,
    blocks: int | None = None,
    seed: int = 1,
    memory: int = 1 << 30,
    binary: str | None = None,
    write_features: bool = False,
    expect: float | None = None,
    prediction_classes: Sequence[str] | None = None,
    decisions: str | None = None,
    log: Callable[[str], None] = print,
) -> DataFrame:
    """Scores every labelled node, as `graphcleaner clean --as-given` does.

    nodes, edges, predictions   parquet files: columns id, label and perhaps split; src, dst and perhaps weight; id and a
                                column a class, or id and `predictions`, a list of numbers
    node_features               in place of predictions, for a linear classifier of Spark ML: id and a column a feature, or id
                                and `features`, a list of numbers
    out                         folder for scores.parquet, features.parquet and work/, with the data sets of the stages
    hops                        over which agreement is measured, 1 to 3
    blocks                      ranges of nodes that the graph is cut in, about; None: memory and cores decide
    memory                      bytes of a worker
    binary                      path of graphcleaner; None: `graphcleaner` of the files that Spark ships, or in PATH
    write_features              whether features.parquet is written
    expect                      share of labels that are wrong; None: it is estimated
    prediction_classes          of a list column, in their order; None: all, numbers sorted as numbers, else by bytes
    decisions                   csv or parquet file of `graphcleaner export DB verdicts`: labels that people have judged
    log                         takes the plan, a line a stage and the summary

    Returns id, given_label, score, suggested_label and confidence of every node, in any order. GraphcleanerError says
    what is wrong. A later call with the same arguments goes on after the last complete stage.
    """
    arguments = Arguments(
        nodes, edges, predictions, node_features, decisions, hops, blocks, seed, memory, write_features, expect,
        list(prediction_classes) if prediction_classes is not None else None, spark.sparkContext.defaultParallelism,
    )
    with settings(spark), plain_errors():
        return Cleaning(spark, arguments, out, binary, log).run()


@dataclass(frozen=True)
class Arguments:
    """What a run is made of: see clean. cores is the number of tasks at once."""

    nodes: str
    edges: str
    predictions: str | None
    node_features: str | None
    decisions: str | None
    hops: int
    blocks: int | None
    seed: int
    memory: int
    write_features: bool
    expect: float | None
    prediction_classes: list[str] | None
    cores: int


class Cleaning:
    """A run in a folder."""

    def __init__(
        self, spark: SparkSession, arguments: Arguments, out: str, binary: str | None, log: Callable[[str], None]
    ):
        if tuple(int(number) for number in spark.version.split(".")[:2]) < LEAST_SPARK:
            raise GraphcleanerError(f"Spark: got version {spark.version}, want {'.'.join(map(str, LEAST_SPARK))} or newer")
        _check_out(out)
        self._spark, self._out, self._log = spark, out.rstrip("/"), log
        self._arguments = arguments
        named = {
            "nodes": arguments.nodes, "edges": arguments.edges, "predictions": arguments.predictions,
            "features": arguments.node_features, "decisions": arguments.decisions,
        }
        self._paths = {name: path for name, path in named.items() if path is not None}
        self._of_nodes = "features" if arguments.predictions is None else "predictions"
        self._hops, self._seed, self._expect = arguments.hops, arguments.seed, arguments.expect
        self._binary = binary or _DEFAULT_BINARY
        self._files = Files(spark)
        self._stages = Stages(spark, self._out, log)
        self._census: Any = None
        self._decided: list[decisions.Decided] = []
        self._of_predictions: list[str] = []  # stages beside the backbone

    def run(self) -> DataFrame:
        with self._alone():
            score, scores = self._make()
            if self._arguments.write_features:
                self._write_features()
            self._log(str(self._summary(score)))
        return scores

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The folder belongs to this run. A stage is not noted if another run has come, or if an input is not what it was."""
        def check() -> None:
            run.check()
            for name, before in self._listings.items():
                if self._files.listing(self._paths[name]) != before:
                    raise InputError(f"{self._paths[name]}: it has changed since the run began, want it as it is: start again")

        with OnlyRun(self._files, self._out, self._log) as run:
            self._stages.check = check
            yield

    def _make(self) -> tuple[DataFrame, DataFrame]:
        """All stages up to the scores: their frames, and the table."""
        self._check_arguments()
        self._ship()
        self._read()
        scores = [f"{self._out}/{name}" for name in ("scores.parquet", "pack", "work/finished.json")]
        self._stages.outdated = [*scores, f"{self._out}/features.parquet"]
        self._number()
        self._cut()
        self._decide()
        self._make_frames()
        self._join_edges()
        if self._arguments.predictions is None:
            self._classify()
        self._gather()
        self._stages.outdated = scores  # the features do not depend on what follows
        score = self._score()
        table = self._write_scores(score)
        self._stages.outdated = ()
        return score, table

    def _check_arguments(self) -> None:
        of = self._arguments
        check_shape(of.hops, of.memory, of.blocks)
        if of.expect is not None and not 0 <= of.expect < 1:
            raise GraphcleanerError(f"expect: got {of.expect:g}, want a share from 0 to below 1")
        if not 0 <= of.seed < 1 << 64:
            raise GraphcleanerError(f"seed: got {of.seed}, want a whole number from 0 to below 2^64")
        for name, path in self._paths.items():
            if not path:
                raise GraphcleanerError(f"{name}: got an empty path, want a file")
        if of.predictions is None and of.node_features is None:
            raise GraphcleanerError(
                "got no predictions, want --predictions of your classifier, or --node-features for a linear one of Spark ML")
        if of.predictions is not None and of.node_features is not None:
            raise GraphcleanerError("got --predictions and --node-features, want one of them")
        if of.predictions is None and of.prediction_classes is not None:
            raise GraphcleanerError("got --prediction-classes without --predictions, want both")

    # The binary and this package, where tasks find them.

    def _ship(self) -> None:
        self._version = worker.version(self._binary)
        context = self._spark.sparkContext
        if os.sep in self._binary:
            context.addFile(self._binary)
            self._binary = os.path.basename(self._binary)
        _ship_package(context)

    # What is read.

    def _read(self) -> None:
        self._listings = {name: self._files.listing(path) for name, path in self._paths.items()}
        self._nodes, self._edges, self._given = (
            read_parquet(self._spark, self._paths[name]) for name in ("nodes", "edges", self._of_nodes))
        for name, df, columns in [
            ("nodes", self._nodes, ("id", "label")), ("edges", self._edges, ("src", "dst")),
            (self._of_nodes, self._given, ("id",)),
        ]:
            for column in columns:
                if column not in df.columns:
                    raise InputError(
                        f"{self._paths[name]}: no column {column} in {', '.join(df.columns)}, want {', '.join(columns)}"
                    )
        if "_metadata" in self._nodes.columns:
            raise InputError(f"{self._paths['nodes']}: column _metadata: Spark has a column of this name, want another one")
        self._texts = [self._is_text("nodes", "id"), self._is_text("edges", "src"), self._is_text("edges", "dst"),
                       self._is_text(self._of_nodes, "id")]
        if not isinstance(self._nodes.schema["label"].dataType, T.BooleanType):
            self._is_text("nodes", "label")
        self._weighted = "weight" in self._edges.columns
        if self._weighted:
            self._check_numbers("edges", "weight", self._edges.schema["weight"].dataType)
        self._drawn = "split" not in self._nodes.columns

        labels = self._nodes.select(_text("label").alias("label")).where("label <> ''").distinct().collect()
        self._classes = class_order({row["label"] for row in labels})
        if not self._classes:
            raise InputError(f"{self._paths['nodes']}: no node has a label, want some")
        self._width = 0
        if self._arguments.predictions is None:
            self._width = self._count_features()
        else:
            inputs.check_columns(self._paths["predictions"], self._columns_of_classes(), self._classes)
        files = self._nodes.groupBy(F.col("_metadata.file_path").alias("path")).count().collect()
        self._bases, n = {}, 0
        for path, count in sorted((row["path"], row["count"]) for row in files):
            self._bases[path], n = n, n + count
        self._plan: Plan = make_plan(
            n, self._edges.count(), len(self._classes), hops=self._hops, cores=self._arguments.cores,
            memory=self._arguments.memory, blocks=self._arguments.blocks, weighted=self._weighted,
            features=self._arguments.write_features, drawn=self._drawn, width=self._width,
        )
        self._log(self._plan.table())
        if (why := self._plan.too_large()) is not None:
            raise GraphcleanerError(why)

    def _is_text(self, name: str, column: str) -> bool:
        df: DataFrame = {"nodes": self._nodes, "edges": self._edges}.get(name, self._given)
        kind = df.schema[column].dataType
        if not isinstance(kind, (T.StringType, T.IntegralType)):
            raise InputError(
                f"{self._paths[name]}: column {column}: got {kind.simpleString()}, want texts or integers"
            )
        return isinstance(kind, T.StringType)

    def _check_numbers(self, name: str, column: str, kind: T.DataType) -> None:
        if not isinstance(kind, T.NumericType):
            raise InputError(f"{self._paths[name]}: column {column}: got {kind.simpleString()}, want numbers")

    def _id(self, column: str) -> Column:
        """An id, as the same type in all inputs."""
        return F.col(column).cast("string" if any(self._texts) else "bigint")

    # Numbers of nodes, by descending degree.

    def _number(self) -> None:
        listings = {name: self._listings[name] for name in ("nodes", "edges", self._of_nodes)}
        self._stages.run(
            "nodes", self._count_ids, of=[listings, self._drawn], of_frames=False, reads_frames=False
        )
        self._ids = open_parquet(self._spark, f"{self._out}/work/nodes")
        self._check_ids()
        ordered = self._stages.run(
            "numbers", self._order, needs=["nodes"], of=self._classes, of_frames=False, reads_frames=False
        )
        # monotonically_increasing_id has the partition in its upper bits, and the row in the lower 33.
        part = F.shiftright("order", 33).cast("int")
        counts: dict[int, int] = dict(ordered.groupBy(part).count().collect())
        bases, at = [], 0
        for p in range(max(counts, default=0) + 1):
            bases.append(at)
            at += counts.get(p, 0)
        number = _lookup(bases, part) + F.col("order").bitwiseAND((1 << 33) - 1)
        self._numbers = ordered.withColumn("number", number)

    def _count_ids(self) -> DataFrame:
        """Every id that an input names: its place and values among the nodes, and how often it is named."""
        bases = self._spark.createDataFrame(list(self._bases.items()), "path string, base bigint")
        split = F.lower(F.coalesce(F.col("split").cast("string"), F.lit(""))) if not self._drawn else F.lit("")
        number_of_split = reduce(lambda rest, name: F.when(split == name, SPLIT_NAMES[name]).otherwise(rest), SPLIT_NAMES, F.lit(-1))
        none = F.lit(None)
        places = (
            self._nodes.select(
                self._id("id").alias("id"), _text("label").alias("label"), number_of_split.alias("split"),
                F.col("_metadata.file_path").alias("path"), F.col("_metadata.row_index").alias("index"),
            )
            .join(F.broadcast(bases), "path")
            .select("id", (F.col("base") + F.col("index")).alias("position"), "label", "split",
                    F.lit(0).cast("bigint").alias("ends"), F.lit(0).cast("bigint").alias("predicted"))
        )
        ends = self._edges.select(F.explode(F.array(self._id("src"), self._id("dst"))).alias("id"))
        predicted = self._given.select(self._id("id").alias("id"))

        def others(df: DataFrame, ends: Any, predicted: Any) -> DataFrame:
            return df.select("id", none.cast("bigint").alias("position"), none.cast("string").alias("label"),
                             none.cast("int").alias("split"), ends.cast("bigint").alias("ends"),
                             predicted.cast("bigint").alias("predicted"))

        counted = others(ends.groupBy("id").count(), F.col("count"), F.lit(0))
        return (
            places.unionByName(counted)
            .unionByName(others(predicted, F.lit(0), F.lit(1)))
            .groupBy("id")
            .agg(F.count("position").alias("times"), F.min("position").alias("position"),
                 F.max("position").alias("last"), F.max("label").alias("label"), F.min("split").alias("split"),
                 F.sum("ends").alias("degree"), F.sum("predicted").alias("predicted"))
        )

    def _check_ids(self) -> None:
        nodes, edges, given = (self._paths[name] for name in ("nodes", "edges", self._of_nodes))
        is_id = F.col("id").isNotNull() & (F.col("id").cast("string") != "")
        unknown = (F.col("times") == 0)
        example = F.coalesce(F.col("id").cast("string"), F.lit("null"))
        found = self._ids.agg(
            F.min(F.when(~is_id & (F.col("times") > 0), F.col("position"))).alias("none"),
            F.min(F.when(F.col("times") > 1, F.struct("position", "last", "id"))).alias("again"),
            F.min(F.when((F.col("times") > 0) & (F.col("split") < 0), F.struct("position", "id"))).alias("split"),
            F.sum(F.when(unknown, F.col("degree"))).alias("ends"),
            F.min(F.when(unknown & (F.col("degree") > 0), example)).alias("end"),
            F.min(F.when(unknown & (F.col("predicted") > 0), example)).alias("guessed"),
            F.count(F.when(unknown & (F.col("predicted") > 0), 1)).alias("guesses"),
            F.min(F.when(F.col("predicted") > 1, example)).alias("twice"),
            F.count(F.when(~unknown & (F.col("predicted") == 0), 1)).alias("without"),
        ).collect()[0]
        self._without = found["without"]
        if found["none"] is not None:
            raise InputError(f"{nodes}: node at position {found['none']}: column \"id\": got none, want an id")
        if found["again"] is not None:
            raise InputError(
                f'{nodes}: node at position {found["again"]["last"]}: column "id": got "{found["again"]["id"]}" again, '
                f'as at position {found["again"]["position"]}, want every id once'
            )
        if found["split"] is not None:
            split = self._nodes.where(self._id("id") == found["split"]["id"]).select(_text("split").alias("split")).head()
            raise InputError(
                f'{nodes}: node "{found["split"]["id"]}" at position {found["split"]["position"]}: column "split": '
                f'got "{split["split"] if split is not None else ""}", want train, val, test or none'
            )
        if found["end"] is not None:
            raise InputError(
                f'{edges}: got {found["ends"]} ends of edges at unknown nodes, such as "{found["end"]}", want ids that {nodes} has'
            )
        if found["guessed"] is not None:
            raise InputError(
                f'{given}: got {self._of_nodes} of {found["guesses"]} unknown nodes, such as "{found["guessed"]}", '
                f"want ids that {nodes} has"
            )
        if found["twice"] is not None:
            raise InputError(f'{given}: {self._of_nodes} of node {found["twice"]}: got a second row, want one')
        if found["without"] == self._plan.nodes:
            raise InputError(f"{given}: got {self._of_nodes} of no node, want those of labelled nodes")
        if self._weighted:
            weight = F.col("weight").cast("double")
            wrong = self._edges.where(
                weight.isNull() | F.isnan(weight) | ~((weight.cast("float") > 0) & (weight.cast("float") <= _GREATEST_FLOAT))
            ).select("src", "dst", "weight").head()
            if wrong is not None:
                raise InputError(
                    f'{edges}: edge of "{wrong["src"]}" and "{wrong["dst"]}": column "weight": got {wrong["weight"]}, '
                    "want a weight, a finite number greater than 0"
                )

    def _order(self) -> DataFrame:
        classes = self._spark.createDataFrame(list(zip(self._classes, range(len(self._classes)), strict=True)),
                                              "label string, class int")
        return (
            self._ids.where("times > 0")
            .join(F.broadcast(classes), "label", "left")
            .select("id", "position", F.coalesce("class", F.lit(-1)).alias("label"), "split", "degree",
                    (F.col("predicted") > 0).alias("predicted"))
            .orderBy(F.col("degree").desc(), "position")
            .withColumn("order", F.monotonically_increasing_id())
        )

    # The cut.

    def _cut(self) -> None:
        degree = F.col("degree")
        octave = _EXACT_DEGREES + F.floor(64 * (F.log2(degree.cast("double")) - 10))
        binned = F.when(degree <= _EXACT_DEGREES, degree).otherwise(octave).alias("bin")
        rows = self._numbers.groupBy(binned).agg(F.count("*").alias("nodes"), F.max("degree").alias("greatest")).collect()
        bins = [(row["nodes"], row["greatest"]) for row in sorted(rows, key=lambda row: -row["bin"])]
        plan = self._plan
        blocks = self._arguments.blocks
        self._starts = cut_into(bins, blocks) if blocks else cut(bins, plan.max_nodes, plan.max_arcs)
        self._ranges = len(self._starts) - 1
        self._plan = plan = plan.of_degrees(bins, self._ranges)
        self._bases_of_chunks = chunk_bases(self._starts, plan.chunk)
        self._chunks = self._bases_of_chunks[-1]
        self._shape = [self._starts, plan.chunk, len(self._classes), self._weighted, self._version]
        shuffled = show_bytes(sum(stage.shuffled for stage in plan.stages()))
        self._log(f"cut: {self._ranges} ranges, {self._chunks:,} chunks; with these degrees {shuffled} are shuffled, in {show_hours(plan.hours)}")

    # What people have said of labels.

    def _decide(self) -> None:
        self._labelled, self._of_labels = self._numbers, ["backbone"]
        path = self._arguments.decisions
        if path is None:
            return
        read = decisions.read(self._spark, path, self._classes)
        found = self._stages.run(
            "decisions", lambda: decisions.find(self._spark, read, self._numbers), needs=["numbers"],
            of=[self._listings["decisions"], self._classes], of_frames=False, reads_frames=False,
        )
        self._decided = decisions.settle(path, self._paths["nodes"], read, found, self._classes)
        if not self._decided:
            return
        now = self._spark.createDataFrame([(node.number, node.by.now) for node in self._decided], "number bigint, now int")
        self._labelled = self._numbers.join(F.broadcast(now), "number", "left").withColumn("label", F.coalesce("now", "label")).drop("now")
        self._of_labels = ["backbone", "labels"]

    # Frames of what was read.

    def _make_frames(self) -> None:
        self._backbone = self._stages.run(
            "backbone", self._make_backbone, needs=["numbers"], of=[self._shape, self._arguments.prediction_classes], reads_frames=False
        )
        if self._decided:
            self._decided_labels = self._stages.run(
                "labels", lambda: self._frames_by_chunk(self._labelled.select("number", "label"), "label int", sources.labels, 16),
                needs=["numbers", "decisions"], of=self._shape, reads_frames=False,
            )
        # A split has 7 bits; the eighth says that there are no predictions.
        has_predictions = F.col("predicted") | (self._arguments.predictions is None)
        split = F.when(has_predictions, F.col("split")).otherwise(F.col("split") + 128)
        pieces = self._labelled.select(
            F.floor(F.col("position") / sources.CENSUS_ROWS).alias("piece"), "position", "label", split.alias("split")
        )

        def take_census() -> DataFrame:
            by_position = (
                worker.deal(pieces, F.col("piece"), self._parts(-(-self._plan.nodes // sources.CENSUS_ROWS), 16 * self._plan.nodes))
                .sortWithinPartitions("piece", "position")
                .mapInArrow(sources.census_frames, frames.SPARK_SCHEMA)
            )
            if self._decided:
                verdicts = decisions.frame(self._decided)
                row = _row(frames.parse_header(verdicts), verdicts)
                by_position = by_position.unionByName(self._spark.createDataFrame([row], frames.SPARK_SCHEMA))
            job = self._job("census", names=self._classes, seed=self._seed, drawn=self._drawn)
            return worker.run(by_position, job, binary=self._binary, place=F.lit(0), partitions=1,
                              order=[F.col("first"), F.col("kind")])

        census = self._stages.run(
            "census", take_census, needs=["numbers", *(["decisions"] if self._decided else [])], of=[self._shape, self._seed, self._drawn], reads_frames=False
        )
        self._census = _one_report(census, "census")

        def place_splits() -> DataFrame:
            splits = census.where(F.col("kind") == frames.SPLITS).select("frame").mapInArrow(
                sources.split_rows, "position bigint, split int")
            members = census.where(F.col("kind") == frames.MEMBERS).select("frame").mapInArrow(
                sources.member_rows, "position bigint").withColumn("member", F.lit(True))
            placed = (
                self._numbers.select("number", "position").join(splits, "position")
                .join(F.broadcast(members), "position", "left")
                .select("number", "split", F.coalesce("member", F.lit(False)).alias("member"))
            )
            return self._frames_by_chunk(placed, "split int, member boolean", sources.splits_and_members, 16)

        self._splits = self._stages.run("splits", place_splits, needs=["numbers", "census"], of=self._shape)

    def _make_backbone(self) -> DataFrame:
        if self._arguments.predictions is None:
            return self._frames_by_chunk(self._numbers.select("number", "label"), "label int", sources.labels, 16)
        path, (_, listed, values), columns = self._paths["predictions"], self._columns_given(), self._columns_of_classes()
        rows = values.mapInArrow(inputs.probabilities(path, columns, self._classes, listed), self._row_schema())
        nodes = self._numbers.select("id", "number", "label").join(
            rows.withColumnRenamed("row", "predictions"), "id", "left"
        ).select("number", "label", "predictions")
        classes = len(self._classes)
        return self._frames_by_chunk(nodes, "label int, predictions binary", sources.backbone(classes), 32 + 4 * classes)

    def _columns_given(self) -> tuple[list[str], bool, DataFrame]:
        """The columns of predictions or features, whether they are one list, and id with columns c0, c1, … or row, the list."""
        given = self._given
        names = [name for name in given.columns if name != "id"]
        listed = names == [self._of_nodes] and isinstance(given.schema[names[0]].dataType, T.ArrayType)
        for name in names:
            kind = given.schema[name].dataType
            self._check_numbers(self._of_nodes, name, kind.elementType if listed else kind)  # type: ignore[attr-defined]
        values = [F.col(names[0]).alias("row")] if listed else [F.col(quoted(name)).alias(f"c{j}") for j, name in enumerate(names)]
        return names, listed, given.select(self._id("id").alias("id"), *values)

    def _columns_of_classes(self) -> list[str]:
        """The classes that the predictions have, in their order."""
        names, listed, _ = self._columns_given()
        if self._arguments.prediction_classes is not None and not listed:
            raise InputError(f"{self._paths['predictions']}: its columns name the classes, want no --prediction-classes")
        if not listed and "id" in self._classes:
            raise InputError(f"{self._paths['predictions']}: class \"id\": the column id has the ids, want the predictions as a list")
        return (self._arguments.prediction_classes or self._classes) if listed else names

    def _row_schema(self) -> str:
        return f"id {'string' if any(self._texts) else 'bigint'}, row binary"

    def _frames_by_chunk(self, df: DataFrame, kept: str, make: sources.Maker, row_bytes: int) -> DataFrame:
        """Frames of the columns kept of df, which has the number of every node once."""
        names = [column.split()[0] for column in kept.split(", ")]
        placed = df.mapInArrow(
            sources.addressed(self._starts, self._plan.chunk, names), f"chunk bigint, row bigint, local bigint, {kept}"
        )
        return (
            worker.deal(placed, F.col("chunk"), self._parts(self._chunks, row_bytes * self._plan.nodes))
            .sortWithinPartitions("chunk", "local")
            .mapInArrow(sources.chunk_frames(self._starts, self._plan.chunk, make), frames.SPARK_SCHEMA)
        )

    # Blocks of the adjacency.

    def _join_edges(self) -> None:
        weight = [F.col("weight").cast("float").alias("weight")] if self._weighted else []

        def arcs() -> DataFrame:
            ids = self._numbers.select("id", "number")
            numbered = (
                self._edges.select(self._id("src").alias("src"), self._id("dst").alias("dst"), *weight)
                .join(ids.select(F.col("id").alias("src"), F.col("number").alias("source")), "src")
                .join(ids.select(F.col("id").alias("dst"), F.col("number").alias("target")), "dst")
                .select("source", "target", *(["weight"] if self._weighted else []))
            )
            return worker.run(numbered, self._job("arcs"), binary=self._binary, feed=sources.edges_feed)

        runs = self._stages.run("arcs", arcs, needs=["numbers"], of=self._shape, reads_frames=False)

        def merged() -> DataFrame:
            groups = self._ranges**2
            return worker.run(
                runs.where(F.col("kind") == frames.ARCS), self._job("merge"), binary=self._binary,
                group=[F.col("row"), F.col("col"), F.lit(0)],
                place=F.col("row") * self._ranges + F.col("col"),
                partitions=self._parts(groups, self._plan.arc_bytes),
                order=[F.col("first"), F.col("part")],
            )

        taken = _merged_reports(runs).get("edges", 0)
        if taken != self._plan.arcs // 2:
            raise GraphcleanerError(f"arcs: got {taken:,} edges of the {self._plan.arcs // 2:,} of {self._paths['edges']}, want all once")
        self._merged = self._stages.run("merge", merged, needs=["arcs"], of=self._shape)
        self._arcs = self._merged.where(F.col("kind") == frames.ARCS)
        self._strength = self._stages.run(
            "strength",
            lambda: self._by_chunk(
                self._job("strength"), [self._rows(), self._merged.where(F.col("kind") == frames.SUMS)],
                9 * self._plan.sums_rows,
            ),
            needs=["backbone", "merge"], of=self._shape,
        ).where(F.col("kind") == frames.STRENGTH)

    # Operations of the worker.

    def _job(self, op: str, **more: Any) -> worker.Job:
        common = {
            "op": op, "version": self._version, "memory": self._arguments.memory, "chunk": self._plan.chunk, "ranges": self._starts,
            "classes": len(self._classes), "weighted": self._weighted, "hops": self._hops,
        }
        if self._census is not None:
            common["census"] = self._census
        return {**common, **more}

    def _parts(self, groups: int, size: int) -> int:
        return self._plan.partitions(groups, size)

    def _rows(self) -> DataFrame:
        """The rows that there are, for what does not depend on labels and decisions about them."""
        return self._backbone.where(F.col("kind") == frames.LABELS)

    def _labels(self) -> DataFrame:
        return self._decided_labels if self._decided else self._rows()

    def _predictions(self) -> DataFrame:
        return (self._classified if self._arguments.predictions is None else self._backbone).where(
            F.col("kind") == frames.PREDICTIONS)

    def _of_splits(self, kind: int) -> DataFrame:
        return self._splits.where(F.col("kind") == kind)

    def _by_chunk(self, job: worker.Job, parts: list[DataFrame], size: int) -> DataFrame:
        """An operation on chunks of nodes: labels, strength, others, and last the sums."""
        number = F.floor(F.col("first") / self._plan.chunk).cast("bigint")
        rank = (
            F.when(F.col("kind") == frames.LABELS, 0).when(F.col("kind") == frames.STRENGTH, 1)
            .when(F.col("kind") == frames.SUMS, 3).otherwise(2)
        )
        return worker.run(
            reduce(DataFrame.unionByName, parts), job, binary=self._binary,
            group=[F.col("row"), F.lit(0), number],
            place=_lookup(self._bases_of_chunks, F.col("row")) + number,
            partitions=self._parts(self._chunks, size),
            order=[rank, F.col("kind"), F.col("col"), F.col("part"), F.col("first")],
        )

    def _multiply(self, job: worker.Job, of_columns: list[DataFrame], node_bytes: int) -> DataFrame:
        """Sums over the arcs of blocks: every column of blocks is dealt to some groups, which get its values each."""
        parts = self._plan.parts(self._ranges)
        values = reduce(DataFrame.unionByName, of_columns).withColumns(
            {"at": F.col("row"), "dealt": F.explode(F.sequence(F.lit(0), F.lit(parts - 1)))}
        )
        arcs = self._arcs.withColumns({"at": F.col("col"), "dealt": F.floor(F.col("row") * parts / self._ranges).cast("int")})
        rank = (
            F.when(F.col("kind") == frames.LABELS, 0).when(F.col("kind") == frames.STRENGTH, 1)
            .when(F.col("kind") == frames.ARCS, 3).otherwise(2)
        )
        sums = worker.run(
            values.unionByName(arcs), job, binary=self._binary,
            group=[F.col("at"), F.col("dealt"), F.lit(0)],
            place=F.col("at") * parts + F.col("dealt"),
            partitions=self._parts(self._ranges * parts, self._plan.arc_bytes + self._plan.nodes * parts * node_bytes),
            order=[rank, F.col("row"), F.col("first")],
        )
        return sums.where(F.col("kind") == frames.SUMS)

    def _triangles(self) -> DataFrame:
        """Sums over triangles, by triples of ranges: see triples."""
        of_block, of_range, place, places = triples(self._ranges, self._plan.stretch)
        arcs = self._arcs.where("row >= col").withColumn("triple", F.explode(of_block))
        strength = self._strength.withColumn("triple", F.explode(of_range))
        sums = worker.run(
            strength.unionByName(arcs), self._job("triangles", stretch=self._plan.stretch), binary=self._binary,
            group=[F.col(f"triple.{name}") for name in "ijk"], place=place,
            partitions=self._parts(places, self._plan.triangle_bytes),
            order=[F.col("kind") == frames.ARCS, F.col("row"), F.col("col"), F.col("first")],
        )
        return sums.where(F.col("kind") == frames.SUMS)

    # Predictions of a linear classifier.

    def _count_features(self) -> int:
        names, listed, values = self._columns_given()
        width = len(names)
        if listed:
            row = values.where(F.col("row").isNotNull()).select(F.size("row")).head()
            width = row[0] if row is not None else 0
        if not 1 <= width <= linear.GREATEST_WIDTH:
            raise InputError(f"{self._paths['features']}: got {width} features, want 1 to {linear.GREATEST_WIDTH}")
        return width

    def _classify(self) -> None:
        path, width, size = self._paths["features"], self._width, self._plan.nodes * 4 * self._width
        names, listed, values = self._columns_given()
        read = inputs.features(path, [f"number {j}" for j in range(width)] if listed else names, listed)
        linear.check_taught(self._census["census"]["Taught"], self._classes)

        def run(stage: str, build: Callable[[], DataFrame], needs: list[str], of: Any = self._shape, **more: Any) -> DataFrame:
            return self._stages.run(f"linear-{stage}", build, needs=needs, of=of, title=f"{linear.NAME}, {stage}", **more)

        found = run("moments", lambda: values.mapInArrow(linear.moments(read), linear.MOMENTS_SCHEMA), ["numbers"],
                    self._listings["features"], of_frames=False, reads_frames=False)

        def make_inputs() -> DataFrame:
            rows = values.mapInArrow(read, self._row_schema()).withColumnRenamed("row", "features")
            nodes = self._numbers.select("id", "number").join(rows, "id", "left").select("number", "features")
            return self._frames_by_chunk(nodes, "features binary", linear.standardized(*linear.scale(path, found)), 16 + 4 * width)

        parts = [run("inputs", make_inputs, ["numbers", "linear-moments"], reads_frames=False)]

        def smooth(hop: int) -> DataFrame:
            if hop == 1:
                job, rows = self._job("multiply", mode="inputs", width=width, hops=linear.HOPS), [self._strength, parts[0]]
            else:
                job = self._job("multiply", mode="slice", width=width, hops=linear.HOPS)
                rows = [parts[-1].where(F.col("kind") == frames.SLICE)]
            sums = self._multiply(job, rows, 4 * width + 8)
            return self._by_chunk(
                self._job("add", mode="smooth", hop=hop, width=width, hops=linear.HOPS),
                [self._rows(), self._strength, parts[0] if hop == 1 else rows[0], sums], 8 * width * self._plan.sums_rows)

        done = ["backbone", "strength", "merge", "linear-inputs"]
        for hop in range(1, linear.HOPS + 1):
            parts.append(run(f"smooth{hop}", partial(smooth, hop), done))
            done = [*done, f"linear-smooth{hop}"]
        seen = [self._labels(), self._of_splits(frames.SPLITS), *(df.where(F.col("kind") == frames.INPUTS) for df in parts)]
        of_nodes = self._chunks_in_order(seen, len(parts) * size)
        needs = [*done, *self._of_labels, "splits"]

        def fit() -> DataFrame:
            share = linear.MOST_TEACHERS / max(1, self._census["census"]["Labelled"])
            taught = of_nodes.mapInArrow(linear.teachers(self._starts, self._seed, share), linear.TEACHERS_SCHEMA)
            few = linear.parts_of_teachers(min(self._plan.nodes, linear.MOST_TEACHERS), len(parts) * width)
            return linear.fit(self._spark, taught.coalesce(few), len(self._classes))

        model = run("fit", fit, needs, [self._shape, self._seed], of_frames=False)
        self._classified = run(
            "predictions",
            lambda: of_nodes.mapInArrow(linear.predictions(self._starts, self._classes, model), frames.SPARK_SCHEMA),
            [*needs, "linear-fit"])
        self._of_predictions = ["linear-predictions"]

    def _chunks_in_order(self, parts: list[DataFrame], size: int) -> DataFrame:
        """Frames of all chunks with the number of their `chunk`, by chunk, kind and part."""
        number = F.floor(F.col("first") / self._plan.chunk).cast("bigint")
        placed = reduce(DataFrame.unionByName, parts).withColumn("chunk", _lookup(self._bases_of_chunks, F.col("row")) + number)
        return worker.deal(placed, F.col("chunk"), self._parts(self._chunks, size)).sortWithinPartitions(
            "chunk", "kind", "part").select("chunk", "frame")

    # The stages of cleaning.

    def _gather(self) -> None:
        """What labels and predictions say of the noise, and around the nodes."""
        plan, classes, hops = self._plan, len(self._classes), self._hops
        self._confusion = self._noise()
        needs = [*self._of_labels, *self._of_predictions, "splits", "strength", "merge"]
        members = self._of_splits(frames.MEMBERS)

        def first_hop() -> DataFrame:
            sums = self._multiply(self._job("multiply", mode="first"), [self._labels(), self._strength], 16)
            return self._by_chunk(
                self._job("add", mode="first"),
                [self._labels(), self._strength, self._of_splits(frames.SPLITS), self._predictions(), members, sums],
                8 * plan.sums_rows + plan.nodes * (4 * classes + 13),
            )

        self._found = [self._stages.run("hop1", first_hop, needs=needs, of=[self._shape, hops])]
        done = ["hop1"]
        for k in range(2, hops + 1):
            if k == 3:
                def diagonal() -> DataFrame:
                    return self._by_chunk(
                        self._job("add", mode="diagonal", hop=3), [self._rows(), self._strength, self._triangles()],
                        9 * self._ranges * plan.nodes,
                    )

                self._found.append(
                    self._stages.run("diagonal", diagonal, needs=["backbone", "strength", "merge"], of=self._shape))
                done.append("diagonal")
            self._found.append(
                self._stages.run(f"hop{k}", partial(self._later_hop, k), needs=[*needs, *done], of=[self._shape, hops]))
            done.append(f"hop{k}")
        self._done = done

    def _score(self) -> DataFrame:
        plan, classes, hops, done = self._plan, len(self._classes), self._hops, self._done
        model = self._stages.run(
            "fit", lambda: self._fit(self._confusion), needs=[*done, "noise-joint"], of=[self._shape, self._expect, self._seed])
        self._fitted = _merged_reports(model)
        self._model = json.loads(_frames_on_driver(model, frames.MODEL)[0][frames.HEADER_SIZE:])

        def score() -> DataFrame:
            part, reach = F.col("part"), self._fitted["reach"]
            parts = [
                self._labels(), self._of_splits(frames.SPLITS), self._predictions(), self._made(frames.TESTED),
                self._made(frames.BALLOTS).where(F.col("col") == 0),
                self._made(frames.FEATURES).where((part == 0) | ((part > hops) & (part <= hops + reach))),
            ]
            return self._by_chunk(self._job("score", model=self._model), parts, plan.nodes * (16 * classes + 20))

        return self._stages.run("score", score, needs=["fit", *done, *self._of_labels, *self._of_predictions, "splits"], of=self._shape)

    def _noise(self) -> dict[str, Any]:
        report: dict[str, Any] = {}
        for mode in ("thresholds", "joint"):
            def count(mode: str = mode) -> DataFrame:
                job = self._job("noise", mode=mode, **({"thresholds": dict(report)} if report else {}))
                parts = [self._labels(), self._of_splits(frames.SPLITS), self._predictions()]
                return self._by_chunk(job, parts, self._plan.nodes * (4 * len(self._classes) + 5))

            made = self._stages.run(
                f"noise-{mode}", count, needs=[*self._of_labels, *self._of_predictions, "splits", *(["noise-thresholds"] if report else [])], of=self._shape)
            report.update(_merged_reports(made))
        return report

    def _made(self, kind: int) -> DataFrame:
        """All frames of a kind of the hops of labels."""
        return reduce(DataFrame.unionByName, (df.where(F.col("kind") == kind) for df in self._found))

    def _later_hop(self, k: int) -> DataFrame:
        slices = self._made(frames.SLICE).where(F.col("part") == k - 1)
        sums = self._multiply(self._job("multiply", mode="slice"), [slices], 4 * len(self._classes))
        return self._by_chunk(
            self._job("add", mode="hop", hop=k, of="labels"),
            [self._labels(), self._strength, self._made(frames.TESTED), self._of_splits(frames.MEMBERS),
             self._made(frames.DIAGONAL).where(F.col("part") == k), sums],
            self._plan.sums_rows * 8 * len(self._classes),
        )

    def _fit(self, noise: dict[str, Any]) -> DataFrame:
        of_members = reduce(DataFrame.unionByName, [
            self._made(frames.SAMPLE),
            self._made(frames.LABELS).where(F.col("col") == 1),
            self._made(frames.BALLOTS).where(F.col("col") == 1),
        ])
        rows = of_members.orderBy("row", "first", "kind", "part").select("frame").toLocalIterator()
        verdicts = decisions.by_number(self._census["verdicts"], self._decided, self._starts)
        job = self._job(
            "fit", neighbors=_merged_reports(self._found[0]), noise=noise, expect=self._expect, verdicts=verdicts)
        answers = worker.run_here(self._binary, job, (row["frame"] for row in rows))
        return self._spark.createDataFrame([_row(header, frame) for header, frame in answers], frames.SPARK_SCHEMA)

    # What is written.

    def _write_scores(self, score: DataFrame) -> DataFrame:
        def table() -> DataFrame:
            rows = score.where(F.col("kind") == frames.SCORES).select("frame").mapInArrow(
                sources.score_rows(self._starts), "number bigint, score float, suggested int, confidence float")
            names = self._spark.createDataFrame(list(enumerate(self._classes)), "class int, name string")

            def named(column: str, to: str) -> DataFrame:
                return F.broadcast(names.select(F.col("class").alias(column), F.col("name").alias(to)))

            return (
                self._with_ids(rows).join(named("label", "given_label"), "label", "left")
                .join(named("suggested", "suggested_label"), "suggested", "left")
                .select("id", "given_label", "score", "suggested_label", "confidence")
            )

        return self._stages.run("scores", table, needs=["score", "numbers"], of=self._shape, of_frames=False,
                                path=f"{self._out}/scores.parquet")

    def _with_ids(self, rows: DataFrame) -> DataFrame:
        """Rows by `number`, with the `id` and `label` of their node."""
        kind = self._nodes.schema["id"].dataType
        return rows.join(self._labelled.select("number", F.col("id").cast(kind).alias("id"), "label"), "number")

    def _write_features(self) -> None:
        plan, classes, hops = self._plan, len(self._classes), self._hops
        made = self._found
        done: list[str] = []
        for k in range(1, hops + 1):
            def of_predictions(k: int = k) -> DataFrame:
                if k == 1:
                    job, values = self._job("multiply", mode="predictions"), [self._strength, self._predictions()]
                else:
                    job = self._job("multiply", mode="slice")
                    values = [made[-1].where((F.col("kind") == frames.SLICE) & (F.col("part") == k - 1))]
                parts = [self._labels(), self._strength, self._made(frames.TESTED), self._of_splits(frames.MEMBERS),
                         self._predictions(), self._multiply(job, values, 4 * classes + 8)]
                if k >= 2:
                    parts.append(diagonals.where(F.col("part") == k))
                return self._by_chunk(
                    self._job("add", mode="hop", hop=k, of="predictions"), parts, plan.sums_rows * 8 * classes)

            diagonals = self._made(frames.DIAGONAL)
            made = [*made, self._stages.run(
                f"predictions{k}", of_predictions,
                needs=[*self._of_labels, *self._of_predictions, "splits", "strength", "merge", *self._done, *done], of=[self._shape, hops])]
            done.append(f"predictions{k}")

        def table() -> DataFrame:
            every = reduce(DataFrame.unionByName, (df.where(F.col("kind") == frames.FEATURES) for df in made))
            rows = every.select("frame").mapInArrow(sources.feature_rows(self._starts), "number bigint, part int, value float")
            names = [*(f"P{k}" for k in range(hops + 1)), *(f"L{k}" for k in range(1, hops + 1))]
            values = [F.max(F.when(F.col("part") == part, F.col("value"))).alias(name) for part, name in enumerate(names)]
            return self._with_ids(rows.groupBy("number").agg(*values)).select("id", *names)

        self._stages.run("features", table, needs=[*self._done, *done, "numbers"], of=self._shape, of_frames=False,
                         path=f"{self._out}/features.parquet")

    def _summary(self, score: DataFrame) -> Summary:
        scored, fitted, model = _merged_reports(score), self._fitted, self._model
        nodes, edges = self._plan.nodes, _merged_reports(self._merged).get("arcs", 0) // 2
        suspects = scored.get("suspects", 0)
        if fitted.get("bins"):
            answers = worker.run_here(
                self._binary, self._job("fit", mode="rebin", model=self._model, bins=scored["bins"]), [])
            fitted = worker.merge_reports(_report(frame) for header, frame in answers if header.kind == frames.REPORT)
            model = next(json.loads(frames.parse(frame)[1].tobytes()) for header, frame in answers if header.kind == frames.MODEL)
            suspects = self._suspects(fitted["threshold"]).count()
        began = datetime.fromtimestamp(int(self._stages.began), timezone.utc).isoformat()
        self._files.write(_finished(self._out), json.dumps({
            "graphcleaner": self._version, "arguments": asdict(self._arguments), "model": model, "noise": self._confusion,
            "threshold": fitted["threshold"], "started": began, "seconds": self._stages.seconds, "seed": self._seed,
            "nodes": nodes, "edges": edges, "scored": scored.get("scored", 0), "suspects": suspects,
            "plan": [stage._asdict() for stage in self._plan.stages()],
        }, allow_nan=False))
        if self._decided:
            suspects = self._undecided_suspects(fitted["threshold"]).count()
        classified, notices = None, list(fitted.get("notices") or ())
        if self._arguments.predictions is None:
            judged = _merged_reports(self._classified)
            classified = judged.get("right", 0), judged.get("looked", 0)
            if self._without:
                notices.append(f"{self._without:,} nodes have no features: the {linear.NAME} takes the mean of each")
        return Summary(
            nodes=nodes, edges=edges,
            scored=scored.get("scored", 0), suspects=suspects, rate=fitted["rate"], interval=tuple(fitted["interval"]),
            threshold=fitted["threshold"], warnings=tuple(fitted.get("warnings") or ()),
            notices=tuple(notices), classified=classified,
        )

    def _suspects(self, threshold: float) -> DataFrame:
        """The scores above a threshold of labels in whose place another is suggested."""
        return open_parquet(self._spark, f"{self._out}/scores.parquet").where(
            (F.col("score").cast("double") > threshold) & F.col("given_label").isNotNull()
            & (F.col("suggested_label") != F.col("given_label"))
        )

    def _undecided_suspects(self, threshold: float) -> DataFrame:
        """The suspects whose labels nobody has judged."""
        table = self._suspects(threshold)
        if not self._decided:
            return table
        ids = self._spark.createDataFrame([(node.by.id,) for node in self._decided], "decided string")
        return table.join(F.broadcast(ids), F.col("id").cast("string") == F.col("decided"), "left_anti")


def _check_out(out: str) -> None:
    if not out:
        raise GraphcleanerError("out: got an empty path, want a folder")


def _finished(out: str) -> str:
    return f"{out.rstrip('/')}/work/finished.json"


def finished_run(spark: SparkSession, out: str) -> tuple[Arguments, dict[str, Any]]:
    """What a finished run has noted of itself in its folder. GraphcleanerError if there is none."""
    _check_out(out)
    files = Files(spark)
    if not files.exists(_finished(out)):
        raise GraphcleanerError(f"{out}: no finished run with its folder work, want one")
    try:
        run = dict(json.loads(files.read(_finished(out))))
        return Arguments(**run.pop("arguments")), run
    except (ValueError, TypeError, KeyError):
        raise GraphcleanerError(f"{_finished(out)}: it is not that of a run of this version, want one: start it again") from None


_shipped: set[str] = set()  # sessions that have this package


def _ship_package(context: SparkContext) -> None:
    """Sends this package to the executors of a session, unless they have it."""
    package = Path(__file__).resolve().parent.parent
    if context.applicationId in _shipped or not package.is_dir():  # no folder: it came in a zip file, which tasks have
        return
    # The tasks fetch it whenever they begin, so it must be there until the end.
    folder = tempfile.mkdtemp(prefix="graphcleaner-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    archive = f"{folder}/graphcleaner-package.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for source in sorted(package.rglob("*.py")):
            packed.write(source, f"{package.name}/{source.relative_to(package)}")
    context.addPyFile(archive)
    _shipped.add(context.applicationId)


def triples(ranges: int, stretch: int) -> tuple[Column, Column, Column, int]:
    """Where the triangles of the ranges i ≥ j ≥ k are found: arrays of triples (i, j, k), the place of one, and how many places.

    The first array is of a block (row, col), row ≥ col, the second of a range row. A place has so many k with the same i
    and j, a stretch, ascending. There the worker keeps strengths and arcs, so they go to the first k that needs them. If i = j, a
    stretch is one k.
    """
    every = f"sequence(0L, {ranges - 1}L)"
    of_block = F.expr(f"""concat(
        transform(sequence(0L, col, if(row = col, 1L, {stretch}L)), k -> struct(row as i, col as j, k as k)),
        transform(filter({every}, j -> j > col and j <= row), j -> struct(row as i, j as j, col as k)),
        transform(filter({every}, i -> i > row), i -> struct(i as i, row as j, col as k)))""")
    of_range = F.expr(f"""concat(
        flatten(transform(sequence(0L, row),
            j -> transform(sequence(0L, j, if(row = j, 1L, {stretch}L)), k -> struct(row as i, j as j, k as k)))),
        flatten(transform(filter({every}, i -> i > row),
            i -> transform(sequence(0L, row, {stretch}L), k -> struct(i as i, row as j, k as k)))),
        flatten(transform(filter({every}, j -> j > row),
            j -> transform(filter({every}, i -> i >= j), i -> struct(i as i, j as j, row as k)))))""")
    i, j, k = (F.col(f"triple.{name}") for name in "ijk")
    before_j = list(accumulate((j // stretch + 1 for j in range(ranges)), initial=0))
    before_i = list(accumulate((before_j[i] + i + 1 for i in range(ranges)), initial=0))
    in_pair = F.when(i == j, k).otherwise(F.floor(k / stretch)).cast("bigint")
    return of_block, of_range, _lookup(before_i, i) + _lookup(before_j, j) + in_pair, before_i[-1]


def quoted(name: str) -> str:
    """The name of a column, whatever its letters are."""
    return "`" + name.replace("`", "``") + "`"


def _text(column: str) -> Column:
    return F.col(column).cast("string")


def _lookup(values: Sequence[int], index: Column) -> Column:
    """values[index], on the executors."""
    return F.element_at(F.array(*(F.lit(value).cast("bigint") for value in values)), (index + 1).cast("int"))


def _frames_on_driver(df: DataFrame, kind: int) -> list[bytes]:
    rows = df.where(F.col("kind") == kind).orderBy("row", "col", "part", "first").select("frame").collect()
    return [bytes(row["frame"]) for row in rows]


def _report(frame: bytes | bytearray) -> Any:
    return json.loads(bytes(frames.parse(frame)[1]))


def _merged_reports(df: DataFrame) -> dict[str, Any]:
    merged = worker.merge_reports(_report(frame) for frame in _frames_on_driver(df, frames.REPORT))
    return merged or {}


def _one_report(df: DataFrame, name: str) -> Any:
    reports = _frames_on_driver(df, frames.REPORT)
    if len(reports) != 1:
        raise GraphcleanerError(f"{name}: got {len(reports)} reports, want one")
    return _report(reports[0])


def _row(header: frames.Header, frame: bytes | bytearray) -> tuple[Any, ...]:
    return (header.row, header.column, header.part, header.kind, header.first, header.count, bytes(frame))
