"""What every table needs: the programs, what was asked for, and the cells."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

from datasets import AS_GIVEN, DATASETS, KINDS, Cell, Dataset
from figures import Sample, sample
from later_rivals import JUDGES
from programs import Programs

METHODS = ("default", "paper", "confident-learning", "dyb", "aum", "argmin", "argmax")  # of eval
RIVALS = (*METHODS[1:], *JUDGES)
A, B = TypeVar("A"), TypeVar("B")


@dataclass(frozen=True)
class Bench:
    """asked is the command line: draws, jobs, datasets, rates; beside are the programs of another binary, or None."""

    programs: Programs
    beside: Programs | None
    asked: argparse.Namespace

    @property
    def files(self):
        return self.programs.files

    @property
    def draws(self) -> range:
        return range(1, self.asked.draws + 1)

    def datasets(self, names: Iterable[str]) -> list[Dataset]:
        """Those of the names that were asked for."""
        return [DATASETS[name] for name in names if self.asked.datasets is None or name in self.asked.datasets]

    def cells(self, datasets: Iterable[Dataset], rates: Iterable[str], kinds: Sequence[str] = KINDS) -> list[Cell]:
        """The cells, in their first draw, at those of the rates that were asked for."""
        rates = [rate for rate in rates if self.asked.rates is None or float(rate) in self.asked.rates]
        return [Cell(d, kind, rate) for d in datasets for kind in kinds for rate in rates]

    def each(self, items: Sequence[A], find: Callable[[A], B]) -> list[B]:
        """What find finds of each item, --jobs of them at a time."""
        with ThreadPoolExecutor(self.asked.jobs) as pool:
            futures = [pool.submit(find, item) for item in items]
            try:
                return [future.result() for future in futures]
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def drawn(self, cells: Sequence[Cell], find: Callable[[Cell], B]) -> dict[Cell, list[B]]:
        """By cell, what find finds in each draw of it."""
        every = [replace(cell, draw=draw) for cell in cells for draw in self.draws]
        found = iter(self.each(every, find))
        return {cell: [next(found) for _ in self.draws] for cell in cells}

    def measure(self, cell: Cell, methods: Sequence[str], model: str = "gcn",
                more: Sequence[str] = ()) -> dict[str, dict]:
        """By method, on predictions of graphcleaner.pyg; on the structure alone where there are no features."""
        if not cell.dataset.has_features:
            return self.programs.eval(cell, methods, more=more)
        return self.programs.eval(cell, methods, self.programs.predictions(cell, model), more=more)


def figure(found: Sequence[dict[str, dict]], method: str, path: str) -> Sample:
    """A figure of a method over the draws of a cell."""
    return sample([by_method[method] for by_method in found], path)


def about(cell: Cell) -> str:
    """The name of a cell in a table."""
    rate = "" if cell.kind in AS_GIVEN else f" {float(cell.rate):.1%}"
    return f"{mark(cell.dataset)} {cell.kind}{rate}"


def mark(d: Dataset) -> str:
    return d.name if d.has_features else f"{d.name} (structure)"
