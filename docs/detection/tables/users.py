"""The table of classifiers that users bring."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from graphcleaner._rules import class_order
from graphcleaner.pyg import Recipe, read_graph, write_predictions

from bench import Bench, about
from datasets import WITH_FEATURES, Cell, Dataset, Files, read, write
from figures import f1_of, listed, markdown, sample
from programs import CLEANLAB, key
from tables.cleanlab import flags

RATES = ("0.05", "0.1", "0.2")
SLACK = 0.01  # by which F1 may be below that of the built-in classifier alone
FOLDS = 5
# Two convolutions of Kipf and Welling (arXiv:1609.02907), wider, stopped when validation no longer gains.
GCN = Recipe("gcn", layers=2, hidden=64, input_dropout=0.5, rate=0.01, keep="loss", patience=20, row_normalize=True)
MODES = ("in sample", "split", "out of fold")
BROUGHT = [*((model, mode) for model in ("mlp", "logistic", "gcn") for mode in MODES),
           ("random", "no split"), ("random", "split")]


def users(bench: Bench) -> list[str]:
    """Classifiers that users bring to clean: F1 over all labelled nodes beside the built-in alone and cleanlab."""
    found = bench.drawn(bench.cells(bench.datasets(WITH_FEATURES), RATES), lambda cell: measure(bench, cell))
    rows, below, margins = [], [], []
    for cell, draws in found.items():
        for model, mode in BROUGHT:
            alone, theirs, cleanlab = (sample([draw[model, mode] for draw in draws], name)
                                       for name in ("alone", "brought", "cleanlab"))
            over = (theirs - (alone - SLACK), theirs - cleanlab)
            margin = min(over, key=lambda one: one.mean)
            rows.append([about(cell), model, mode, alone, theirs, cleanlab, margin])
            margins.append(margin.mean)
            if margin.mean < 0:
                below.append(f"{about(cell)}, {model}, {mode}: {margin}")
    header = ["cell", "classifier", "predictions", "built-in alone", "with theirs", "cleanlab", "smallest margin"]
    least = f"The smallest margin of all is {min(margins):.3f}." if margins else ""
    return ["The margin is over the greater of cleanlab and the built-in alone less "
            f"{SLACK}. Alone is the same store without predictions, with the split told where it is told.", "",
            *markdown(header, rows), "", least, *listed("Negative margins", below, len(rows))]


def measure(bench: Bench, cell: Cell) -> dict[tuple[str, str], dict[str, float]]:
    """F1 of one draw by classifier and mode: of the built-in alone, with what was brought, and of cleanlab on that."""
    d, files, programs = cell.dataset, bench.files, bench.programs
    nodes, splits = files.noisy_labels_of(cell, None), files.splits_at_random(cell.dataset, cell.draw)
    wrong = files.wrong(d, nodes)
    brought = {pair: predictions(bench, cell, *pair, nodes, splits) for pair in BROUGHT}
    flagged = cleanlab_flags(bench, d, nodes, list(brought.values()))
    result = {}
    for (model, mode), path in brought.items():
        told = splits if mode == "split" else None
        result[model, mode] = {
            "alone": f1_of(wrong, programs.clean(d, nodes, cell.draw, told).suspects),
            "brought": f1_of(wrong, programs.clean(d, nodes, cell.draw, told, path).suspects),
            "cleanlab": f1_of(wrong, flagged[path]),
        }
    return result


def predictions(bench: Bench, cell: Cell, model: str, mode: str, nodes: Path, splits: Path) -> Path:
    """The file of predictions that a user brings."""
    if model == "random":
        return random_predictions(bench.files, cell)
    held, watched = rounds(mode, [r["split"] for r in read(splits)], cell.draw)
    if model == "gcn":
        return bench.programs.fold_predictions(cell, GCN, nodes, held, watched)
    return bench.programs.scikit_predictions(cell, model, nodes, held | watched if mode == "split" else held)


def rounds(mode: str, split: list[str], draw: int) -> tuple[np.ndarray, np.ndarray]:
    """Who is held out of each of k trainings, [k, n], and, of the others, whom early stopping alone looks at.

    In sample: nobody is held out, and stopping looks at a tenth. Split: the test nodes are, and it looks at the
    validation nodes. Out of fold: each of five folds is held out once, and it looks at a tenth of the other nodes.
    """
    random = np.random.default_rng([draw, 2])
    split = np.array(split)
    if mode == "split":
        return (split == "test")[None], (split == "val")[None]
    fold = random.permutation(len(split)) % FOLDS
    held = np.zeros((1, len(split)), bool) if mode == "in sample" else fold == np.arange(FOLDS)[:, None]
    return held, ~held & (random.permutation(len(split)) % 10 == 0)


def random_predictions(files: Files, cell: Cell) -> Path:
    """Predictions drawn uniformly from all distributions over the classes."""
    path = files.predictions(cell, "random", "predictions")
    if not path.exists():
        graph = read_graph(*files.graph(cell.dataset)[1:4:2])
        p = np.random.default_rng([cell.draw, 3]).dirichlet(np.ones(len(graph.classes)), graph.num_nodes)
        write_predictions(path, p, graph)
    return path


def cleanlab_flags(bench: Bench, d: Dataset, nodes: Path, paths: list[Path]) -> dict[Path, np.ndarray]:
    """By file of predictions, [n], whether cleanlab flags a node."""
    files = bench.files
    out = {path: files.work / d.name / f"cleanlab-{key(nodes, path, CLEANLAB)}.csv" for path in paths}
    missing = [path for path in out if not out[path].exists()]
    rows = read(nodes)
    if missing:
        number = {name: j for j, name in enumerate(class_order({r["label"] for r in rows if r["label"]}))}
        with bench.programs.scratch() as scratch:
            given = scratch / "given.csv"
            write(given, ("id", "row", "label"),
                  [(r["id"], i, number[r["label"]]) for i, r in enumerate(rows) if r["label"]])
            parts = [scratch / f"{i}.csv" for i in range(len(missing))]
            bench.programs.cleanlab(*(part for pair in zip(missing, parts) for part in (given, *pair)))
            for path, part in zip(missing, parts):
                part.replace(out[path])
    flagged = {path: flags(out[path]) for path in out}
    return {path: np.array([flagged[path].get(r["id"], False) for r in rows]) for path in out}
