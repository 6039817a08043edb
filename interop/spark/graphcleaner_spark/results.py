"""What a run is made of, and what it has found."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from . import frames
from .errors import GraphcleanerError
from .graph import Graph
from .plan import check_shape
from .stages import Files

_FORMAT = 1  # of what the stages write


@dataclass(frozen=True)
class Arguments:
    """What a run is made of: see clean. cores is the number of tasks at once."""

    nodes: str
    edges: str
    predictions: str
    decisions: str | None
    hops: int
    blocks: int | None
    seed: int
    memory: int
    expect: float | None
    prediction_classes: list[str] | None
    cores: int

    def check(self, out: str) -> None:
        """GraphcleanerError for arguments that are wrong whatever the graph is."""
        check_shape(self.hops, self.memory, self.blocks)
        if self.expect is not None and not 0 <= self.expect < 1:
            raise GraphcleanerError(f"expect: got {self.expect:g}, want a share from 0 to below 1")
        if not 0 <= self.seed < 1 << 64:
            raise GraphcleanerError(f"seed: got {self.seed}, want a whole number from 0 to below 2^64")
        for name in ("nodes", "edges", "predictions", "decisions", "out"):
            if (out if name == "out" else getattr(self, name)) == "":
                raise GraphcleanerError(f"{name}: got an empty path, want a {'folder' if name == 'out' else 'file'}")


def fingerprint(*of: Any) -> str:
    """A short name of what something is made of: anything that json takes."""
    return hashlib.sha256(json.dumps([_FORMAT, frames.VERSION, *of], sort_keys=True).encode()).hexdigest()[:16]


def graph_fingerprint(version: str, graph: Graph, arguments: Arguments) -> str:
    """A short name of the graph and its cut."""
    return fingerprint(version, graph.listings, {**asdict(arguments), "decisions": None, "seed": None, "expect": None})


def suspects_of(scores: DataFrame, threshold: float) -> DataFrame:
    """The scores above a threshold of labels in whose place another is suggested."""
    return scores.where((F.col("score").cast("double") > threshold)
                        & (F.col("suggested_label") != F.col("given_label")))


def undecided(table: DataFrame, decided: DataFrame) -> DataFrame:
    """The rows of nodes whose ids are not among those `decided`."""
    return table.join(F.broadcast(decided), F.col("id").cast("string") == F.col("decided"), "left_anti")


def finished_run(spark: SparkSession, out: str) -> tuple[Arguments, dict[str, Any]]:
    """What a finished run has noted of itself in its folder. GraphcleanerError if there is none."""
    files, path = Files(spark), f"{out}/finished.json"
    if not files.exists(path):
        raise GraphcleanerError(f"{out}: no finished run, want one")
    try:
        run = dict(json.loads(files.read(path)))
        return Arguments(**run.pop("arguments")), run
    except (ValueError, TypeError, KeyError):
        raise GraphcleanerError(f"{path}: it is not that of a run of this version, want one: start it again") from None
