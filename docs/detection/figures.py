"""Numbers of the tables: figures over draws of noise, as markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

NONE = "–"
METRICS = (("f1", "F1"), ("mcc", "MCC"), ("p_at_t", "P@T"))


@dataclass(frozen=True)
class Sample:
    """A figure over draws of noise [draws], NaN where it is not defined. Its text is mean ± standard error."""

    values: np.ndarray

    @property
    def known(self) -> int:
        """Draws in which it is defined."""
        return len(self._known)

    @property
    def mean(self) -> float:
        return float(np.mean(self._known)) if self.known else math.nan

    @property
    def error(self) -> float:
        """Standard error of the mean; NaN for fewer than two draws."""
        return float(np.std(self._known, ddof=1) / math.sqrt(self.known)) if self.known > 1 else math.nan

    @property
    def _known(self) -> np.ndarray:
        return self.values[~np.isnan(self.values)]

    def __str__(self) -> str:
        return self.text()

    def text(self, digits: int = 3) -> str:
        if not self.known:
            return NONE
        mean = f"{self.mean:.{digits}f}"
        if self.known > 1:
            mean += f" ± {self.error:.{digits}f}"
        return mean if self.known == len(self.values) else f"{mean} ({self.known})"

    def __sub__(self, other: Sample | float) -> Sample:
        """Of each draw the difference."""
        return Sample(self.values - (other.values if isinstance(other, Sample) else other))


def sample(found: Sequence[dict], path: str) -> Sample:
    """The figure at path, such as by_split.all.f1, of what was found in each draw."""
    return Sample(np.array([_at(figures, path) for figures in found], dtype=np.float64))


def mean_of(some: Iterable[Sample]) -> Sample:
    """Of each draw the mean over cells."""
    return Sample(np.mean([one.values for one in some], axis=0))


def best(by_method: dict[str, Sample]) -> tuple[str, Sample]:
    """The method of the greatest mean."""
    return max(by_method.items(), key=lambda item: -math.inf if math.isnan(item[1].mean) else item[1].mean)


def f1_of(wrong: np.ndarray, flagged: np.ndarray) -> float:
    """F1 of flags [n] for what is wrong [n]; 0 where nothing is."""
    both = wrong.sum() + flagged.sum()
    return float(2 * (wrong & flagged).sum() / both) if both else 0.0


def shortfalls(ours: Iterable[tuple[str, Sample, str, Sample]], errors: float = 0) -> list[str]:
    """Lines on where ours is below another by more than so many of the other's standard errors.

    Each is what it is about, our figure, and the name and figure of the other.
    """
    lines = []
    for about, mine, name, other in ours:
        slack = errors * other.error if errors and not math.isnan(other.error) else 0
        if not mine.mean >= other.mean - slack:
            lines.append(f"{about} {mine}, {name} {other}")
    return lines


def listed(title: str, lines: Sequence[str], of: int) -> list[str]:
    """A list in markdown under a title that says how many of all there are."""
    return ["", f"{title}: {len(lines)} of {of}{':' if lines else '.'}", *([""] if lines else []),
            *(f"- {line}" for line in lines)]


def markdown(header: Sequence, rows: Iterable[Sequence]) -> list[str]:
    return ["| " + " | ".join(map(str, row)) + " |" for row in (header, ["---"] * len(header), *rows)]


def number(value: float) -> str:
    return NONE if math.isnan(value) else f"{value:.3f}"


def _at(figures: dict, path: str) -> float:
    for name in path.split("."):
        figures = figures.get(name) if isinstance(figures, dict) else None
    return math.nan if figures is None else figures
