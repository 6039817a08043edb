"""Cleaning: the stages from nodes, edges and predictions to scores.

The mathematics is that of the binary, in `graphcleaner worker`. Here bytes are brought to the tasks that need them. The
driver gets reports, a histogram of degrees and a sample of nodes, nothing that grows with the graph.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from functools import partial, reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from . import decisions, frames, sources, worker
from .errors import GraphcleanerError
from .graph import Graph, lookup, numbered, triples
from .plan import chunk_bases, cut, make_plan
from .results import Arguments, fingerprint, graph_fingerprint, suspects_of, undecided
from .ship import ship
from .stages import Files, Stages, open_parquet, plain_errors, settings

LEAST_SPARK = (4, 1)
_EXACT_DEGREES = 1024  # greater ones are counted in 64 bins an octave


def clean(
    spark: SparkSession,
    nodes: str,
    edges: str,
    predictions: str,
    out: str,
    *,
    hops: int = 3,
    blocks: int | None = None,
    seed: int = 1,
    memory: int = 1 << 30,
    binary: str = "graphcleaner",
    expect: float | None = None,
    prediction_classes: Sequence[str] | None = None,
    decisions: str | None = None,
    log: Callable[[str], None] = print,
) -> DataFrame:
    """Scores every labelled node, as `graphcleaner clean --as-given` does.

    nodes, edges, predictions   parquet files: columns id, label and perhaps split; src and dst; id and a column a
                                class, or id and `predictions`, a list of numbers
    out                         folder for scores.parquet and work/, with the data sets of the stages
    hops                        over which agreement is measured, 1 to 3
    blocks                      ranges of nodes that the graph is cut in, about; None: memory and cores decide
    memory                      bytes of a worker
    binary                      path of graphcleaner, or its name among the files that Spark ships, or in PATH
    expect                      share of labels that are wrong; None: it is estimated
    prediction_classes          of a list column, in their order; None: all, numbers sorted as numbers, else by bytes
    decisions                   csv or parquet file of `graphcleaner export DB verdicts`: labels that people have judged
    log                         takes a line a stage and the summary

    Returns id, given_label, score, suggested_label and confidence of every node, in any order. GraphcleanerError says
    what is wrong. A later call with the same arguments goes on after the last complete stage.
    """
    arguments = Arguments(
        nodes, edges, predictions, decisions, hops, blocks, seed, memory, expect,
        list(prediction_classes) if prediction_classes is not None else None, spark.sparkContext.defaultParallelism,
    )
    arguments.check(out)
    if tuple(int(number) for number in spark.version.split(".")[:2]) < LEAST_SPARK:
        raise GraphcleanerError(f"Spark: got version {spark.version}, want {'.'.join(map(str, LEAST_SPARK))} or newer")
    with settings(spark), plain_errors(f"{out.rstrip('/')}/work"):
        return Cleaning(spark, arguments, out.rstrip("/"), binary, log).run()


class Cleaning:
    """A run in a folder. What depends on files of the graph and the cut alone lies in work/graph-…, the rest in
    work/run-….
    """

    def __init__(self, spark: SparkSession, arguments: Arguments, out: str, binary: str, log: Callable[[str], None]):
        self._spark, self._arguments, self._out, self._log = spark, arguments, out, log
        self._hops, self._began = arguments.hops, time.time()
        self._version = worker.version(binary)
        self._binary = ship(spark.sparkContext, binary)
        self._files = Files(spark)
        self._census: Any = None
        self._graph = Graph(spark, arguments.nodes, arguments.edges, arguments.predictions,
                            arguments.prediction_classes)
        self._classes = self._graph.classes
        graph = self._graph
        self._plan = make_plan(
            graph.nodes.count(), graph.edges.count(), len(self._classes), hops=self._hops, cores=arguments.cores,
            memory=arguments.memory, blocks=arguments.blocks, drawn=graph.drawn)
        judged = self._files.listing(arguments.decisions) if arguments.decisions else None
        self._print = graph_fingerprint(self._version, graph, arguments)
        folders = [f"graph-{self._print}", f"run-{fingerprint(self._print, judged, arguments.seed, arguments.expect)}"]
        for name in self._files.names(f"{out}/work"):
            if name not in folders:
                self._files.remove(f"{out}/work/{name}")
        for result in ("scores.parquet", "finished.json", "pack"):
            self._files.remove(f"{out}/{result}")
        self._of_graph, self._of_run = (Stages(spark, f"{out}/work/{folder}", log) for folder in folders)

    def run(self) -> DataFrame:
        self._number()
        self._decide()
        self._make_frames()
        self._join_edges()
        self._gather()
        score = self._score()
        scores = self._write_scores(score)
        self._log(self._summary(score))
        return scores

    # The cut.

    def _number(self) -> None:
        graph, plan = self._graph, self._plan
        ids = self._of_graph.run("nodes", graph.count_ids, of_frames=False, reads_frames=False)
        graph.check_ids(ids)
        self._numbers = numbered(self._of_graph.run("numbers", lambda: graph.order(ids), of_frames=False,
                                                    reads_frames=False))
        degree = F.col("degree")
        octave = _EXACT_DEGREES + F.floor(64 * (F.log2(degree.cast("double")) - 10))
        binned = F.when(degree <= _EXACT_DEGREES, degree).otherwise(octave).alias("bin")
        rows = self._numbers.groupBy(binned).agg(F.count("*").alias("nodes"),
                                                 F.max("degree").alias("greatest")).collect()
        bins = [(row["nodes"], row["greatest"]) for row in sorted(rows, key=lambda row: -row["bin"])]
        self._starts = cut(bins, plan.max_nodes, plan.max_arcs)
        self._ranges = len(self._starts) - 1
        self._sums_rows = plan.sums_rows(self._ranges)
        self._bases_of_chunks = chunk_bases(self._starts, plan.chunk)
        self._chunks = self._bases_of_chunks[-1]
        self._log(f"cut: {plan.nodes:,} nodes, at most {plan.arcs:,} arcs, {len(self._classes)} classes, {self._hops} "
                  f"hops: "
                  f"{self._ranges} ranges, {self._chunks:,} chunks, {plan.cores} tasks at once")

    # What people have said of labels.

    def _decide(self) -> None:
        self._labelled, self._decided = self._numbers, list[decisions.Decided]()
        path = self._arguments.decisions
        if path is None:
            return
        read = decisions.read(self._spark, path, self._classes)
        found = self._of_run.run("decisions", lambda: decisions.find(self._spark, read, self._numbers), of_frames=False,
                                 reads_frames=False)
        self._decided = decisions.settle(path, self._arguments.nodes, read, found, self._classes)
        now = self._spark.createDataFrame([(node.number, node.by.now) for node in self._decided],
                                          "number bigint, now int")
        self._labelled = self._numbers.join(F.broadcast(now), "number",
                                            "left").withColumn("label", F.coalesce("now", "label")).drop("now")

    # Frames of what was read.

    def _make_frames(self) -> None:
        given = self._of_graph.run("given", self._frames_of_given, reads_frames=False)
        self._predictions = given.where(F.col("kind") == frames.PREDICTIONS)
        # What does not depend on decisions takes the given labels, which say what nodes there are.
        self._rows = self._labels = given.where(F.col("kind") == frames.LABELS)
        if self._decided:
            self._labels = self._of_run.run(
                "labels", lambda: self._frames_by_chunk(self._labelled.select("number", "label"), "label int",
                                                        sources.labels, 16), reads_frames=False)
        census = self._of_run.run("census", self._take_census, reads_frames=False)
        self._census = worker.merged_reports(census)

        def place_splits() -> DataFrame:
            splits = worker.of_kind(census, frames.SPLITS).select("frame").mapInArrow(sources.split_rows,
                                                                                      "position bigint, split int")
            members = worker.of_kind(census, frames.MEMBERS).select("frame").mapInArrow(
                sources.member_rows, "position bigint").withColumn("member", F.lit(True))
            placed = (
                self._numbers.select("number", "position").join(splits, "position")
                .join(F.broadcast(members), "position", "left")
                .select("number", "split", F.coalesce("member", F.lit(False)).alias("member"))
            )
            return self._frames_by_chunk(placed, "split int, member boolean", sources.splits_and_members, 16)

        splits = self._of_run.run("splits", place_splits)
        self._splits, self._members = worker.of_kind(splits, frames.SPLITS), worker.of_kind(splits, frames.MEMBERS)

    def _frames_of_given(self) -> DataFrame:
        nodes = self._numbers.select("id", "number", "label").join(self._graph.probabilities(), "id", "left").drop("id")
        classes = len(self._classes)
        return self._frames_by_chunk(
            nodes, "label int, predictions binary", sources.labels_and_predictions(classes), 32 + 4 * classes)

    def _take_census(self) -> DataFrame:
        # A split has 7 bits; the eighth says that there are no predictions.
        split = F.when(F.col("predicted"), F.col("split")).otherwise(F.col("split") + 128)
        pieces = self._labelled.select(
            F.floor(F.col("position") / sources.CENSUS_ROWS).alias("piece"), "position", "label", split.alias("split"))
        count = -(-self._plan.nodes // sources.CENSUS_ROWS)
        by_position = (
            worker.deal(pieces, F.col("piece"), self._plan.partitions(count, 16 * self._plan.nodes))
            .sortWithinPartitions("piece", "position")
            .mapInArrow(sources.census_frames, frames.SPARK_SCHEMA)
        )
        if self._decided:
            by_position = by_position.unionByName(self._of_driver([decisions.frame(self._decided)]))
        job = self._job("census", names=self._classes, seed=self._arguments.seed, drawn=self._graph.drawn)
        return self._run(job, by_position, group=[F.lit(0)] * 3, place=F.lit(0), groups=1, size=0,
                         order=[F.col("first"), F.col("kind")])

    def _frames_by_chunk(self, df: DataFrame, kept: str, make: sources.Maker, row_bytes: int) -> DataFrame:
        """Frames of the columns kept of df, which has the number of every node once."""
        names = [column.split()[0] for column in kept.split(", ")]
        placed = df.mapInArrow(
            sources.addressed(self._starts, self._plan.chunk, names), f"chunk bigint, row bigint, local bigint, {kept}")
        return (
            worker.deal(placed, F.col("chunk"), self._plan.partitions(self._chunks, row_bytes * self._plan.nodes))
            .sortWithinPartitions("chunk", "local")
            .mapInArrow(sources.chunk_frames(self._starts, self._plan.chunk, make), frames.SPARK_SCHEMA)
        )

    # Blocks of the adjacency.

    def _join_edges(self) -> None:
        def arcs() -> DataFrame:
            ids, edges = self._numbers.select("id", "number"), self._graph.edges
            numbered = (
                edges.select(self._graph.id("src"), self._graph.id("dst"))
                .join(ids.select(F.col("id").alias("src"), F.col("number").alias("source")), "src")
                .join(ids.select(F.col("id").alias("dst"), F.col("number").alias("target")), "dst")
                .where("source <> target").select("source", "target")
            )
            placed = worker.deal(
                numbered.mapInArrow(sources.arcs(self._starts), "row bigint, col bigint, key bigint"),
                F.col("row") * self._ranges + F.col("col"),
                self._plan.partitions(self._ranges**2, 24 * self._plan.arcs))
            return worker.answers(
                placed.sortWithinPartitions("row", "col", "key"), self._job("arcs"), binary=self._binary,
                feed=sources.arcs_feed)

        made = self._of_graph.run("arcs", arcs, reads_frames=False)
        self._arcs, self._count_arcs = worker.of_kind(made, frames.ARCS), worker.merged_reports(made).get("arcs", 0)
        self._strength = self._of_graph.run(
            "strength",
            lambda: self._by_chunk(self._job("add", mode="strength"), [self._rows, worker.of_kind(made, frames.SUMS)],
                                   9 * self._sums_rows))

    # Operations of the worker.

    def _job(self, op: str, **more: Any) -> worker.Job:
        common = {
            "op": op, "version": self._version, "memory": self._arguments.memory, "chunk": self._plan.chunk,
            "ranges": self._starts,
            "classes": len(self._classes), "hops": self._hops, "census": self._census,
        }
        return {**common, **more}

    def _run(self, job: worker.Job, df: DataFrame, *, group: list[Column], place: Column, groups: int, size: int,
             order: list[Column]) -> DataFrame:
        return worker.run(
            df, job, binary=self._binary, group=group, place=place, partitions=self._plan.partitions(groups, size),
            order=order)

    def _by_chunk(self, job: worker.Job, parts: list[DataFrame], size: int) -> DataFrame:
        """An operation on chunks of nodes: labels first, and last the sums."""
        number = F.floor(F.col("first") / self._plan.chunk).cast("bigint")
        rank = F.when(F.col("kind") == frames.LABELS, 0).when(F.col("kind") == frames.SUMS, 2).otherwise(1)
        return self._run(
            job, reduce(DataFrame.unionByName, parts),
            group=[F.col("row"), F.lit(0), number],
            place=lookup(self._bases_of_chunks, F.col("row")) + number, groups=self._chunks, size=size,
            order=[rank, F.col("kind"), F.col("col"), F.col("part"), F.col("first")],
        )

    def _multiply(self, mode: str, of_columns: list[DataFrame], node_bytes: int) -> DataFrame:
        """Sums over the arcs of blocks: every column of blocks is dealt to some groups, which get its values each."""
        parts = self._plan.parts(self._ranges)
        values = reduce(DataFrame.unionByName, of_columns).withColumns(
            {"at": F.col("row"), "dealt": F.explode(F.sequence(F.lit(0), F.lit(parts - 1)))})
        arcs = self._arcs.withColumns({"at": F.col("col"),
                                       "dealt": F.floor(F.col("row") * parts / self._ranges).cast("int")})
        return self._run(
            self._job("multiply", mode=mode), values.unionByName(arcs),
            group=[F.col("at"), F.col("dealt"), F.lit(0)], place=F.col("at") * parts + F.col("dealt"),
            groups=self._ranges * parts,
            size=self._plan.arc_bytes + self._plan.nodes * parts * node_bytes,
            order=[F.col("kind") == frames.ARCS, F.col("row"), F.col("first")],
        )

    def _triangles(self) -> DataFrame:
        """Sums over triangles, by triples of ranges I ≥ J ≥ K."""
        of_block, of_range, place = triples(self._ranges)
        blocks = self._arcs.where("row >= col").withColumn("triple", F.explode(of_block))
        strength = self._strength.withColumn("triple", F.explode(of_range))
        return self._run(
            self._job("triangles"), strength.unionByName(blocks),
            group=[F.col("triple")[i] for i in range(3)], place=place,
            groups=self._ranges * (self._ranges + 1) * (self._ranges + 2) // 6,
            size=self._ranges * (self._plan.arc_bytes + 4 * self._plan.nodes),
            order=[F.col("kind") == frames.ARCS, F.col("row"), F.col("col"), F.col("first")],
        )

    # The stages of cleaning.

    def _gather(self) -> None:
        """What labels and predictions say around the nodes."""
        plan, classes, hops = self._plan, len(self._classes), self._hops
        nodes = [self._labels, self._splits, self._predictions]

        def first_hop() -> DataFrame:
            return self._by_chunk(
                self._job("add", mode="first"),
                [*nodes, self._strength, self._members, self._multiply("first", [self._labels, self._strength], 16)],
                8 * self._sums_rows + plan.nodes * (4 * classes + 13))

        hop1 = self._of_run.run("hop1", first_hop)
        self._neighbors, self._found = worker.merged_reports(hop1), [hop1]
        for k in range(2, hops + 1):
            if k == 3:
                self._found.append(self._of_graph.run("diagonal", lambda: self._by_chunk(
                    self._job("add", mode="diagonal"), [self._rows, self._strength, self._triangles()],
                    9 * self._ranges * plan.nodes)))
            self._found.append(self._of_run.run(f"hop{k}", partial(self._later_hop, k)))

    def _later_hop(self, k: int) -> DataFrame:
        slices = self._made(frames.SLICE).where(F.col("part") == k - 1)
        return self._by_chunk(
            self._job("add", mode="hop", hop=k),
            [self._labels, self._strength, self._made(frames.TESTED), self._members,
             self._made(frames.DIAGONAL).where(F.col("part") == k),
             self._multiply("slice", [slices], 4 * len(self._classes))],
            self._sums_rows * 8 * len(self._classes),
        )

    def _made(self, kind: int) -> DataFrame:
        """All frames of a kind of the hops."""
        return worker.of_kind(reduce(DataFrame.unionByName, self._found), kind)

    def _score(self) -> DataFrame:
        model = self._of_run.run("fit", self._fit)
        self._fitted, self._model = worker.merged_reports(model), json.loads(worker.payloads(model, frames.MODEL)[0])

        def score() -> DataFrame:
            parts = [
                self._labels, self._splits, self._predictions, self._made(frames.TESTED),
                self._made(frames.BALLOTS),
                self._made(frames.FEATURES).where(F.col("part") <= self._fitted["reach"]),
            ]
            return self._by_chunk(self._job("score", model=self._model), parts,
                                  self._plan.nodes * (16 * len(self._classes) + 20))

        return self._of_run.run("score", score)

    def _fit(self) -> DataFrame:
        of_members = reduce(DataFrame.unionByName, [
            self._made(frames.SAMPLE),
            self._made(frames.LABELS).where(F.col("col") == 1),
        ])
        rows = of_members.orderBy("row", "first", "kind", "part").select("frame").toLocalIterator()
        number = {node.position: node.number for node in self._decided}
        verdicts = [{**member, "node": number[member["node"]]} for member in self._census["verdicts"] or ()]
        job = self._job("fit", neighbors=self._neighbors, expect=self._arguments.expect, verdicts=verdicts)
        return self._of_driver(worker.run_here(self._binary, job, (row["frame"] for row in rows)))

    def _of_driver(self, some: Sequence[bytes | bytearray]) -> DataFrame:
        """A data set of frames."""
        headers = [frames.parse_header(frame) for frame in some]
        rows = [(h.row, h.column, h.part, h.kind, h.first, bytes(frame)) for h,
                frame in zip(headers, some, strict=True)]
        return self._spark.createDataFrame(rows, frames.SPARK_SCHEMA)

    # What is written.

    def _write_scores(self, score: DataFrame) -> DataFrame:
        names = self._spark.createDataFrame(list(enumerate(self._classes)), "class int, name string")

        def named(column: str, to: str) -> DataFrame:
            return F.broadcast(names.select(F.col("class").alias(column), F.col("name").alias(to)))

        def table() -> DataFrame:
            kind = self._graph.nodes.schema["id"].dataType
            return (
                worker.of_kind(score, frames.SCORES).select("frame")
                .mapInArrow(sources.score_rows(self._starts), "number bigint, score float, suggested int, confidence "
                                                              "float")
                .join(self._labelled.select("number", F.col("id").cast(kind).alias("id"), "label"), "number")
                .join(named("label", "given_label"), "label", "left").join(named("suggested", "suggested_label"),
                                                                           "suggested", "left")
                .select("id", "given_label", "score", "suggested_label", "confidence")
            )

        path, own = f"{self._out}/scores.parquet", f"{self._out}/work/scores-{uuid.uuid4().hex}"
        self._of_run.write(own, table, "scores")
        self._graph.check_unchanged()
        self._files.move(own, path)
        return open_parquet(self._spark, path)

    def _summary(self, score: DataFrame) -> str:
        """Notes what the run has found, and says it."""
        scored, fitted, model = worker.merged_reports(score), self._fitted, self._model
        suspects = suspects_of(open_parquet(self._spark, f"{self._out}/scores.parquet"), fitted["threshold"])
        edges, found = self._count_arcs // 2, suspects.count()
        self._files.write(f"{self._out}/finished.json", json.dumps({
            "graphcleaner": self._version, "arguments": asdict(self._arguments), "graph": self._print, "model": model,
            "threshold": fitted["threshold"],
            "started": datetime.fromtimestamp(int(self._began), timezone.utc).isoformat(),
            "seconds": time.time() - self._began, "seed": self._arguments.seed,
            "nodes": self._plan.nodes, "edges": edges, "scored": scored["scored"], "suspects": found,
        }, allow_nan=False))
        if self._decided:
            found = undecided(suspects, self._spark.createDataFrame([(node.by.id,) for node in self._decided],
                                                                    "decided string")).count()
        return "\n".join([
            f"{self._plan.nodes:,} nodes, {edges:,} edges, {scored['scored']:,} labels scored",
            f"{found:,} suspects above {fitted['threshold']:.4g}; estimated share of wrong labels {fitted['rate']:.4g}",
            *(f"warning: {text}" for text in fitted["warnings"] or ())])
