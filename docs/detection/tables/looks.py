"""The table of looks: how scores follow the draws of an audit."""

from __future__ import annotations

import numpy as np

from bench import Bench, about
from datasets import Cell
from figures import markdown

DATASETS = ("cora", "citeseer", "photo")
NOISE, RATES = ("sym", "feature", "cluster", "topology"), ("0.1", "0.3")
SIZES, REPEATS, STRATA, BINS = (50, 200), 20, 5, 15
SLOPES = np.exp(0.25 * np.arange(-6, 5))  # those that `clean` tries
SPREADS = {"b = 1": 0.0, "0.25": 0.25, "0.5": 0.5, "1": 1.0}  # of log b; 0.5 is that of `clean`
COUNT = "as many as are wrong"


def looks(bench: Bench) -> list[str]:
    """Scores that follow 50 and 200 draws, by the spread of the slope: F1 over that of the true number, and ECE."""
    def measure(cell: Cell) -> dict:
        noisy = bench.programs.drawn(cell)[0]
        scores = bench.programs.clean(cell.dataset, noisy, 1).scores
        scored = ~np.isnan(scores)
        return follow(scores[scored], bench.files.wrong(cell.dataset, noisy)[scored], cell.draw)

    found = bench.drawn(bench.cells(bench.datasets(DATASETS), RATES, NOISE), measure)
    rows, by = [], {}
    for cell, draws in found.items():
        for draw in draws:
            for key, figures in draw.items():
                by.setdefault((cell.rate, *key), []).append(figures)
        rows.append([about(cell)] + [f"{np.mean([d[size, '0.5'][0] for d in draws]):.3f}" for size in SIZES]
                    + [f"{np.mean([d[size, name][1] for d in draws]):.3f}" for size,
                       name in ((0, COUNT), *((s, "0.5") for s in SIZES))])
    chosen = [[rate, size, name, f"{min(f for f, _ in v):.3f}", f"{np.mean([f for f, _ in v]):.3f}", _ece(v)]
              for (rate, size, name), v in by.items() if size]
    return [*markdown(["wrong", "draws", "spread of log b", "least F1 ratio of a cell", "mean", "mean ECE"],
                      sorted(chosen, key=lambda r: r[:2])), "",
            *markdown(["cell", "F1 ratio at 50", "at 200", "ECE before", "at 50", "at 200"], rows)]


def _ece(figures: list[tuple[float, float]]) -> str:
    mean = np.mean([e for _, e in figures])
    return "–" if np.isnan(mean) else f"{mean:.3f}"


def follow(scores: np.ndarray, wrong: np.ndarray, seed: int) -> dict[tuple[int, str], tuple[float, float]]:
    """By size and spread, means of F1 over that of the true number in the order of the scores, and of ECE; of size 0
    before an audit.
    """
    random, order = np.random.default_rng(seed), np.argsort(-scores, kind="stable")
    odds = np.log(np.clip(scores, 1e-6, 1 - 1e-6)) - np.log1p(-np.clip(scores, 1e-6, 1 - 1e-6))
    f1 = 2 * np.cumsum(wrong[order]) / (np.arange(len(wrong)) + 1 + wrong.sum())
    own, found = f1[wrong.sum() - 1], {(0, COUNT): [(1.0, ece(scores, wrong))]}
    for size in SIZES:
        for _ in range(REPEATS):
            drawn = np.concatenate([random.choice(part, size // STRATA, replace=False)
                                    for part in np.array_split(order, STRATA)])
            rate = np.clip(wrong[drawn].mean(), 0.5 / size, 1 - 0.5 / size)
            found.setdefault((size, COUNT), []).append((f1[max(1, round(rate * len(wrong))) - 1] / own, np.nan))
            shifts = [shift(slope * odds, rate) for slope in SLOPES]
            likelihood = np.array([np.log(sigmoid(np.where(wrong[drawn], 1, -1) * (a + b * odds[drawn]))).sum() for a,
                                   b in zip(shifts, SLOPES)])
            for name, spread in SPREADS.items():
                prior = np.log(SLOPES) ** 2 / (2 * max(spread, 1e-6) ** 2)
                best = int(np.argmax(likelihood - prior))
                chances = sigmoid(shifts[best] + SLOPES[best] * odds)
                expected = np.cumsum(chances[order]) / (np.arange(len(wrong)) + 1 + chances.sum())
                found.setdefault((size, name), []).append((f1[np.argmax(expected)] / own, ece(chances, wrong)))
    return {key: tuple(np.mean(both, axis=0)) for key, both in found.items()}


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(x, -500, 500)))


def shift(odds: np.ndarray, rate: float) -> float:
    """a so that the mean of sigmoid(odds + a) is the rate."""
    low, high = -64.0, 64.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if sigmoid(odds + middle).mean() < rate else (low, middle)
    return (low + high) / 2


def ece(chances: np.ndarray, wrong: np.ndarray) -> float:
    """The mean distance of chance and share of wrong labels, over parts of equal size by chance."""
    parts = np.array_split(np.argsort(chances), BINS)
    return sum(len(part) * abs(chances[part].mean() - wrong[part].mean()) for part in parts) / len(wrong)
