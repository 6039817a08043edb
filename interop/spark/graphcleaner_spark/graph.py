"""The graph that people give: its files, the order of its classes, and the numbers of its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from graphcleaner._rules import SPLIT_NAMES, class_order

from . import inputs
from .errors import InputError
from .stages import Files, read_parquet


class Graph:
    """Files of nodes, edges and predictions, opened and with the columns that they must have: InputError.

    nodes, edges, predictions   their tables
    listings                    names, sizes and times of their files
    drawn                       whether nodes have no splits
    classes                     in the order of the embedded store
    columns                     the classes that predictions have, in their order
    """

    def __init__(self, spark: SparkSession, nodes: str, edges: str, predictions: str,
                 prediction_classes: Sequence[str] | None):
        self._spark, self._paths = spark, {"nodes": nodes, "edges": edges, "predictions": predictions}
        self.listings = self._list()
        self.nodes, self.edges, given = (read_parquet(spark, path) for path in self._paths.values())
        tables = {"nodes": (self.nodes, ("id", "label")), "edges": (self.edges, ("src", "dst")),
                  "predictions": (given, ("id",))}
        for name, (df, columns) in tables.items():
            for column in columns:
                if column not in df.columns:
                    raise self.wrong(name, f"no column {column} in {', '.join(df.columns)}, want {', '.join(columns)}")
        if "_metadata" in self.nodes.columns:
            raise self.wrong("nodes", "column _metadata: Spark has a column of this name, want another one")
        self._are_texts = any([self._is_text("nodes", self.nodes, "id"), self._is_text("edges", self.edges, "src"),
                               self._is_text("edges", self.edges, "dst"), self._is_text("predictions", given, "id")])
        if not isinstance(self.nodes.schema["label"].dataType, T.BooleanType):
            self._is_text("nodes", self.nodes, "label")
        if "weight" in self.edges.columns:
            raise self.wrong("edges", "column weight: got weights, want edges without them on Spark; graphcleaner "
                                      "clean takes weights")
        self.drawn = "split" not in self.nodes.columns
        labels = self.nodes.select(text("label").alias("label")).where("label <> ''").distinct().collect()
        self.classes = class_order({row["label"] for row in labels})
        if not self.classes:
            raise self.wrong("nodes", "no node has a label, want some")
        self.columns, self.predictions = self._columns_of(given, prediction_classes)
        inputs.check_columns(predictions, self.columns, self.classes)

    def wrong(self, name: str, says: str) -> InputError:
        """An error of the file that has this name among the inputs."""
        return InputError(f"{self._paths[name]}: {says}")

    def _list(self) -> dict[str, Any]:
        return {name: Files(self._spark).listing(path) for name, path in self._paths.items()}

    def check_unchanged(self) -> None:
        """InputError if a file is not what it was when it was opened."""
        for name, listing in self._list().items():
            if listing != self.listings[name]:
                raise self.wrong(name, "it has changed since the run began, want it as it is: start again")

    def _is_text(self, name: str, df: DataFrame, column: str) -> bool:
        kind = df.schema[column].dataType
        if not isinstance(kind, (T.StringType, T.IntegralType)):
            raise self.wrong(name, f"column {column}: got {kind.simpleString()}, want texts or integers")
        return isinstance(kind, T.StringType)

    def _columns_of(self, given: DataFrame, classes: Sequence[str] | None) -> tuple[list[str], DataFrame]:
        """The classes of predictions, and `id` and `predictions`, lists of them."""
        names = [name for name in given.columns if name != "id"]
        listed = names == ["predictions"] and isinstance(given.schema[names[0]].dataType, T.ArrayType)
        for name in names:
            kind = given.schema[name].dataType
            kind = kind.elementType if listed else kind  # type: ignore[attr-defined]
            if not isinstance(kind, T.NumericType):
                raise self.wrong("predictions", f"column {name}: got {kind.simpleString()}, want numbers")
        if classes is not None and not listed:
            raise self.wrong("predictions", "its columns name the classes, want no --prediction-classes")
        if not listed and "id" in self.classes:
            raise self.wrong("predictions", 'class "id": the column id has the ids, want the predictions as a list')
        numbers = F.col("predictions") if listed else F.array(*(F.col(quoted(name)).cast("double") for name in names))
        return (list(classes or self.classes) if listed else names), given.select(self.id("id"),
                                                                                  numbers.alias("predictions"))

    def id(self, column: str) -> Column:
        """An id, as the same type in all inputs."""
        return F.col(column).cast("string" if self._are_texts else "bigint").alias(column)

    def probabilities(self) -> DataFrame:
        """`id` and `predictions`, frames of numbers in the order of the classes."""
        kind = self.predictions.schema["id"].dataType.simpleString()
        return self.predictions.mapInArrow(
            inputs.probabilities(self._paths["predictions"], self.columns, self.classes),
            f"id {kind}, predictions binary")

    def ends(self) -> DataFrame:
        """`src` and `dst` of all edges in both directions."""
        there = self.edges.select(self.id("src"), self.id("dst"))
        return there.unionByName(there.select(F.col("dst").alias("src"), F.col("src").alias("dst")))

    def count_ids(self) -> DataFrame:
        """Every id that an input names: its place and values among the nodes, how often edges name it, and how often
        without loops.
        """
        files = self.nodes.groupBy(F.col("_metadata.file_path").alias("path")).count().collect()
        bases, n = [], 0
        for path, count in sorted((row["path"], row["count"]) for row in files):
            bases.append((path, n))
            n += count
        split = F.lit("") if self.drawn else F.lower(F.coalesce(text("split"), F.lit("")))
        number_of_split = reduce(lambda rest, name: F.when(split == name, SPLIT_NAMES[name]).otherwise(rest),
                                 SPLIT_NAMES, F.lit(-1))
        given = self.nodes.select(
            self.id("id"), text("label").alias("label"), number_of_split.alias("split"),
            F.col("_metadata.file_path").alias("path"), F.col("_metadata.row_index").alias("index"),
        ).join(F.broadcast(self._spark.createDataFrame(bases, "path string, base bigint")), "path")
        places = given.select("id", (F.col("base") + F.col("index")).alias("position"), "label", "split")
        strength = F.count(F.when(F.col("src") != F.col("dst"), 1))
        degrees = self.ends().groupBy(F.col("src").alias("id")).agg(F.count("*").alias("degree"),
                                                                    strength.alias("strength"))
        predicted = self.predictions.select("id", F.lit(1).alias("predicted"))
        return (
            places.unionByName(degrees, allowMissingColumns=True).unionByName(predicted, allowMissingColumns=True)
            .groupBy("id")
            .agg(F.count("position").alias("times"), F.min("position").alias("position"),
                 F.max("position").alias("last"), F.max("label").alias("label"), F.min("split").alias("split"),
                 F.coalesce(F.sum("degree"), F.lit(0)).alias("degree"), F.sum("strength").alias("strength"),
                 F.count("predicted").alias("predicted"))
        )

    def check_ids(self, ids: DataFrame) -> None:
        """InputError for what is not right in count_ids."""
        unknown, example = F.col("times") == 0, F.coalesce(text("id"), F.lit("null"))
        is_id = F.col("id").isNotNull() & (text("id") != "")
        found = ids.agg(
            F.min(F.when(~is_id & ~unknown, F.col("position"))).alias("none"),
            F.min(F.when(F.col("times") > 1, F.struct("position", "last", "id"))).alias("again"),
            F.min(F.when(~unknown & (F.col("split") < 0), F.struct("position", "id"))).alias("split"),
            F.sum(F.when(unknown, F.col("degree"))).alias("ends"),
            F.min(F.when(unknown & (F.col("degree") > 0), example)).alias("end"),
            F.min(F.when(unknown & (F.col("predicted") > 0), example)).alias("guessed"),
            F.count(F.when(unknown & (F.col("predicted") > 0), 1)).alias("guesses"),
            F.min(F.when(F.col("predicted") > 1, example)).alias("twice"),
            F.count(F.when(~unknown & (F.col("predicted") > 0), 1)).alias("with"),
        ).collect()[0]
        of_nodes = f"want ids that {self._paths['nodes']} has"
        if found["none"] is not None:
            raise self.wrong("nodes", f"node at position {found['none']}: column \"id\": got none, want an id")
        if (again := found["again"]) is not None:
            raise self.wrong("nodes", f'node at position {again["last"]}: column "id": got "{again["id"]}" again, '
                             f'as at position {again["position"]}, want every id once')
        if (at := found["split"]) is not None:
            got = self.nodes.where(self.id("id") == at["id"]).select(text("split")).collect()[0][0]
            raise self.wrong("nodes", f'node "{at["id"]}" at position {at["position"]}: column "split": got "{got}", '
                             "want train, val, test or none")
        if found["end"] is not None:
            raise self.wrong("edges", f'got {found["ends"]} ends of edges at unknown nodes, such as "{found["end"]}", '
                                      f'{of_nodes}')
        if found["guessed"] is not None:
            raise self.wrong("predictions", f'got predictions of {found["guesses"]} unknown nodes, such as '
                                            f'"{found["guessed"]}", {of_nodes}')
        if found["twice"] is not None:
            raise self.wrong("predictions", f"predictions of node {found['twice']}: got a second row, want one")
        if not found["with"]:
            raise self.wrong("predictions", "got predictions of no node, want those of labelled nodes")

    def order(self, ids: DataFrame) -> DataFrame:
        """The nodes of count_ids, in the order of their numbers, with a class or -1 as `label`. Nodes of a degree are
        in an order that knows nothing of their files, where neighbours may lie close: so blocks are about equally
        full."""
        classes = self._spark.createDataFrame(list(zip(self.classes, range(len(self.classes)), strict=True)),
                                              "label string, class int")
        return (
            ids.where("times > 0")
            .join(F.broadcast(classes), "label", "left")
            .select("id", "position", F.coalesce("class", F.lit(-1)).alias("label"), "split", "degree",
                    (F.col("predicted") > 0).alias("predicted"))
            .orderBy(F.col("degree").desc(), F.xxhash64("position"), "position")
            .withColumn("order", F.monotonically_increasing_id())
        )


def numbered(ordered: DataFrame) -> DataFrame:
    """What Graph.order has made, with `number`."""
    # monotonically_increasing_id has the partition in its upper bits, and the row in the lower 33.
    part = F.shiftright("order", 33).cast("int")
    counts: dict[int, int] = dict(ordered.groupBy(part).count().collect())
    bases, at = [], 0
    for p in range(max(counts, default=0) + 1):
        bases.append(at)
        at += counts.get(p, 0)
    return ordered.withColumn("number", lookup(bases, part) + F.col("order").bitwiseAND((1 << 33) - 1))


def quoted(name: str) -> str:
    """The name of a column, whatever its letters are."""
    return "`" + name.replace("`", "``") + "`"


def text(column: str) -> Column:
    """A column as text."""
    return F.col(column).cast("string")


def lookup(values: Sequence[int], index: Column) -> Column:
    """values[index], on the executors."""
    return F.element_at(F.array(*(F.lit(value).cast("bigint") for value in values)), (index + 1).cast("int"))


def triples(ranges: int) -> tuple[Column, Column, Column]:
    """Where the triangles of the ranges i ≥ j ≥ k are found: arrays of triples [i, j, k], of a block (row, col) and of
    a range row, and the place of the triple in the column `triple`."""
    every = f"sequence(0L, {ranges - 1}L)"
    descending = "sort_array(array({}), false)"
    of_block = F.expr(f"transform({every}, x -> {descending.format('row, col, x')})")
    of_range = F.expr(f"flatten(transform({every}, x -> transform(sequence(0L, x), y -> "
                      f"{descending.format('row, x, y')})))")
    i, j, k = (F.col("triple")[at] for at in range(3))
    place = (i * (i + 1) * (i + 2) / 6).cast("bigint") + (j * (j + 1) / 2).cast("bigint") + k
    return of_block, of_range, place
