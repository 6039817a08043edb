"""Makes the tables of detection: markdown files in results/. See README.md one folder up."""

from __future__ import annotations

import argparse
import datetime
import os
import sys
from pathlib import Path

import torch
import torch_geometric

from bench import Bench
from datasets import DATASETS, Files
from programs import Programs
from tables import cleanlab, cost, looks, paper, quiet, retrain, rivals, steady, users

HERE = Path(__file__).parent.parent
TABLES = {make.__name__: make for make in (
    paper.reproduction, paper.competitors, paper.classifiers, paper.ablation, paper.ahead, paper.few, rivals.same,
    cleanlab.cleanlab, cost.cost, paper.accuracy, users.users, rivals.noise, quiet.quiet, rivals.disagree,
    retrain.retrain, steady.steady, looks.looks)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="docs/detection/run", description=__doc__)
    parser.add_argument("tables", nargs="+", choices=TABLES, metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--draws", type=int, default=10, help="of noise and split, each with a seed of its own (10)")
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, help="of those of the table (all)")
    parser.add_argument("--rates", nargs="+", type=float, help="of noise, of those of the table (all)")
    parser.add_argument("--beside", type=Path, help="another graphcleaner, to measure beside: tables ahead, cost and "
                                                    "steady")
    parser.add_argument("--without", nargs="+", default=[], metavar="RIVAL",
                        help="rivals left out: table noise; aum takes longest")
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time; not of the table cost (1)")
    parser.add_argument("--threads", type=int, default=1, help="of each program (1)")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="where the tables go (%(default)s)")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "graphcleaner-detection"
    parser.add_argument("--work", type=Path, default=cache, help="where predictions and results are kept (%(default)s)")
    asked = parser.parse_args()
    for name in ("draws", "jobs"):
        if getattr(asked, name) < 1:
            parser.error(f"--{name} {getattr(asked, name)}: want 1 or more")
    data = os.environ.get("GRAPHCLEANER_DATA")
    if not data:
        sys.exit("docs/detection/run: want GRAPHCLEANER_DATA, the directory of the data sets")

    asked.work.mkdir(parents=True, exist_ok=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    files = Files(Path(data), asked.work.resolve())
    programs = Programs(files, Path(os.environ["GRAPHCLEANER"]), asked.threads)
    beside = Programs(files, asked.beside.resolve(), asked.threads) if asked.beside else None
    for name in asked.tables:
        make = TABLES[name]
        lines = make(Bench(programs, beside, asked))
        text = [f"# {make.__doc__.splitlines()[0]}", "", *_stamp(name, programs, asked), "", *lines]
        (asked.out / f"{name}.md").write_text("\n".join(text) + "\n", encoding="utf-8")


def _stamp(name: str, programs: Programs, asked: argparse.Namespace) -> list[str]:
    """Date, build, draws, versions, and the command."""
    command = f"docs/detection/run {name} --draws {asked.draws}"
    for option in ("datasets", "rates", "without"):
        if getattr(asked, option):
            command += f" --{option} {' '.join(map(str, getattr(asked, option)))}"
    if asked.beside:
        command += f" --beside {asked.beside.name}"
    seeds = "draw and seed 1" if asked.draws == 1 else f"draws and seeds 1 to {asked.draws}, mean ± standard error"
    date = f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}"
    versions = f"torch {torch.__version__}, torch_geometric {torch_geometric.__version__}"
    return [f"{date}, {programs.version()}, {seeds}, {versions}.", f"Made by `{command}`."]


if __name__ == "__main__":
    main()
