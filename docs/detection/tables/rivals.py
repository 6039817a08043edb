"""Tables of preset default beside every rival on the same labels and predictions, those of the built-in classifier."""

from __future__ import annotations

from collections.abc import Sequence

from bench import METHODS, RIVALS, Bench, about, figure, mark
from datasets import KINDS, PAPER, RATES, Cell
from figures import METRICS, best, listed, markdown, mean_of, shortfalls
from later_rivals import JUDGES
from tables.made import BLOCK_MODELS, block_model
from tables.paper import METRICS as PAPER_METRICS

EVERY = ("default", *RIVALS)
GRAPHS = ("cora", "citeseer", "photo", "pubmed", "computers")  # of the table noise
OF_FEATURES = ("feature", "cluster", "instance")  # kinds of noise that depend on features
NOISES = (*KINDS, *OF_FEATURES, "confidence", "topology")


def same(bench: Bench) -> list[str]:
    """Preset default and all rivals on the same labels and predictions, those of the built-in base classifier."""
    rows, every, cells = [], [], 0
    for d in bench.datasets(PAPER):
        found = bench.drawn(bench.cells([d], RATES),
                            lambda cell: {**bench.programs.eval(cell, METHODS), **bench.programs.later(cell)})
        cells = len(found)
        means = {method: {name: mean_of(figure(draws, method, name) for draws in found.values())
                          for name, _, _ in PAPER_METRICS} for method in EVERY}
        rows += [[mark(d), method, *means[method].values()] for method in EVERY]
        every += [(f"{mark(d)} {label}", means["default"][name], method, means[method][name])
                  for name, _, label in PAPER_METRICS for method in RIVALS]
    below = shortfalls(every)
    return [*markdown([f"mean of {cells} cells", "method", *(label for _, _, label in PAPER_METRICS)], rows), "",
            f"Means of default that are ahead of a rival's or equal: {len(every) - len(below)} of {len(every)} "
            "(data sets × metrics × rivals).", *listed("Behind", below, len(every))]


def noise(bench: Bench) -> list[str]:
    """Without a look at any label: default beside every rival on the same predictions; all labelled nodes."""
    drawn = bench.cells(bench.datasets(GRAPHS), ("0.1", "0.3"), NOISES)
    cells = [cell for cell in drawn if cell.dataset.has_features or cell.kind not in OF_FEATURES]
    cells += [Cell(d, "natural", "0") for d in bench.datasets(("cora_llm", "pubmed_llm"))]
    rivals = [method for method in RIVALS if method not in bench.asked.without]
    found = bench.drawn(cells, lambda cell: _drawn_by_eval(bench, cell, rivals))
    lines, pairs = [], []
    for name, label in (*METRICS, ("average_precision", "AP")):
        rows = []
        for cell, draws in found.items():
            mine, *theirs = (figure(draws, method, f"by_split.all.{name}") for method in ("default", *rivals))
            rows.append([about(cell), mine, *theirs])
            method, of = best(dict(zip(rivals, theirs)))
            pairs.append((f"{about(cell)} {label}", mine, method, of))
        lines += ["", *markdown([label, "default", *rivals], rows)]
    lines += listed("Below the best rival", shortfalls(pairs), len(pairs))
    published = bench.drawn([Cell(d, "published", "0") for d in bench.datasets(GRAPHS)],
                            lambda cell: _drawn_by_eval(bench, cell, ["confident-learning"]))
    flagged = [[about(cell),
                *(figure(draws, method, "by_split.all.flagged") for method in ("default", "confident-learning"))]
               for cell, draws in published.items()]
    return [*lines, "", "Flagged where the labels are as published:", "",
            *markdown(["", "default", "confident-learning"], flagged)]


def disagree(bench: Bench) -> list[str]:
    """Graphs whose neighbours disagree: default beside the best rival."""
    datasets = bench.datasets(("squirrel", "minesweeper"))
    if bench.asked.datasets is None:
        datasets += [block_model(bench.files, *asked) for asked in BLOCK_MODELS]
    found = bench.drawn(bench.cells(datasets, ["0.1"]), lambda cell: _drawn_by_eval(bench, cell))
    rows, pairs = [], []
    for cell, draws in found.items():
        row = [about(cell)]
        for name, label in METRICS:
            mine = figure(draws, "default", name)
            method, theirs = best({rival: figure(draws, rival, name) for rival in RIVALS})
            row += [mine, theirs, method]
            pairs.append((f"{about(cell)} {label}", mine, method, theirs))
        rows.append(row)
    header = ["cell", *(part for _, label in METRICS for part in (label, "best rival", ""))]
    return [*markdown(header, rows),
            *listed("Below the best rival's mean less its standard error", shortfalls(pairs, 1), len(pairs))]


def _drawn_by_eval(bench: Bench, cell: Cell, rivals: Sequence[str] = RIVALS) -> dict[str, dict]:
    """By method the figures of a draw of eval."""
    drawn = bench.programs.drawn(cell)
    found = bench.programs.eval(cell, [method for method in METHODS if method == "default" or method in rivals],
                                drawn=drawn)
    return found | (bench.programs.later(cell, drawn) if JUDGES.keys() & set(rivals) else {})
