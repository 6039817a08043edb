"""The table of how many: estimated rates, calibration, and nodes of training beside others."""

from __future__ import annotations

import numpy as np

from bench import Bench, about, figure, mark
from datasets import PAPER, Cell, Dataset, Files, read
from figures import RATE, Sample, listed, markdown, number
from tables.made import block_model

RATES = ("0.025", "0.05", "0.1", "0.2", "0.3", "0.4")
CLASSES = (2, 3, 5, 10, 20, 40)
HOMOPHILY, DEGREE = 0.7, 4  # of the made graphs
FACTOR = 1.25
APART = 0.01
DEGREES = ((0, 2), (3, 9), (10, None))  # from, to
BINS = 10

# Of a draw the figures by method, and of each test node its degree, score, and whether its label is wrong: [3, n].
Found = tuple[dict[str, dict], np.ndarray]


def rates(bench: Bench) -> list[str]:
    """Estimated over true rate from 2.5 to 40%, 2 to 40 classes; calibration; training nodes beside the others."""
    datasets = bench.datasets(PAPER)
    if bench.asked.datasets is None:
        datasets += [block_model(bench.files, classes, HOMOPHILY, DEGREE, True) for classes in CLASSES]
    degree = {d: degrees(bench.files, d) for d in datasets}

    def measure(cell: Cell) -> Found:
        by_method, nodes = bench.programs.eval_nodes(cell, ["default"])
        return by_method, np.array([
            [degree[cell.dataset].get(row["id"], 0) for row in nodes],
            [float(row["score"]) for row in nodes],
            [row["true_label"] != row["given_label"] for row in nodes]], np.float32)

    found = bench.drawn(bench.cells(datasets, RATES), measure)
    return [*_table(found), "", *_calibration(found)]


def _table(found: dict[Cell, list[Found]]) -> list[str]:
    rows, far, apart = [], [], []
    for cell, both in found.items():
        draws = [by_method for by_method, _ in both]
        ratio = figure(draws, "default", RATE) / figure(draws, "default", "true_rate")
        train, val, test = (figure(draws, "default", f"by_split.{split}.f1") for split in ("train", "val", "test"))
        other = Sample((val.values + test.values) / 2)
        rows.append([about(cell), ratio, f"{np.nanmin(ratio.values):.2f} to {np.nanmax(ratio.values):.2f}",
                     train, other, train - other, figure(draws, "default", "ece")])
        if not 1 / FACTOR <= ratio.mean <= FACTOR:
            far.append(f"{about(cell)}: {ratio}")
        if not abs(train.mean - other.mean) <= APART:
            apart.append(f"{about(cell)}: {train}, {other}")
    header = ["cell", "estimated over true rate", "least to greatest", "F1 of training nodes",
              "of validation and test nodes", "difference", "ECE of test nodes"]
    return [*markdown(header, rows), *listed(f"Mean ratios beyond a factor of {FACTOR}", far, len(found)),
            *listed(f"F1 of training nodes further than {APART} from that of the others", apart, len(found))]


def _calibration(found: dict[Cell, list[Found]]) -> list[str]:
    """By graph and degree the ECE of the test nodes of all kinds, rates and draws together."""
    by_graph: dict[Dataset, list[np.ndarray]] = {}
    for cell, draws in found.items():
        by_graph.setdefault(cell.dataset, []).extend(nodes for _, nodes in draws)
    rows = []
    for d, some in by_graph.items():
        degree, scores, wrong = np.concatenate(some, axis=1)
        parts = [(degree >= first) & (degree <= (np.inf if last is None else last)) for first, last in DEGREES]
        rows.append([mark(d), *(f"{number(ece(scores[part], wrong[part]))} ({part.sum()})" for part in parts)])
    names = [f"degree {first} to {last}" if last is not None else f"{first} and more" for first, last in DEGREES]
    return ["ECE by degree, of the test nodes of all kinds, rates and draws together; in brackets how many they are:",
            "", *markdown(["graph", *names], rows)]


def degrees(files: Files, d: Dataset) -> dict[str, int]:
    """By id how many edges a node has, where it has some."""
    count: dict[str, int] = {}
    for row in read(files.source(d, "edges.csv")):
        for end in (row["src"], row["dst"]):
            count[end] = count.get(end, 0) + 1
    return count


def ece(scores: np.ndarray, wrong: np.ndarray) -> float:
    """Expected calibration error of scores [n] as chances that wrong [n], as eval's: ten bins of equal width."""
    bins = np.clip((scores * BINS).astype(int), 0, BINS - 1)
    off = np.bincount(bins, weights=scores - wrong, minlength=BINS)
    return float(np.abs(off).sum() / len(scores)) if len(scores) else float("nan")
