"""Tables beside the numbers of the GraphCleaner paper (arXiv:2306.00015), whose protocol is README's."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from graphcleaner.pyg import RECIPES

from bench import Bench, about, figure
from datasets import DATASETS, PAPER, RATES, Cell
from figures import Sample, f1_of, listed, markdown, mean_of, number, sample

# Names of the figures in eval's json and in the files of the paper. Its P@T counts flagged nodes alone.
METRICS = (("f1", "f1", "F1"), ("mcc", "mcc", "MCC"), ("p_at_t_flagged", "p_at_t", "P@T"))
FAR = 0.1
METHODS = {  # of the paper's tables, as eval names them
    "baseline": "argmin",
    "DYB": "dyb",
    "AUM": "aum",
    "CL": "confident-learning",
    "GraphCleaner": "paper",
}
VARIANTS = {"L only": "labels-only", "P only": "predictions-only", "No CL": "no-transition", "full": "paper"}

Ours = dict[str, Sample]  # a figure by its name in eval's json


def reproduction(bench: Bench) -> list[str]:
    """Preset paper with a GCN's predictions beside the paper's GraphCleaner (its table 1)."""
    want = _published("table1.csv", "dataset", "noise", "rate", "method")
    cells = bench.cells(bench.datasets(PAPER), RATES)
    found = bench.drawn(cells, lambda cell: bench.measure(cell, ["paper"]))
    pairs = {cell: (_ours(found[cell], "paper"), want[_key(cell, "GraphCleaner")]) for cell in cells}
    rows = [[about(cell), *_compared(*pair), pair[0]["p_at_t"]] for cell, pair in pairs.items()]
    rows += [[f"**{title}**", *_compared(*_means(group)), ""] for title, group in _groups(pairs)]
    far = [f"{about(cell)} {label} {ours[name]}, paper {paper[column]:.3f}"
           for cell, (ours, paper) in pairs.items()
           for name, column, label in METRICS if abs(ours[name].mean - paper[column]) > FAR]
    return [*markdown(["cell", *_columns(), "P@T uncapped"], rows),
            *listed(f"Off by more than {FAR}", far, len(METRICS) * len(pairs))]


def competitors(bench: Bench) -> list[str]:
    """The paper's competitors on the predictions of the reproduction, beside its numbers."""
    want = _published("table1.csv", "dataset", "noise", "rate", "method")
    titles = [title for title in METHODS if title != "GraphCleaner"]
    found = bench.drawn(bench.cells(bench.datasets(PAPER), RATES),
                        lambda cell: bench.measure(cell, [METHODS[title] for title in titles]))
    rows = [[about(cell), title, *_compared(_ours(draws, METHODS[title]), want[_key(cell, title)])]
            for cell, draws in found.items() for title in titles]
    return markdown(["cell", "method", *_columns()], rows)


def classifiers(bench: Bench) -> list[str]:
    """Preset paper and its competitors with GIN and GraphUNet (table 2).

    Without AUM: eval's watches the built-in classifier as it learns, not these.
    """
    want = _published("table2.csv", "dataset", "base_classifier", "noise", "rate", "method")
    methods = {title: method for title, method in METHODS.items() if method != "aum"}
    rows = []
    for model in ("GIN", "GraphUNet"):
        cells = bench.cells(bench.datasets(("cora", "computers")), ["0.1"], ["sym"])
        found = bench.drawn(cells, lambda cell: bench.measure(cell, list(methods.values()), model.lower()))
        rows += [[f"{about(cell)}, {model}", title,
                  *_compared(_ours(draws, method), want[cell.dataset.name, model, "sym", "0.1", title])]
                 for cell, draws in found.items() for title, method in methods.items()]
    return markdown(["cell", "method", *_columns()], rows)


def ablation(bench: Bench) -> list[str]:
    """Preset paper without some of its parts (table 3), and by the number of hops."""
    want = _published("table3.csv", "dataset", "noise", "rate", "variant")
    hops = [f"K = {k}" for k in range(1, 6)]

    def measure(cell: Cell) -> dict[str, dict]:
        measured = bench.measure(cell, list(VARIANTS.values()))
        for name in hops if cell.dataset.has_features else []:
            measured[name] = bench.measure(cell, ["paper"], more=["--hops", name[-1]])["paper"]
        return measured

    found = bench.drawn(bench.cells(bench.datasets(("cora", "computers", "ogbn-arxiv")), ["0.1"]), measure)
    rows = [[about(cell), title, *_compared(_ours(draws, method), want[_key(cell, title)])]
            for cell, draws in found.items() for title, method in VARIANTS.items()]
    by_hops = [[about(cell), *(figure(draws, method, "f1") for method in hops)]
               for cell, draws in found.items() if cell.dataset.has_features]
    return [*markdown(["cell", "variant", *_columns()], rows), "", "F1 by the number of hops:", "",
            *markdown(["cell", *hops], by_hops)]


def ahead(bench: Bench) -> list[str]:
    """Preset default with the built-in base classifier beside the paper's GraphCleaner."""
    cells = bench.cells(bench.datasets(PAPER), RATES)
    found = bench.drawn(cells, lambda cell: bench.programs.eval(cell, ["default"]))
    return [*_beside_graphcleaner(found), *(_beside_binary(bench, cells) if bench.beside else [])]


def few(bench: Bench) -> list[str]:
    """Preset default with the built-in base classifier trained on the 20 labels a class of the public split alone."""

    def measure(cell: Cell) -> dict[str, dict]:
        noisy, splits = bench.files.noisy_in_splits(cell), bench.files.splits(cell.dataset)
        made = bench.programs.built_in(cell.dataset, noisy, splits, cell.draw)
        return bench.programs.eval(cell, ["default"], made)

    cells = bench.cells(bench.datasets(("cora", "citeseer", "pubmed")), RATES)
    return _beside_graphcleaner(bench.drawn(cells, measure))


def accuracy(bench: Bench) -> list[str]:
    """Test accuracy of the built-in base classifier and of a well-tuned GCN on clean labels, the same splits."""
    programs, files = bench.programs, bench.files
    rows = []
    for d in bench.datasets(name for name in PAPER if DATASETS[name].has_features):
        nodes, own = files.source(d, "nodes.csv"), files.splits(d)
        if d.split_by_index:
            splits = {"random, 20 a class": lambda draw: (nodes, files.splits_by_class(d, draw)),
                      "60/20/20 in file order": lambda _: (nodes, own)}
        else:
            splits = {"public, 20 a class": lambda _: (files.labelled_only(d), own),
                      "public, all but validation and test": lambda _: (nodes, own)}
        for title, drawn in splits.items():
            ours = bench.each(bench.draws, lambda draw: programs.accuracy_of_built_in(d, *drawn(draw), draw))
            theirs = bench.each(bench.draws, lambda draw: programs.accuracy(
                d, *drawn(draw), RECIPES["gcn-tuned"], draw, train_on_rest=True))
            ours, theirs = (Sample(100 * np.array(some)) for some in (ours, theirs))
            rows.append([d.name, title, ours.text(1), theirs.text(1), (ours - theirs).text(1)])
    return markdown(["data set", "split", "built-in, %", "tuned GCN, %", "difference"], rows)


def _beside_graphcleaner(found: dict[Cell, list[dict]]) -> list[str]:
    """Preset default as it was found in each draw, and what is not above the paper's GraphCleaner."""
    want = _published("table1.csv", "dataset", "noise", "rate", "method")
    pairs = {cell: (_ours(draws, "default"), want[_key(cell, "GraphCleaner")]) for cell, draws in found.items()}
    rows = [[about(cell), *_compared(*pair), *_more(pair[0])] for cell, pair in pairs.items()]
    rows += [[f"**{title}**", *_compared(*_means(group)), *_more(_means(group)[0])]
             for title, group in _groups(pairs)]
    above, lines = [], []
    for name, column, label in METRICS:
        below = [f"{about(cell)} {label} {ours[name]}, paper {paper[column]:.3f}"
                 for cell, (ours, paper) in pairs.items() if not ours[name].mean > paper[column]]
        above.append(f"{label} in {len(pairs) - len(below)} of {len(pairs)}")
        lines += below
    header = ["cell", *_columns(), "P@T uncapped", "ECE", "F1 of all labelled nodes"]
    return [*markdown(header, rows), "",
            f"Cells in which the mean of default is above the paper's: {', '.join(above)}.",
            *listed("Not above", lines, len(METRICS) * len(pairs))]


def _beside_binary(bench: Bench, cells: Sequence[Cell]) -> list[str]:
    """F1 of clean over all labelled nodes, beside that of the other binary."""

    def f1(cell: Cell) -> dict[str, float]:
        noisy, splits = bench.files.noisy_labels(cell), bench.files.splits(cell.dataset)
        wrong = bench.files.wrong(cell.dataset, noisy)
        return {name: f1_of(wrong, programs.clean(cell.dataset, noisy, cell.draw, splits).suspects)
                for name, programs in (("now", bench.programs), ("then", bench.beside))}

    found = {cell: (sample(draws, "now"), sample(draws, "then")) for cell, draws in bench.drawn(cells, f1).items()}
    rows = [[about(cell), now, then, now - then] for cell, (now, then) in found.items()]
    now, then = (mean_of(pair[i] for pair in found.values()) for i in (0, 1))
    rows.append([f"**mean of {len(found)} cells**", now, then, now - then])
    return ["", f"F1 of `clean` over all labelled nodes beside {bench.beside.version()}:", "",
            *markdown(["cell", "this", "other", "Δ"], rows)]


def _key(cell: Cell, title: str) -> tuple[str, ...]:
    return cell.dataset.name, cell.kind, cell.rate, title


def _published(name: str, *key: str) -> dict[tuple[str, ...], dict[str, float]]:
    with open(Path(__file__).parent.parent / "paper" / name, encoding="utf-8", newline="") as text:
        return {tuple(r[k] for k in key): {m: float(r[m]) for m in ("f1", "mcc", "p_at_t")}
                for r in csv.DictReader(text)}


def _ours(draws: Sequence[dict[str, dict]], method: str) -> Ours:
    return {name: figure(draws, method, name)
            for name in (*(name for name, _, _ in METRICS), "p_at_t", "ece", "by_split.all.f1")}


def _groups(pairs: dict[Cell, tuple[Ours, dict]]) -> list[tuple[str, list[tuple[Ours, dict]]]]:
    """Titles and pairs of the cells with features, of those of each data set without, and of all."""
    groups = {}
    for cell, pair in pairs.items():
        d = cell.dataset
        groups.setdefault("features" if d.has_features else f"{d.name}, structure alone", []).append(pair)
    if len(groups) > 1:
        groups["all"] = list(pairs.values())
    return [(f"mean of {len(group)} cells, {title}", group) for title, group in groups.items()]


def _means(group: Sequence[tuple[Ours, dict]]) -> tuple[Ours, dict]:
    ours = {name: mean_of(mine[name] for mine, _ in group) for name in group[0][0]}
    return ours, {column: sum(paper[column] for _, paper in group) / len(group) for _, column, _ in METRICS}


def _columns() -> list[str]:
    return [part for _, _, label in METRICS for part in (label, "paper", "Δ")]


def _compared(ours: Ours, paper: dict) -> list[str]:
    """Ours, the paper's, and the difference, of each metric."""
    parts = []
    for name, column, _ in METRICS:
        delta = ours[name].mean - paper[column]
        parts += [ours[name], number(paper[column]), f"**{delta:+.3f}**" if abs(delta) > FAR else f"{delta:+.3f}"]
    return parts


def _more(ours: Ours) -> list[Sample]:
    return [ours["p_at_t"], ours["ece"], ours["by_split.all.f1"]]
