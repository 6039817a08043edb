"""A small graph around the suspects of a run, for the store of one machine: `graphcleaner import --scores --run` takes it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from . import frames, sources, worker
from .errors import GraphcleanerError, InputError
from .pipeline import Cleaning, finished_run, quoted
from .stages import open_parquet, plain_errors, settings

MOST_NEIGHBORS = 1 << 16
_LEAST_NEIGHBORS = 2
_LESS_A_HOP = 4  # the neighbours of a node are as many times fewer at each hop
_RING = "ring"


@dataclass(frozen=True)
class Packed:
    """What a pack has: suspects are those above the threshold, packed those of them that it has, around the other nodes."""

    suspects: int
    packed: int
    around: int
    neighbors: int
    command: str

    def __str__(self) -> str:
        return (
            f"{self.suspects:,} suspects; {self.packed:,} packed; {self.around:,} nodes around them "
            f"(of each node the {self.neighbors} heaviest neighbours)\n{self.command}"
        )


def pack(
    spark: SparkSession,
    out: str,
    *,
    threshold: float | None = None,
    most: int = 10_000,
    neighbors: int = 30,
    binary: str | None = None,
    log: Callable[[str], None] = print,
) -> Packed:
    """Writes OUT/pack of the finished run in out: the suspects with the highest scores, the nodes around them over the hops of
    the run, and all edges among these.

    threshold   the score above which a node is a suspect; None: that of the run
    most        suspects
    neighbors   of a suspect, those that weigh most in the vote; a quarter of that of a node at hop 1, a sixteenth at hop 2
    binary      path of graphcleaner, of the version of the run; None: as for clean
    log         takes a line a stage, and what was packed

    The folder gets nodes.parquet (the columns of the nodes file and `ring`: the hop at which a node came, 0 for suspects),
    edges.parquet, predictions.parquet, scores.parquet and run.json. GraphcleanerError says what is wrong. A later call goes on
    after the last complete stage.
    """
    if most < 1:
        raise GraphcleanerError(f"most: got {most}, want at least 1")
    if not 1 <= neighbors <= MOST_NEIGHBORS:
        raise GraphcleanerError(f"neighbors: got {neighbors}, want 1 to {MOST_NEIGHBORS}")
    if threshold is not None and not 0 <= threshold <= 1:
        raise GraphcleanerError(f"threshold: got {threshold:g}, want a score from 0 to 1")
    with settings(spark), plain_errors():
        arguments, run = finished_run(spark, out)
        packing = _Packing(spark, arguments, out, binary, log)
        with packing._alone():
            return packing.pack(run, run["threshold"] if threshold is None else threshold, most, neighbors)


class _Packing(Cleaning):
    def pack(self, run: dict[str, Any], threshold: float, most: int, neighbors: int) -> Packed:
        self._take_up()
        if _RING in self._nodes.columns:
            raise InputError(f"{self._paths['nodes']}: pack writes a column {_RING}, want another name for yours")
        if "id" in self._classes:
            raise InputError(f'{self._paths["nodes"]}: class "id": it would have the name of another column of predictions')
        suspects = self._undecided_suspects(threshold)
        found = suspects.count()
        if not found:
            raise GraphcleanerError(f"{self._out}: no suspects above {threshold:g}, want some to pack")

        def first() -> DataFrame:
            ids = self._numbers.select("id", "number")
            highest = suspects.select(self._id("id").alias("id"), "score").join(ids, "id")
            return highest.orderBy(F.col("score").desc(), "number").limit(most).select("number", F.lit(0).alias(_RING))

        rings = [self._stages.run("pack-ring0", first, needs=["scores", "numbers", *self._of_labels],
                                  of=[threshold, most], of_frames=False, reads_frames=False)]
        needs = ["strength", "merge", "pack-ring0"]
        for hop in range(1, self._hops + 1):
            wanted = max(_LEAST_NEIGHBORS, neighbors // _LESS_A_HOP ** (hop - 1))
            rings.append(self._stages.run(
                f"pack-ring{hop}", partial(self._next_ring, rings[:], hop, wanted), needs=needs, of=[self._shape, wanted], of_frames=False))
            needs = [*needs, f"pack-ring{hop}"]
        packed = reduce(DataFrame.unionByName, rings)
        self._write(packed, needs)
        self._files.write(f"{self._out}/pack/run.json", json.dumps(run))
        counts: dict[int, int] = dict(packed.groupBy(_RING).count().collect())
        told = Packed(found, counts.pop(0), sum(counts.values()), neighbors, self._command())
        self._log(str(told))
        return told

    def _take_up(self) -> None:
        """Everything that the run has made. GraphcleanerError if some of it is not there any more."""
        log, self._log = self._log, lambda text: None
        self._stages.complete = True
        self._make()
        self._stages.complete, self._log = False, log
        self._stages.outdated = [f"{self._out}/pack"]

    # The nodes.

    def _members(self, nodes: DataFrame) -> DataFrame:
        """Members frames of nodes, by their number."""
        placed = nodes.select("number").mapInArrow(
            sources.addressed(self._starts, self._plan.chunk, []), "chunk bigint, row bigint, local bigint")
        return (
            worker.deal(placed, F.col("chunk"), self._parts(self._chunks, 0)).sortWithinPartitions("chunk", "local")
            .mapInArrow(sources.member_frames(self._plan.chunk), frames.SPARK_SCHEMA)
        )

    def _next_ring(self, rings: list[DataFrame], hop: int, most: int) -> DataFrame:
        """The nodes that weigh most in the votes about the nodes of the last ring, without those that are in a ring."""
        parts = self._plan.parts(self._ranges)
        every, dealt = F.sequence(F.lit(0), F.lit(self._ranges - 1)), F.floor(F.col("row") * parts / self._ranges).cast("int")
        strength = self._strength.withColumns({"at": F.col("row").cast("int"), "dealt": F.explode(F.sequence(F.lit(0), F.lit(parts - 1)))})
        members = self._members(rings[-1]).withColumns({"at": F.explode(every), "dealt": dealt})
        arcs = self._arcs.withColumns({"at": F.col("col").cast("int"), "dealt": dealt})
        rank = F.when(F.col("kind") == frames.STRENGTH, 0).when(F.col("kind") == frames.MEMBERS, 1).otherwise(2)
        found = worker.run(
            reduce(DataFrame.unionByName, [strength, members, arcs]), self._job("pack", mode="reach", most=most),
            binary=self._binary, group=[F.col("at"), F.col("dealt"), F.lit(0)], place=F.col("at") * parts + F.col("dealt"),
            partitions=self._parts(self._ranges * parts, self._plan.arc_bytes + self._plan.nodes * parts * 8),
            order=[rank, F.col("row"), F.col("first")],
        )
        pairs = found.where(F.col("kind") == frames.PAIRS).select("frame").mapInArrow(
            sources.pair_rows, "source bigint, target bigint, weight float")
        of_source = Window.partitionBy("source").orderBy(F.col("weight").desc(), "target")
        best = pairs.withColumn("place", F.row_number().over(of_source)).where(F.col("place") <= most)
        known = reduce(DataFrame.unionByName, rings).select("number")
        return (
            best.select(F.col("target").alias("number")).distinct().join(known, "number", "left_anti")
            .select("number", F.lit(hop).alias(_RING))
        )

    # The files.

    def _write(self, packed: DataFrame, needs: list[str]) -> None:
        kind = self._nodes.schema["id"].dataType
        names = self._spark.createDataFrame(list(enumerate(self._classes)), "label int, name string")
        of_nodes = self._stages.run(
            "pack-ids",
            lambda: self._labelled.join(packed, "number").join(F.broadcast(names), "label", "left").select(
                "number", "position", F.col("id").cast(kind).alias("id"), F.col("name").alias("label"), _RING),
            needs=[*needs, "numbers", *self._of_labels], of=self._shape, of_frames=False, reads_frames=False,
        )
        tables: list[tuple[str, Callable[[], DataFrame], list[str]]] = [
            ("nodes", lambda: self._nodes_of(of_nodes), []),
            ("edges", lambda: self._edges_among(of_nodes), ["merge"]),
            ("predictions", lambda: self._predictions_of(of_nodes), ["backbone", *self._of_predictions]),
            ("scores", lambda: self._scores_of(of_nodes), ["scores", *self._of_labels]),
        ]
        for name, build, more in tables:
            self._stages.run(f"pack-{name}", build, needs=["pack-ids", *more], of=self._shape, of_frames=False)
            self._files.copy_only(f"{self._out}/work/pack-{name}", ".parquet", f"{self._out}/pack/{name}.parquet")

    def _nodes_of(self, nodes: DataFrame) -> DataFrame:
        """The rows of the nodes file, with the labels that people have decided on."""
        joined = self._nodes.alias("own").join(nodes.alias("packed"), F.col("own.id") == F.col("packed.id"))
        first = ["id", "label", *([] if self._drawn else ["split"])]
        columns = [*first, *(name for name in self._nodes.columns if name not in ("id", "label", "split"))]
        kept = [F.col(("packed." if name == "label" else "own.") + quoted(name)) for name in columns]
        return _one_file(joined, "packed.position").select(*kept, f"packed.{_RING}")

    def _edges_among(self, nodes: DataFrame) -> DataFrame:
        other = F.explode(F.sequence(F.lit(0), F.lit(self._ranges - 1)))
        row, col = F.col("row").cast("int"), F.col("col").cast("int")
        members = self._members(nodes).withColumn("other", other).withColumns(
            {"i": F.least("other", row), "j": F.greatest("other", row)}).drop("other")
        arcs = self._arcs.where("row <= col").withColumns({"i": row, "j": col})
        found = worker.run(
            members.unionByName(arcs), self._job("pack", mode="edges"), binary=self._binary,
            group=[F.col("i"), F.col("j"), F.lit(0)], place=F.col("i") * self._ranges + F.col("j"),
            partitions=self._parts(self._ranges**2, self._plan.arc_bytes),
            order=[F.col("kind") == frames.ARCS, F.col("row"), F.col("first")],
        )
        weight = ["weight"] if self._weighted else []
        pairs = found.where(F.col("kind") == frames.EDGES).select("frame").mapInArrow(
            sources.pair_rows, "source bigint, target bigint, weight float")
        joined = (
            pairs.join(nodes.select(F.col("number").alias("source"), F.col("id").alias("src")), "source")
            .join(nodes.select(F.col("number").alias("target"), F.col("id").alias("dst")), "target")
        )
        return _one_file(joined, "source", "target").select("src", "dst", *weight)

    def _predictions_of(self, nodes: DataFrame) -> DataFrame:
        members = self._members(nodes)
        chunks = members.select("row", "first")
        given = self._predictions().join(F.broadcast(chunks), ["row", "first"], "left_semi").select(*frames.COLUMNS)
        rows = self._chunks_in_order([given, members], 0).mapInArrow(
            sources.member_values(self._starts), "number bigint, p array<float>")
        columns = [F.col("p")[k].alias(name) for k, name in enumerate(self._classes)]
        joined = rows.join(nodes.select("number", "position", "id"), "number").where(~F.isnan(F.col("p")[0]))
        return _one_file(joined, "position").select("id", *columns)

    def _scores_of(self, nodes: DataFrame) -> DataFrame:
        """The scores; none of nodes that somebody has decided about, so that nobody is asked again."""
        table = open_parquet(self._spark, f"{self._out}/scores.parquet")
        ids = self._spark.createDataFrame([(node.number,) for node in self._decided], "number bigint").withColumn("decided", F.lit(True))
        score = F.when(F.col("decided").isNull(), F.col("score")).alias("score")
        joined = table.join(nodes.select("number", "position", "id"), "id").join(F.broadcast(ids), "number", "left")
        return _one_file(joined, "position").select("id", "given_label", score, "suggested_label", "confidence")

    def _command(self) -> str:
        folder = f"{self._out}/pack"
        files = " ".join(f"--{name} {shlex.quote(f'{folder}/{name}.parquet')}" for name in ("nodes", "edges", "predictions", "scores"))
        return f"graphcleaner import home.graph {files} --run {shlex.quote(f'{folder}/run.json')}"


def _one_file(df: DataFrame, *order: str) -> DataFrame:
    return df.repartition(1).sortWithinPartitions(*order)
