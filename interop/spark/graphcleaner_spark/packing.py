"""A small graph around the suspects of a run, for the store of one machine: `graphcleaner import --scores --run` takes
it.
"""

from __future__ import annotations

import json
import shlex
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from . import decisions
from .errors import GraphcleanerError
from .graph import Graph, quoted
from .results import finished_run, graph_fingerprint, suspects_of, undecided
from .stages import Files, Stages, open_parquet, plain_errors, settings

_LEAST_NEIGHBORS = 2
_LESS_A_HOP = 4  # the neighbours of a node are as many times fewer at each hop
_RING = "ring"


@dataclass(frozen=True)
class Packed:
    """What a pack has: suspects are those above the threshold, packed those of them that it has, around the other
    nodes.
    """

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
    log: Callable[[str], None] = print,
) -> Packed:
    """Writes OUT/pack of the finished run in out: the suspects with the highest scores, the nodes around them over the
    hops of the run, and all edges among these.

    threshold   the score above which a node is a suspect; None: that of the run
    most        suspects
    neighbors   of a suspect, those that weigh most in the vote; a quarter of that of a node at hop 1, a sixteenth at
                hop 2
    log         takes a line a stage, and what was packed

    The folder gets nodes.parquet (the columns of the nodes file and `ring`: the hop at which a node came, 0 for
    suspects), edges.parquet, predictions.parquet, scores.parquet and run.json. GraphcleanerError says what is wrong.
    """
    if not out:
        raise GraphcleanerError("out: got an empty path, want a folder")
    if most < 1:
        raise GraphcleanerError(f"most: got {most}, want at least 1")
    if neighbors < 1:
        raise GraphcleanerError(f"neighbors: got {neighbors}, want at least 1")
    if threshold is not None and not 0 <= threshold <= 1:
        raise GraphcleanerError(f"threshold: got {threshold:g}, want a score from 0 to 1")
    with settings(spark), plain_errors():
        return _Packing(spark, out.rstrip("/"), log).pack(threshold, most, neighbors)


class _Packing:
    def __init__(self, spark: SparkSession, out: str, log: Callable[[str], None]):
        self._spark, self._out, self._log, self._files = spark, out, log, Files(spark)
        of, self._run = finished_run(spark, out)
        self._hops = of.hops
        self._graph = graph = Graph(spark, of.nodes, of.edges, of.predictions, of.prediction_classes)
        if graph_fingerprint(self._run["graphcleaner"], graph, of) != self._run["graph"]:
            raise GraphcleanerError(f"{out}: its inputs are not those of the run any more, want them as they were: "
                                    f"start the run again")
        if _RING in graph.nodes.columns:
            raise graph.wrong("nodes", f"pack writes a column {_RING}, want another name for yours")
        if "id" in graph.classes:
            raise graph.wrong("nodes", 'class "id": it would have the name of another column of predictions')
        self._ids = Stages(spark, f"{out}/work/graph-{self._run['graph']}", log).run("nodes", graph.count_ids,
                                                                                     of_frames=False)
        judged = decisions.read(spark, of.decisions, graph.classes) if of.decisions else []
        names = [*graph.classes, None]  # the last is that of -1
        self._decided = spark.createDataFrame([(by.id, names[by.now]) for by in judged], "decided string, now string")

    def pack(self, threshold: float | None, most: int, neighbors: int) -> Packed:
        above = self._run["threshold"] if threshold is None else threshold
        self._scores = open_parquet(self._spark, f"{self._out}/scores.parquet")
        suspects = undecided(suspects_of(self._scores, above), self._decided)
        found = suspects.count()
        if not found:
            raise GraphcleanerError(f"{self._out}: no suspects above {above:g}, want some to pack")
        folder = f"{self._out}/work/pack-{uuid.uuid4().hex}"
        stages = Stages(self._spark, folder, self._log)
        highest = suspects.select(self._graph.id("id"), "score").orderBy(F.col("score").desc(), "id").limit(most)
        rings = [stages.run("ring0", lambda: highest.select("id", F.lit(0).alias(_RING)), of_frames=False)]
        for hop in range(1, self._hops + 1):
            wanted = max(_LEAST_NEIGHBORS, neighbors // _LESS_A_HOP ** (hop - 1))
            rings.append(stages.run(f"ring{hop}", partial(self._next_ring, rings, hop, wanted), of_frames=False))
        every = reduce(DataFrame.unionByName, rings)
        packed = stages.run("packed", lambda: every.join(self._ids.select("id", "position"), "id"), of_frames=False)
        for name, table in {
            "nodes": self._nodes_of, "edges": self._edges_among, "predictions": self._predictions_of,
            "scores": self._scores_of,
        }.items():
            stages.write(f"{folder}/{name}", partial(table, packed), name)
            self._files.move(self._files.only(f"{folder}/{name}", ".parquet"), f"{self._out}/pack/{name}.parquet")
        self._files.write(f"{self._out}/pack/run.json", json.dumps(self._run))
        counts: dict[int, int] = dict(packed.groupBy(_RING).count().collect())
        self._files.remove(folder)
        told = Packed(found, counts.pop(0), sum(counts.values()), neighbors, self._command())
        self._log(str(told))
        return told

    def _next_ring(self, rings: list[DataFrame], hop: int, most: int) -> DataFrame:
        """The nodes that weigh most in the votes about the nodes of the last ring, without those that are in a ring."""
        last = rings[-1].select(F.col("id").alias("src"))
        around = self._graph.ends().where("src <> dst").join(last, "src").distinct()
        strength = self._ids.select(F.col("id").alias("dst"), "strength")
        of_node = Window.partitionBy("src").orderBy("strength", "dst")
        best = around.join(strength, "dst").withColumn("place",
                                                       F.row_number().over(of_node)).where(F.col("place") <= most)
        known = reduce(DataFrame.unionByName, rings).select("id")
        return best.select(F.col("dst").alias("id")).distinct().join(known, "id",
                                                                     "left_anti").withColumn(_RING, F.lit(hop))

    # The tables.

    def _rows_of(self, table: DataFrame, packed: DataFrame) -> DataFrame:
        """The rows of packed nodes in a table, `own`, with those of packed and what people have decided, `judged`; in
        one file, in the order of the nodes file."""
        judged = F.broadcast(self._decided.alias("judged"))
        return (
            table.alias("own").join(packed.alias("packed"),
                                    F.col("own.id").cast("string") == F.col("packed.id").cast("string"))
            .join(judged, F.col("own.id").cast("string") == F.col("judged.decided"), "left")
            .repartition(1).sortWithinPartitions("packed.position")
        )

    def _nodes_of(self, packed: DataFrame) -> DataFrame:
        """The rows of the nodes file, with the labels that people have decided on."""
        given = F.nullif(F.col("own.label").cast("string"), F.lit(""))
        label = F.when(F.col("judged.decided").isNull(), given).otherwise(F.col("judged.now")).alias("label")
        columns = self._graph.nodes.columns
        first = ["id", "label", *(["split"] if "split" in columns else [])]
        names = [*first, *(name for name in columns if name not in first)]
        kept = [label if name == "label" else F.col(f"own.{quoted(name)}") for name in names]
        return self._rows_of(self._graph.nodes, packed).select(*kept, f"packed.{_RING}")

    def _edges_among(self, packed: DataFrame) -> DataFrame:
        edges = self._graph.edges
        for end in ("src", "dst"):
            edges = edges.join(packed.select("id"), self._graph.id(end) == packed["id"], "left_semi")
        return edges.where("src <> dst").select("src", "dst").repartition(1).sortWithinPartitions("src", "dst")

    def _predictions_of(self, packed: DataFrame) -> DataFrame:
        kind = self._graph.nodes.schema["id"].dataType
        columns = [F.col("own.predictions")[k].alias(name) for k, name in enumerate(self._graph.columns)]
        return self._rows_of(self._graph.predictions, packed).select(F.col("own.id").cast(kind).alias("id"), *columns)

    def _scores_of(self, packed: DataFrame) -> DataFrame:
        """The scores; none of nodes that somebody has decided about, so that nobody is asked again."""
        score = F.when(F.col("judged.decided").isNull(), F.col("own.score")).alias("score")
        return self._rows_of(self._scores, packed).select("own.id", "own.given_label", score, "own.suggested_label",
                                                          "own.confidence")

    def _command(self) -> str:
        folder = f"{self._out}/pack"
        files = " ".join(f"--{name} {shlex.quote(f'{folder}/{name}.parquet')}"
                         for name in ("nodes", "edges", "predictions", "scores"))
        return f"graphcleaner import home.graph {files} --run {shlex.quote(f'{folder}/run.json')}"
