"""The table of what depends on the seed, and of suggestions."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from bench import Bench, about
from datasets import Cell, read
from figures import Sample, markdown
from programs import Cleaned, Programs

FIRST = 20


def steady(bench: Bench) -> list[str]:
    """The first 20 suspects with one seed beside those with another; suggestions for the mislabels that are found."""
    datasets = bench.datasets(("cora", "citeseer", "photo"))
    cells = [Cell(d, "published", "0") for d in datasets] + bench.cells(datasets, ["0.1"],
                                                                        ("sym", "feature", "cluster"))
    programs = [bench.programs, *([bench.beside] if bench.beside else [])]
    found = bench.each(cells, lambda cell: [text for one in programs for text in measure(bench, one, cell)])
    header = ["overlap", "right of found", "right of all wrong"]
    return ["Labels of draw 1. Seeds are as many as draws. Overlap is the mean over pairs of seeds"
            + (f"; then the same of {bench.beside.version()}." if bench.beside else "."), "",
            *markdown(["cell", *header * len(programs)], [[about(cell), *texts] for cell, texts in zip(cells, found)])]


def measure(bench: Bench, programs: Programs, cell: Cell) -> list[Sample]:
    """Overlap of the first suspects; the share of right suggestions among the suspects with wrong labels, and among all
    wrong labels.
    """
    d, (labels, _) = cell.dataset, bench.programs.drawn(cell)
    truth = np.array([row["label"] for row in read(bench.files.truth(d))])
    wrong = bench.files.wrong(d, labels)
    cleaned = [programs.clean(d, labels, seed) for seed in bench.draws]
    firsts = [first(one) for one in cleaned]
    overlaps = [len(a & b) / FIRST for a, b in combinations(firsts, 2)]
    right = [np.array(one.suggested) == truth for one in cleaned]
    return [Sample(np.array(overlaps)),
            Sample(np.array([share(r, wrong & one.suspects) for r, one in zip(right, cleaned)])),
            Sample(np.array([share(r, wrong) for r in right]))]


def first(cleaned: Cleaned) -> set[int]:
    """The FIRST nodes with the highest scores."""
    return set(np.argsort(-np.nan_to_num(cleaned.scores, nan=-1), kind="stable")[:FIRST].tolist())


def share(of: np.ndarray, among: np.ndarray) -> float:
    return float(of[among].mean()) if among.any() else float("nan")
