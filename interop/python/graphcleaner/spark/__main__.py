"""Command line: cleans a graph on Spark, or prints what that would cost."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .errors import GraphcleanerError
from .plan import make_plan, parse_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INTERRUPTED = 130


def _size(text: str) -> int:
    try:
        return parse_bytes(text)
    except ValueError as err:
        raise argparse.ArgumentTypeError(str(err)) from None


def _count(text: str) -> int:
    """A whole number, also written as 1e9."""
    try:
        value = float(text)
        if value != int(value):
            raise ValueError
        return int(text) if text.isdecimal() else int(value)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"got {text}, want a whole number") from None


def _clean_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphcleaner.spark",
        description="Scores every labelled node of a graph on Spark, and suggests labels. The scores are those of "
        "`graphcleaner import` and `graphcleaner clean --as-given`. Files are parquet.",
        epilog="`plan --nodes N --edges M --classes C` prints what a graph of that size costs, and runs nothing. "
        "`pack --out DIR` makes a small graph around the suspects of a finished run, for people to look at.",
    )
    parser.add_argument("--nodes", required=True, help="id, label, and split if there are some")
    parser.add_argument("--edges", required=True, help="src, dst, and weight if they have one")
    parser.add_argument("--predictions",
                        help="id and a column a class, or id and `predictions`, a list of numbers")
    parser.add_argument("--node-features", metavar="FILE",
                        help="in place of predictions: id and a column a feature, or id and `features`, a list of numbers. "
                        "A linear classifier of Spark ML learns them, smoothed over the edges")
    parser.add_argument("--prediction-classes", metavar="A,B,...",
                        help="classes of the list, in its order. Default: all, as numbers if all are, else by bytes")
    parser.add_argument("--decisions", metavar="FILE",
                        help="labels that people have judged, csv or parquet: what `graphcleaner export DB verdicts` writes")
    parser.add_argument("--out", required=True, help="folder for scores.parquet and for work/, of which a later start goes on")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same scores (%(default)s)")
    parser.add_argument("--write-features", action="store_true", help="write features.parquet: P0, ... and L1, ... of the label")
    parser.add_argument("--expect", type=float, metavar="R", help="share of labels that are wrong. Default: an estimate")
    _add_binary(parser)
    _add_shape(parser)
    return parser


def _add_binary(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--binary", metavar="PATH",
                        help="graphcleaner. Default: graphcleaner of the files that Spark ships, or in PATH")


def _pack_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphcleaner.spark pack",
        description="Writes DIR/pack of the finished run in DIR: the suspects, the nodes around them, and what the run says of "
        "them. `graphcleaner import --scores --run` takes it, for people to look at. clean takes their decisions: --decisions.",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of the run, with its work/")
    parser.add_argument("--threshold", type=float, metavar="T", help="score above which a node is a suspect. Default: that of the run")
    parser.add_argument("--most", type=_count, default=10_000, metavar="N", help="suspects, those with the highest scores (%(default)s)")
    parser.add_argument("--neighbors", type=_count, default=30, metavar="N",
                        help="of a suspect, those that weigh most in its vote (%(default)s). A quarter of that of a node at hop 1, "
                        "a sixteenth at hop 2")
    _add_binary(parser)
    return parser


def _plan_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphcleaner.spark plan", description="Prints tasks, bytes and memory of every stage for a graph of some size.")
    parser.add_argument("--nodes", required=True, type=_count)
    parser.add_argument("--edges", required=True, type=_count)
    parser.add_argument("--classes", required=True, type=_count)
    parser.add_argument("--cores", type=_count, default=os.cpu_count() or 1, help="tasks at once (%(default)s)")
    parser.add_argument("--weighted", action="store_true")
    parser.add_argument("--node-features", type=_count, default=0, metavar="D", help="of a node, for the linear classifier")
    parser.add_argument("--write-features", action="store_true")
    _add_shape(parser)
    return parser


def _add_shape(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--hops", type=int, default=3, help="over which agreement is measured, 1 to 3 (%(default)s)")
    parser.add_argument("--blocks", type=_count, metavar="B",
                        help="ranges of nodes to cut the graph in, about. Default: as memory and cores have it")
    parser.add_argument("--memory", type=_size, default="1g", metavar="SIZE", help="of a worker (%(default)s)")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line, and returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if arguments[:1] == ["plan"]:
            return _plan(_plan_parser().parse_args(arguments[1:]))
        if arguments[:1] == ["pack"]:
            return _pack(_pack_parser().parse_args(arguments[1:]))
        return _clean(_clean_parser().parse_args(arguments))
    except GraphcleanerError as err:
        print(err if str(err).startswith("graphcleaner") else f"graphcleaner: {err}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("graphcleaner: interrupted; start again with the same arguments to go on", file=sys.stderr)
        return _INTERRUPTED


def _plan(args: argparse.Namespace) -> int:
    plan = make_plan(args.nodes, args.edges, args.classes, hops=args.hops, cores=args.cores, memory=args.memory,
                     blocks=args.blocks, weighted=args.weighted, features=args.write_features, width=args.node_features)
    print(plan.table())
    return 0


def _clean(args: argparse.Namespace) -> int:
    with _session() as spark:
        from .pipeline import clean

        clean(
            spark, args.nodes, args.edges, args.predictions, args.out, hops=args.hops, blocks=args.blocks, seed=args.seed,
            memory=args.memory, binary=args.binary, write_features=args.write_features, expect=args.expect,
            node_features=args.node_features, decisions=args.decisions,
            prediction_classes=args.prediction_classes.split(",") if args.prediction_classes else None, log=_say,
        )
    return 0


def _pack(args: argparse.Namespace) -> int:
    with _session() as spark:
        from .packing import pack

        pack(spark, args.out, threshold=args.threshold, most=args.most, neighbors=args.neighbors, binary=args.binary, log=_say)
    return 0


def _say(text: str) -> None:
    print(text, flush=True)


@contextmanager
def _session() -> Iterator[SparkSession]:
    """A session of Spark, quiet: what fails is said in one sentence."""
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    logging.disable(logging.ERROR)  # of py4j, which logs where an interrupt met it
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("graphcleaner").config("spark.ui.showConsoleProgress", "false")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("FATAL")
    try:
        yield spark
    except KeyboardInterrupt:
        spark.sparkContext.cancelAllJobs()
        raise
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.exit(main())
