"""The table of graphs as they are."""

from __future__ import annotations

from bench import Bench, mark
from datasets import PAPER
from figures import listed, markdown

# Suspects of `clean` when issue 14 was written, by data set.
EARLIER = {"cora": 16, "citeseer": 140, "photo": 34, "computers": 79, "pubmed": 437, "ogbn-arxiv": 5257}
MOST = 1.5


def quiet(bench: Bench) -> list[str]:
    """Suspects of clean on the data sets as they are, beside earlier counts; seed 1, no noise."""
    datasets = bench.datasets(PAPER)
    found = bench.each(datasets, lambda d: bench.programs.clean(d, bench.files.source(d, "nodes.csv"), 1))
    rows, above = [], []
    for d, cleaned in zip(datasets, found):
        run, earlier = cleaned.run, EARLIER[d.name]
        ratio = run["suspects"] / earlier
        rows.append([mark(d), run["scored"], run["suspects"], earlier, f"{ratio:.2f}"])
        if ratio > MOST:
            above.append(f"{d.name}: {ratio:.2f}")
    header = ["data set", "labelled nodes", "suspects", "earlier", "ratio"]
    return [*markdown(header, rows), *listed(f"Ratios above {MOST}", above, len(rows))]
