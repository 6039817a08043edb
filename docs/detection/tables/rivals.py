"""Tables of preset default beside every rival on the same labels and predictions, those of the built-in classifier."""

from __future__ import annotations

from collections.abc import Sequence

from bench import METHODS, RIVALS, Bench, about, figure, mark
from datasets import KINDS, PAPER, RATES, WITH_FEATURES, Cell
from figures import (GREY, METRICS, NEXT, RATE, RATE_HIGH, RATE_LOW, Sample, best, listed, markdown, mean_of, shortfalls)
from tables.made import BLOCK_MODELS, block_model
from tables.paper import METRICS as PAPER_METRICS

EVERY = ("default", *RIVALS)
HARD = ("feature", "cluster", "confidence", "topology")
NOISES = (*KINDS, *HARD, "instance")
REVIEWED = ("rescored", "recleaned")  # default behind 50 decisions


def same(bench: Bench) -> list[str]:
    """Preset default and all rivals on the same labels and predictions, those of the built-in base classifier."""
    rows, every, cells = [], [], 0
    for d in bench.datasets(PAPER):
        found = bench.drawn(bench.cells([d], RATES), lambda cell: {**bench.programs.eval(cell, METHODS), **bench.programs.later(cell)})
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
    """Noise that depends on the node: default beside all rivals, with the true rate told, and behind 50 decisions."""
    cells = bench.cells(bench.datasets(WITH_FEATURES), ("0.1", "0.2", "0.3"), HARD)
    found = bench.drawn(cells, lambda cell: _default_and_rivals(bench, cell))
    rows = []
    for kind in HARD:
        for rate in dict.fromkeys(cell.rate for cell in cells):
            group = [draws for cell, draws in found.items() if (cell.kind, cell.rate) == (kind, rate)]
            for name, label in METRICS:
                variants, rivals = zip(*(_variants_and_rivals(draws, name) for draws in group))
                mine = [mean_of(some[title] for some in variants) for title in variants[0]]
                method, theirs = best({m: mean_of(some[m] for some in rivals) for m in RIVALS})
                rows.append([f"{kind} {float(rate):.0%} {label}", *mine, theirs, method])
    titles = ["default", "with --expect", *REVIEWED]
    lines = markdown([f"mean of {', '.join(d.name for d in bench.datasets(WITH_FEATURES))}", *titles, "best rival", ""],
                     rows)
    for place, title in enumerate(titles, 1):
        pairs = [(row[0], row[place], row[-1], row[-2]) for row in rows if row[place].known]
        lines += listed(f"Means of {title} below the best rival's", shortfalls(pairs), len(pairs)) if pairs else []
    return [*lines, "", "How many, as default tells it without being told:", "", *_rates(found)]


def decisions(bench: Bench) -> list[str]:
    """What 50 decisions on the first suspects change: the next 100 suspects, the rate, and F1 over all labelled nodes."""
    cells = bench.cells(bench.datasets(("cora", "computers")), ["0.1"], NOISES)
    found = bench.drawn(cells, lambda cell: _default_and_reviewed(bench, cell))
    rows = []
    for cell, draws in found.items():
        row = [about(cell)]
        for path in (NEXT, RATE, "by_split.all.f1"):
            row += [figure(draws, method, path) for method in ("default", *REVIEWED)]
        rows.append([*row, figure(draws, "default", "true_rate")])
    header = ["cell", *(part for title in ("wrong among the next 100", "estimated rate", "F1")
                        for part in (title, *REVIEWED)), "true rate"]
    return markdown(header, rows)


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


def _drawn_by_eval(bench: Bench, cell: Cell) -> dict[str, dict]:
    """By method the figures of a draw of eval."""
    drawn = bench.programs.drawn(cell)
    return {**bench.programs.eval(cell, METHODS, drawn=drawn), **bench.programs.later(cell, drawn)}


def _default_and_reviewed(bench: Bench, cell: Cell) -> dict[str, dict]:
    drawn = bench.programs.drawn(cell)
    found, reviewed = bench.programs.eval(cell, ["default"], drawn=drawn), bench.programs.reviewed(cell, drawn)
    found["default"][NEXT] = reviewed["cleaned"][NEXT]
    return {**found, **reviewed}


def _default_and_rivals(bench: Bench, cell: Cell) -> dict[str, dict]:
    """By method the figures of a draw; "expect" is default where the true rate was told."""
    drawn = bench.programs.drawn(cell)
    found = {**_drawn_by_eval(bench, cell), **bench.programs.reviewed(cell, drawn)}
    told = bench.programs.eval(cell, ["default"], None, drawn, ["--expect", cell.rate])
    return {**found, "expect": told["default"]}


def _variants_and_rivals(draws: Sequence[dict[str, dict]], name: str) -> tuple[dict[str, Sample], dict[str, Sample]]:
    mine = {"default": figure(draws, "default", name), "expect": figure(draws, "expect", name),
            **{method: figure(draws, method, name) for method in REVIEWED}}
    return mine, {method: figure(draws, method, name) for method in RIVALS}


def _rates(found: dict[Cell, list[dict]]) -> list[str]:
    rows = []
    for cell, draws in found.items():
        true, low, high = (figure(draws, "default", name) for name in ("true_rate", RATE_LOW, RATE_HIGH))
        covers = (low.values <= true.values) & (true.values <= high.values)
        interval = f"{low.mean:.3f} to {high.mean:.3f}" if low.known else "–"
        rows.append([about(cell), true, figure(draws, "default", RATE), interval,
                     f"{covers.sum()} of {len(covers)}" if low.known else "–", figure(draws, "default", GREY),
                     *(figure(draws, method, RATE) for method in REVIEWED)])
    header = ["cell", "true rate", "estimate", "interval", "has the true one", "grey zone",
              *REVIEWED]
    return markdown(header, rows)
