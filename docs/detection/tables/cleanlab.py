"""Tables beside cleanlab, on the same predictions."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import numpy as np
from graphcleaner._rules import class_order

from bench import Bench, about
from datasets import PAPER, RATES, Cell, write
from figures import markdown


def cleanlab(bench: Bench) -> list[str]:
    """Flags of confident-learning and of cleanlab on the same predictions, node for node."""
    compared, args = {}, []
    for cell in bench.cells(bench.datasets(PAPER), RATES):
        p, given, ours = confident(bench, cell)
        theirs = bench.files.work / f"cleanlab-{cell}.csv"
        compared[cell] = (p, given, ours, theirs)
        args += [given, p, theirs]
    bench.programs.cleanlab(*args)
    rows = []
    for cell, (p, given, ours, theirs) in compared.items():
        a, b = flags(ours), flags(theirs)
        if a.keys() != b.keys():
            raise RuntimeError(f"{cell}: graphcleaner and cleanlab were not given the same nodes")
        both = sum(a[v] and b[v] for v in a)
        rows.append([about(cell), len(a), both, sum(a.values()) - both, sum(b.values()) - both,
                     _twins(a, b, given, p)])
    header = ["cell", "test nodes", "flagged by both", "graphcleaner alone", "cleanlab alone", "of these twins"]
    return [*markdown(header, rows), "", "The first draw of noise. Twins are nodes with the same given label and, bit "
            "for bit, the same predictions, of which graphcleaner flags one and cleanlab another: not all of them may "
            "be flagged."]


def confident(bench: Bench, cell: Cell) -> tuple[Path, Path, Path]:
    """Predictions, the given labels under test as csv id,row,label, and what confident-learning flags of them."""
    d, files, work = cell.dataset, bench.files, bench.files.work
    noisy, splits = files.noisy_labels(cell), files.splits(d)
    if d.has_features:
        p = bench.programs.predictions(cell, "gcn")
    else:
        p = bench.programs.built_in(d, noisy, splits, cell.draw)
    flagged = work / f"flags-{cell}.csv"
    bench.programs.graphcleaner(
        "eval", *files.graph(d), "--splits", splits, "--noise", f"file:{noisy}", "--predictions", p,
        "--method", "confident-learning", "--flags", flagged, "--threads", bench.programs.threads)
    ids, _, classes = files.labels(d)
    row = {v: i for i, v in enumerate(ids)}
    number = {name: j for j, name in enumerate(class_order(set(classes)))}
    given = work / f"given-{cell}.csv"
    with open(flagged, encoding="utf-8", newline="") as text:
        write(given, ("id", "row", "label"),
              [(r["id"], row[r["id"]], number[r["given_label"]]) for r in csv.DictReader(text)])
    return p, given, flagged


def flags(path: Path) -> dict[str, bool]:
    """By id, whether a node is flagged in a csv with the columns id and flagged."""
    with open(path, encoding="utf-8", newline="") as text:
        return {r["id"]: r["flagged"] == "1" for r in csv.DictReader(text)}


def _twins(ours: dict[str, bool], theirs: dict[str, bool], given: Path, predictions: Path) -> int:
    """How many nodes that one program alone flags are matched by an equal one that the other alone flags."""
    p = np.load(predictions, allow_pickle=False)
    alone = {True: Counter(), False: Counter()}
    with open(given, encoding="utf-8", newline="") as text:
        for r in csv.DictReader(text):
            if ours[r["id"]] != theirs[r["id"]]:
                alone[ours[r["id"]]][r["label"], p[int(r["row"])].tobytes()] += 1
    return 2 * (alone[True] & alone[False]).total()
