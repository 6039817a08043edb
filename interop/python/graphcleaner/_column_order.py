"""Whether the columns of predictions are of the classes that they are taken for, as `graphcleaner import` asks of arrays."""

from __future__ import annotations

from collections import Counter
from math import log, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

# When columns are in another order than given: see the rules in cleaner/columnorder.go, of which these are the numbers.
_CHANCE, _LEAST_GAIN, _VOTE_ERRORS, _MOST_ROWS = 1e-4, 0.1, 2, 1 << 20


class Matches:
    """Counts nodes by the column of their label and the column of their largest prediction.

    labels   [n], the column of the label of each node, below 0 where it has none
    rows     [n, c] predictions
    """

    def __init__(self, labels: np.ndarray, rows: np.ndarray) -> None:
        import numpy as np

        stride = max(-(-len(rows) // _MOST_ROWS), 1)
        labels, rows = labels[::stride], rows[::stride]
        one = (labels >= 0) & ((rows == rows.max(axis=1, keepdims=True)).sum(axis=1) == 1)
        labels, top = labels[one], rows[one].argmax(axis=1)
        self.classes, self.nodes = rows.shape[1], int(one.sum())
        pairs, counts = np.unique(labels * self.classes + top, return_counts=True)
        self._cells = Counter({divmod(int(pair), self.classes): int(count) for pair, count in zip(pairs, counts)})
        self._labels, self._columns = np.bincount(labels, minlength=self.classes).tolist(), np.bincount(top, minlength=self.classes).tolist()

    def of(self, order: list[int]) -> int:
        """How many nodes are predicted as labelled if column j is of class order[j]."""
        return sum(self._cells[label, column] for column, label in enumerate(order))

    def better(self) -> list[int] | None:
        """The order of the columns that the labels speak for beyond doubt, if it is another one."""
        match, order, seen = self._match(), list(range(self.classes)), set[int]()
        for first in range(self.classes):
            cycle, column = [], first
            while column not in seen:
                seen.add(column)
                cycle.append(column)
                column = match[column]
            if len(cycle) > 1 and self._permuted(cycle, match):
                for column in cycle:
                    order[column] = match[column]
        return None if order == list(range(self.classes)) else order

    def _chance(self, label: int, column: int) -> float:
        return self._labels[label] * self._columns[column] / max(self.nodes, 1)

    def _match(self) -> list[int]:
        """Gives every column a class, each once: the cells that are most above chance first."""
        above = sorted(((count - self._chance(*cell), cell) for cell, count in self._cells.items()), key=lambda found: -found[0])
        of: dict[int, int] = {}
        taken = set()
        for beyond, (label, column) in above:
            if beyond > 0 and column not in of and label not in taken:
                of[column] = label
                taken.add(label)
        for column in range(self.classes):
            if column not in of and column not in taken:
                of[column] = column
                taken.add(column)
        free = (label for label in range(self.classes) if label not in taken)
        return [of[column] if column in of else next(free) for column in range(self.classes)]

    def _permuted(self, cycle: list[int], match: list[int]) -> bool:
        """Whether the columns of a cycle are of the classes that match says: by Bernstein's inequality, and by a vote of the classes."""
        given, matched = sum(self._cells[j, j] for j in cycle), sum(self._cells[match[j], j] for j in cycle)
        given_chance, matched_chance = sum(self._chance(j, j) for j in cycle), sum(self._chance(match[j], j) for j in cycle)
        votes = against = 0
        for j in cycle:
            count, own = self._cells[match[j], j], self._cells[match[j], match[j]]
            votes += count - own > _VOTE_ERRORS * sqrt(count + own)
            against += count < own
        gain = min(matched - given, matched - matched_chance - (given - given_chance))
        odds = len(cycle) * log(self.classes) - log(_CHANCE)
        return (votes >= 2 and votes > 2 * against and given - given_chance < (matched - matched_chance) / 2
                and gain >= _LEAST_GAIN * sum(self._labels[j] for j in cycle)
                and gain > sqrt(2 * (given_chance + matched_chance) * odds) + 2 * odds / 3)
