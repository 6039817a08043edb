"""Command line: cleans a graph on Spark, or prints what that would cost."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import warnings
from collections.abc import Sequence

from .errors import GraphcleanerError
from .plan import make_plan, parse_bytes

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
        "`graphcleaner import` and `graphcleaner clean --as-given`. All files are parquet.",
        epilog="`plan --nodes N --edges M --classes C` prints what a graph of that size costs, and runs nothing.",
    )
    parser.add_argument("--nodes", required=True, help="id, label, and split if there are some")
    parser.add_argument("--edges", required=True, help="src, dst, and weight if they have one")
    parser.add_argument("--predictions", required=True,
                        help="id and a column a class, or id and `predictions`, a list of numbers")
    parser.add_argument("--prediction-classes", metavar="A,B,...",
                        help="classes of the list, in its order. Default: all, as numbers if all are, else by bytes")
    parser.add_argument("--decisions", metavar="FILE",
                        help="labels that people have judged, csv or parquet: what `graphcleaner export DB verdicts` writes")
    parser.add_argument("--out", required=True, help="folder for scores.parquet and for work/, of which a later start goes on")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same scores (%(default)s)")
    parser.add_argument("--write-features", action="store_true", help="write features.parquet: P0, ... and L1, ... of the label")
    parser.add_argument("--expect", type=float, metavar="R", help="share of labels that are wrong. Default: an estimate")
    parser.add_argument("--binary", metavar="PATH",
                        help="graphcleaner. Default: graphcleaner of the files that Spark ships, or in PATH")
    _add_shape(parser)
    return parser


def _plan_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphcleaner.spark plan", description="Prints tasks, bytes and memory of every stage for a graph of some size.")
    parser.add_argument("--nodes", required=True, type=_count)
    parser.add_argument("--edges", required=True, type=_count)
    parser.add_argument("--classes", required=True, type=_count)
    parser.add_argument("--cores", type=_count, default=os.cpu_count() or 1, help="tasks at once (%(default)s)")
    parser.add_argument("--weighted", action="store_true")
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
        return _clean(_clean_parser().parse_args(arguments))
    except GraphcleanerError as err:
        print(err if str(err).startswith("graphcleaner") else f"graphcleaner: {err}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("graphcleaner: interrupted; start again with the same arguments to go on", file=sys.stderr)
        return _INTERRUPTED


def _plan(args: argparse.Namespace) -> int:
    plan = make_plan(args.nodes, args.edges, args.classes, hops=args.hops, cores=args.cores, memory=args.memory,
                     blocks=args.blocks, weighted=args.weighted, features=args.write_features)
    print(plan.table())
    return 0


def _clean(args: argparse.Namespace) -> int:
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    logging.disable(logging.ERROR)  # of py4j, which logs where an interrupt met it
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    from .pipeline import clean

    builder = SparkSession.builder.appName("graphcleaner").config("spark.ui.showConsoleProgress", "false")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("FATAL")  # what fails is said in one sentence
    try:
        clean(
            spark, args.nodes, args.edges, args.predictions, args.out, hops=args.hops, blocks=args.blocks, seed=args.seed,
            memory=args.memory, binary=args.binary, write_features=args.write_features, expect=args.expect,
            decisions=args.decisions,
            prediction_classes=args.prediction_classes.split(",") if args.prediction_classes else None,
            log=lambda text: print(text, flush=True),
        )
    except KeyboardInterrupt:
        spark.sparkContext.cancelAllJobs()
        raise
    finally:
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
