"""Command line: cleans a graph on Spark, or packs what a run has found."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from pyspark.sql import SparkSession

from .errors import GraphcleanerError
from .packing import pack
from .pipeline import clean

_INTERRUPTED = 130


def size(text: str) -> int:
    """A size such as 1g, 512m, 2GiB or a number of bytes."""
    letters = text.strip().lower()
    digits = letters.rstrip("kmgtib")
    unit = letters[len(digits):].removesuffix("b").removesuffix("i")
    try:
        return int(float(digits) * 1024 ** " kmgt".index(unit or " "))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"got {text}, want a size such as 512m or 2g") from None


def _clean_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphcleaner.spark",
        description="Scores every labelled node of a graph on Spark, and suggests labels. The scores are those of "
        "`graphcleaner import` and `graphcleaner clean --as-given`. Files are parquet.",
        epilog="`pack --out DIR` makes a small graph around the suspects of a finished run, for people to look at.",
    )
    parser.add_argument("--nodes", required=True, help="id, label, and split if there are some")
    parser.add_argument("--edges", required=True, help="src and dst")
    parser.add_argument("--predictions", required=True, help="id and a column a class, or id and `predictions`, a "
                                                             "list of numbers")
    parser.add_argument("--prediction-classes", metavar="A,B,...", type=lambda text: text.split(","),
                        help="classes of the list, in its order. Default: all, as numbers if all are, else by bytes")
    parser.add_argument("--decisions", metavar="FILE",
                        help="labels that people have judged, csv or parquet: what `graphcleaner export DB verdicts` "
                             "writes")
    parser.add_argument("--out", required=True, help="folder for scores.parquet and for work/, of which a later start "
                                                     "goes on")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same scores (%(default)s)")
    parser.add_argument("--expect", type=float, metavar="R", help="share of labels that are wrong. Default: an "
                                                                  "estimate")
    parser.add_argument("--binary", metavar="PATH", default="graphcleaner",
                        help="graphcleaner. Default: graphcleaner of the files that Spark ships, or in PATH")
    parser.add_argument("--hops", type=int, default=3, help="over which agreement is measured, 1 to 3 (%(default)s)")
    parser.add_argument("--blocks", type=int, metavar="B", help="ranges of nodes to cut the graph in, about. Default: "
                                                                "as memory and cores have it")
    parser.add_argument("--memory", type=size, default="1g", metavar="SIZE", help="of a worker (%(default)s)")
    return parser


def _pack_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphcleaner.spark pack",
        description="Writes DIR/pack of the finished run in DIR: the suspects, the nodes around them, and what the "
                    "run says of "
        "them. `graphcleaner import --scores --run` takes it, for people to look at. clean takes their decisions: "
        "--decisions.",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of the run")
    parser.add_argument("--threshold", type=float, metavar="T", help="score above which a node is a suspect. Default: "
                                                                     "that of the run")
    parser.add_argument("--most", type=int, default=10_000, metavar="N", help="suspects, those with the highest "
                                                                              "scores (%(default)s)")
    parser.add_argument("--neighbors", type=int, default=30, metavar="N",
                        help="of a suspect, those that weigh most in its vote (%(default)s). A quarter of that of a "
                             "node at hop 1, "
                        "a sixteenth at hop 2")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line, and returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    is_pack = words[:1] == ["pack"]
    arguments = _pack_parser().parse_args(words[1:]) if is_pack else _clean_parser().parse_args(words)
    try:
        with _session() as spark:
            (pack if is_pack else clean)(spark, **vars(arguments), log=partial(print, flush=True))
        return 0
    except GraphcleanerError as err:
        print(err if str(err).startswith("graphcleaner") else f"graphcleaner: {err}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("graphcleaner: interrupted; start again with the same arguments to go on", file=sys.stderr)
        return _INTERRUPTED


@contextmanager
def _session() -> Iterator[SparkSession]:
    """A session of Spark, quiet: what fails is said in one sentence."""
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    logging.disable(logging.ERROR)  # of py4j, which logs where an interrupt met it
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.appName("graphcleaner").config("spark.ui.showConsoleProgress", "false").getOrCreate()
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
