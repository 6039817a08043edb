"""The table of what cleaning is for: a classifier that is trained on cleaned labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench import Bench, about
from datasets import KINDS, Cell, read, write
from figures import Sample, markdown
from tables.users import GCN, cleanlab_flags, rounds

NAMES = ("cora", "citeseer", "photo")
RATE = "0.3"
# Test accuracies on Cora, 30%, uniform and pair noise, that others publish: their GCN on the noisy labels, on those
# that GraphCleaner left, and ERASE.
LITERATURE = [("GCN on noisy labels", 63.9, 58.0), ("without GraphCleaner's suspects", 72.3, 70.9),
              ("ERASE", 78.2, 76.2)]
VARIANTS = ("noisy labels", "without suspects", "suspects relabelled", "without cleanlab's flags", "true labels")


def retrain(bench: Bench) -> list[str]:
    """Test accuracy of a plain GCN on noisy labels, on cleaned ones, and on those that cleanlab leaves."""
    found = bench.drawn(bench.cells(bench.datasets(NAMES), [RATE]), lambda cell: measure(bench, cell))
    rows = []
    for cell, draws in found.items():
        by_variant = {name: Sample(np.array([draw[name] for draw in draws])) for name in VARIANTS}
        rows.append([about(cell), *(one.text(1) for one in by_variant.values()),
                     *((by_variant[name] - by_variant["noisy labels"]).text(1) for name in VARIANTS[1:4])])
    gains = ["gain", "gain relabelled", "gain of cleanlab"]
    return [*markdown(["cell", *VARIANTS, *gains], rows), "",
            "Published for Cora, 30%, uniform and pair noise, 3 runs (protocol: README):", "",
            *markdown(["", *(f"{kind} 30.0%" for kind in KINDS)], LITERATURE)]


def measure(bench: Bench, cell: Cell) -> dict[str, float]:
    """Test accuracy in percent of one draw, by variant of the labels."""
    d, files, programs = cell.dataset, bench.files, bench.programs
    splits = files.splits_by_class(d, cell.draw) if d.split_by_index else files.splits(d)
    split = [r["split"] for r in read(splits)]
    learned = np.isin(split, ["train", "val"])
    truth = read(files.source(d, "nodes.csv"))
    ids, true = [r["id"] for r in truth], [r["label"] for r in truth]
    given = [r["label"] for r in read(files.noisy_labels_of(cell, splits))]

    def labels(name: str, some: list[str]) -> Path:
        path = files.work / d.name / f"retrain-{splits.stem}-{cell.kind}-{cell.draw}-{name.replace(' ', '-')}.csv"
        write(path, ("id", "label"), zip(ids, np.where(learned, some, "")))
        return path

    noisy = labels("noisy labels", given)
    cleaned = programs.clean(d, noisy, cell.draw)
    held, watched = rounds("out of fold", split, cell.draw)
    p = programs.fold_predictions(cell, GCN, noisy, held, watched)
    flagged = cleanlab_flags(bench, d, noisy, [p])[p]
    some = {
        "noisy labels": given,
        "without suspects": np.where(cleaned.suspects, "", given),
        "suspects relabelled": np.where(cleaned.suspects, cleaned.suggested, given),
        "without cleanlab's flags": np.where(flagged, "", given),
        "true labels": true,
    }
    return {name: 100 * programs.accuracy(d, labels(name, one), splits, [GCN], cell.draw)
            for name, one in some.items()}
