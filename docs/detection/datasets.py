"""The data sets of the tables, the splits of the GraphCleaner paper's runs, and its noisy labels.

Data lie in DATA/<folder>/csv: nodes.csv (id,label), edges.csv (src,dst), features.npz (scipy CSR), split.csv
(id,split) and meta.json, whose "classes" gives the class names in the order of the class numbers of the original data.
"""

from __future__ import annotations

import csv
import json
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np

KINDS = ("sym", "asym")
AS_GIVEN = ("natural", "published")  # labels of nodes.csv, beside those of truth.csv, or taken as true
RATES = ("0.1", "0.05", "0.025")  # of the paper's tables
SHARES = "0.6/0.2/0.2"  # of nodes in training, validation and test, where a table draws the split


@dataclass(frozen=True)
class Dataset:
    """name is that of the paper's tables; without features, base classifiers see the structure alone.

    Of a natural one, nodes.csv has labels of a language model, and truth.csv the true ones. What it lacks is in the
    folder without _llm.
    """

    name: str
    folder: str
    features: str | None = "features.npz"  # file, or None
    split_by_index: bool = False  # 60/20/20 in the order of the nodes, as the paper's code; else split.csv
    made: bool = False  # by a program: its files are in the working directory
    natural: bool = False

    @property
    def has_features(self) -> bool:
        return self.features is not None


DATASETS = {
    d.name: d
    for d in (
        Dataset("cora", "cora"),
        Dataset("citeseer", "citeseer"),
        Dataset("computers", "amazon_computers", split_by_index=True),
        Dataset("photo", "amazon_photo", split_by_index=True),
        Dataset("pubmed", "pubmed", features=None),
        Dataset("ogbn-arxiv", "ogbn_arxiv", features=None),
        Dataset("squirrel", "squirrel_filtered"),
        Dataset("minesweeper", "minesweeper", features="features.npy"),
        Dataset("cora_llm", "cora_llm", natural=True),
        Dataset("pubmed_llm", "pubmed_llm", features=None, natural=True),
    )
}
PAPER = ("cora", "citeseer", "computers", "photo", "pubmed", "ogbn-arxiv")  # the data sets of its tables
WITH_FEATURES = ("cora", "citeseer", "photo", "computers")


@dataclass(frozen=True)
class Cell:
    """A cell of a table: a data set with one kind and rate of noise. Draw 1 is that of the paper's runs."""

    dataset: Dataset
    kind: str
    rate: str
    draw: int = 1

    def __str__(self) -> str:
        return f"{self.dataset.name}-{self.kind}-{self.rate}-{self.draw}"


class Files:
    """Makes the files of data sets and cells in a working directory, once."""

    def __init__(self, data: Path, work: Path):
        self.data, self.work = data, work

    def source(self, d: Dataset, name: str) -> Path:
        path = self.work / "made" / d.folder / name if d.made else self.data / d.folder / "csv" / name
        if d.natural and not path.exists():
            path = self.data / d.folder.removesuffix("_llm") / "csv" / name
        if not path.exists():
            raise FileNotFoundError(f"{path}: not there; want the data set {d.name} under GRAPHCLEANER_DATA")
        return path

    def graph(self, d: Dataset) -> list[str | Path]:
        """The arguments that give the graph to graphcleaner and to graphcleaner.pyg."""
        args = ["--nodes", self.truth(d), "--edges", self.source(d, "edges.csv")]
        if d.has_features:
            args += ["--features", self.source(d, d.features)]
        return args

    def truth(self, d: Dataset) -> Path:
        """The file of the true labels."""
        return self.source(d, "truth.csv" if d.natural else "nodes.csv")

    def labels(self, d: Dataset) -> tuple[list[str], np.ndarray, list[str]]:
        """Ids, class numbers (-1: none) and class names."""
        classes = json.loads(self.source(d, "meta.json").read_text(encoding="utf-8"))["classes"]
        number = {name: j for j, name in enumerate(classes)}
        rows = read(self.source(d, "nodes.csv"))
        return [r["id"] for r in rows], np.array([number.get(r["label"], -1) for r in rows]), classes

    def splits(self, d: Dataset) -> Path:
        """File id,split."""
        if not d.split_by_index:
            return self.source(d, "split.csv")
        path = self._path(d, "splits.csv")
        if not path.exists():
            ids, _, _ = self.labels(d)
            n = len(ids)
            ends = ((int(0.6 * n), "train"), (int(0.8 * n), "val"), (n, "test"))
            names = [next(name for end, name in ends if i < end) for i in range(n)]
            write(path, ("id", "split"), zip(ids, names))
        return path

    def splits_at_random(self, d: Dataset, draw: int) -> Path:
        """File id,split with the shares SHARES of all nodes."""
        path = self._path(d, f"splits-at-random-{draw}.csv")
        if not path.exists():
            ids, _, _ = self.labels(d)
            place = np.random.default_rng([draw, 1]).permutation(len(ids)) / len(ids)
            names = np.select([place < 0.6, place < 0.8], ["train", "val"], "test")
            write(path, ("id", "split"), zip(ids, names))
        return path

    def splits_by_class(self, d: Dataset, seed: int) -> Path:
        """File id,split with 20 training nodes of each class, 30 a class for validation and the rest for test."""
        path = self._path(d, f"splits-by-class-{seed}.csv")
        if not path.exists():
            ids, y, classes = self.labels(d)
            order = np.random.default_rng(seed).permutation(len(ids))
            names = np.full(len(ids), "test", dtype="<U5")
            for j in range(len(classes)):
                members = order[y[order] == j]
                names[members[:20]], names[members[20:50]] = "train", "val"
            write(path, ("id", "split"), zip(ids, names))
        return path

    def labelled_only(self, d: Dataset) -> Path:
        """File id,label like nodes.csv, without the labels of nodes in no split."""
        return self._in_splits(d, self.source(d, "nodes.csv"), "nodes-in-splits.csv")

    def noisy_in_splits(self, cell: Cell) -> Path:
        """File id,label like noisy_labels, without the labels of nodes in no split."""
        name = f"noise-in-splits-{cell.kind}-{cell.rate}-{cell.draw}.csv"
        return self._in_splits(cell.dataset, self.noisy_labels(cell), name)

    def _in_splits(self, d: Dataset, labels: Path, name: str) -> Path:
        path = self._path(d, name)
        if not path.exists():
            split = {r["id"]: r["split"] for r in read(self.splits(d))}
            write(path, ("id", "label"), ((r["id"], r["label"] if split[r["id"]] != "none" else "")
                                           for r in read(labels)))
        return path

    def noisy_labels(self, cell: Cell) -> Path:
        """File id,label with the noisy label of every labelled node, drawn for each split of splits."""
        return self.noisy_labels_of(cell, self.splits(cell.dataset))

    def noisy_labels_of(self, cell: Cell, splits: Path | None) -> Path:
        """The same for each split of a file id,split; with None, for all nodes together."""
        name = "all" if splits is None else splits.stem
        path = self._path(cell.dataset, f"noise-{name}-{cell.kind}-{cell.rate}-{cell.draw}.csv")
        if not path.exists():
            ids, truth, classes = self.labels(cell.dataset)
            split = dict.fromkeys(ids, "none") if splits is None else {r["id"]: r["split"] for r in read(splits)}
            noisy = inject(truth, [split[v] for v in ids], len(classes), cell.kind, float(cell.rate), cell.draw)
            names = [classes[y] if truth[v] >= 0 else "" for v, y in enumerate(noisy)]
            write(path, ("id", "label"), zip(ids, names))
        return path

    def wrong(self, d: Dataset, labels: Path) -> np.ndarray:
        """[n], whether the label of a file id,label is there and another one than that of the data set."""
        pairs = zip(read(self.source(d, "nodes.csv")), read(labels), strict=True)
        return np.array([given["label"] not in ("", true["label"]) for true, given in pairs])

    def predictions(self, cell: Cell, model: str, made_of: str) -> Path:
        """Where predictions on a cell lie; made_of tells what they depend on but for the cell and the model."""
        return self._path(cell.dataset, f"{model}-{cell.kind}-{cell.rate}-{cell.draw}-{made_of}.npy")

    def _path(self, d: Dataset, name: str) -> Path:
        folder = self.work / d.name
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name


def inject(truth: np.ndarray, split: list[str], classes: int, kind: str, rate: float, draw: int = 1) -> np.ndarray:
    """The noisy labels [n] of the paper's runs; those of other draws have other seeds.

    In the training, validation and test nodes, in this order, where all that is in no split counts as training, and
    class by class, ⌊rate·size⌋ nodes are drawn. Symmetric noise gives each another label, uniformly, in the order
    drawn; asymmetric noise the next class. Unlabelled nodes count as class 0, as where that code reads them, so that
    the draws are the same. The generator is numpy's of seed 1119, and of the seeds that follow for
    the draws after the first.
    """
    random = np.random.RandomState(1118 + draw)
    y = np.maximum(truth, 0)
    group = np.array([{"val": 1, "test": 2}.get(name, 0) for name in split])
    drawn = []
    for g in range(3):
        for j in range(classes):
            members = np.flatnonzero((group == g) & (y == j))
            if len(members):
                drawn += list(random.choice(members, size=int(len(members) * rate), replace=False))
    noisy = y.copy()
    for v in drawn:
        if kind == "sym":
            noisy[v] = random.choice([j for j in range(classes) if j != y[v]], size=1, replace=False)[0]
        else:
            noisy[v] = (y[v] + 1) % classes
    return noisy


def read(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def write(path: Path, header, rows) -> None:
    """Writes csv. The file is there whole or not at all, also where two threads make it."""
    part = path.with_name(f"{path.name}.{threading.get_ident()}.part")
    with open(part, "w", encoding="utf-8", newline="") as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    part.replace(path)
