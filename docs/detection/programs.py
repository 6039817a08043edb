"""Runs graphcleaner, cleanlab and classifiers of users, and keeps what they found."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import venv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import graphcleaner.pyg
import numpy as np
import torch
import torch_geometric
from graphcleaner._rules import class_order
from graphcleaner.pyg import RECIPES, Recipe, predict, read_graph, read_labels, write_predictions
from scipy import sparse

import later_rivals
from datasets import AS_GIVEN, Cell, Dataset, Files, read, write

CLEANLAB = "cleanlab==2.9.0"
SCIKIT_LEARN = "scikit-learn==1.6.1"
_PACKAGE = Path(graphcleaner.pyg.__file__).parent
_TRAINING = [_PACKAGE / name for name in ("files.py", "models.py", "training.py", "../_graph.py", "../_rules.py")]
_TORCH = threading.Lock()  # its seed and its threads are those of the whole process
_VENV = threading.Lock()


@dataclass(frozen=True)
class Ran:
    """What a process wrote, its wall time, its time on processors, and the most memory that it held."""

    stdout: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class Cleaned:
    """What `clean` says of every node.

    scores     [n], NaN where there is no label
    suggested  labels [n], "" where there is none
    run        the row of the statement `runs`
    """

    scores: np.ndarray
    suggested: Sequence[str]
    run: dict

    @property
    def suspects(self) -> np.ndarray:
        """[n], whether the score is above the threshold."""
        return self.scores > self.run["threshold"]


def run(args: list[str], **environment: str) -> Ran:
    """Runs a process to its end, with more environment; a failure is a RuntimeError that has the command line."""
    with tempfile.TemporaryDirectory() as scratch:
        took = Path(scratch) / "took.json"
        measured = [sys.executable, str(Path(__file__).with_name("measured.py")), str(took)]
        child = subprocess.run(
            measured + args, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **environment})
        found = json.loads(took.read_text(encoding="utf-8"))
    if found.pop("exit_code") != 0:
        raise RuntimeError(f"failed: {' '.join(args)}")
    return Ran(child.stdout, **found)


class Programs:
    """binary is graphcleaner; what it found is kept for the same binary and the same contents of files only."""

    def __init__(self, files: Files, binary: Path, threads: int):
        self.files, self.binary, self.threads = files, binary, threads
        self.digest = hashlib.sha256(binary.read_bytes()).hexdigest()[:12]
        self.kept = files.work / "results" / self.digest
        self.kept.mkdir(parents=True, exist_ok=True)

    def version(self) -> str:
        """That of the binary, with the first digits of its sha256."""
        return f"{self.graphcleaner('--version').stdout.strip()}, sha256 {self.digest}"

    def graphcleaner(self, *args: str | Path) -> Ran:
        return run([str(self.binary), *map(str, args)])

    # What graphcleaner finds.

    def eval(
        self, cell: Cell, methods: Sequence[str], predictions: Path | None = None, drawn: tuple[Path, Path]
        | None = None,
        more: Sequence[str] = (),
    ) -> dict[str, dict]:
        """The figures by method; without predictions, of the built-in base classifier.

        drawn are the files of noisy labels and of the split, in place of those of the cell.
        """
        noisy, splits = drawn or (self.files.noisy_labels(cell), self.files.splits(cell.dataset))
        args = ["eval", *self.files.graph(cell.dataset), "--format", "json", "--splits", splits, *more]
        if predictions is None:
            args += ["--repeats", "1", "--seed", str(cell.draw)]
        else:
            args += ["--predictions", predictions]
        for method in methods:
            args += ["--method", method]
        path = self.kept / f"{cell}-{key(*args, '--noise', noisy)}.json"
        if not path.exists():
            print(f"{cell}: {', '.join(methods)}", file=sys.stderr, flush=True)
            ran = self.graphcleaner(*args, "--noise", f"file:{noisy}", "--threads", str(self.threads))
            write_text(path, ran.stdout)
        found = json.loads(path.read_text(encoding="utf-8"))["methods"]
        return {m["name"]: m["repeats"][0] for m in found}

    def drawn(self, cell: Cell) -> tuple[Path, Path]:
        """Files id,label of the noise that `eval` draws, and id,split of a random split. What is not of its kinds has
        the labels of nodes.csv.

        --flags has the labels of the test nodes alone. The noise is the same under any split, so each half of the nodes
        is tested once.
        """
        if cell.kind in AS_GIVEN:
            return self.files.source(cell.dataset, "nodes.csv"), self.files.splits_at_random(cell.dataset, cell.draw)
        ids, given = self.files.labels(cell.dataset)[0], {}
        path = self.kept / f"noise-{cell}-{key(*self.files.graph(cell.dataset))}.csv"
        for tested in () if path.exists() else (0, 1):
            with self.scratch() as scratch:
                halves, flags = scratch / "splits.csv", scratch / "flags.csv"
                write(halves, ("id", "split"), ((v, "test" if i % 2 == tested else "train") for i, v in enumerate(ids)))
                self.graphcleaner("eval", *self.files.graph(cell.dataset), "--noise", f"{cell.kind}:{cell.rate}",
                                  "--repeats", "1", "--seed", str(cell.draw), "--threads", str(self.threads),
                                  "--splits", halves, "--method", "argmax", "--flags", flags)
                given |= {row["id"]: row["given_label"] for row in read(flags)}
        if given:
            write(path, ("id", "label"), ((v, given.get(v, "")) for v in ids))
        return path, self.files.splits_at_random(cell.dataset, cell.draw)

    def later(self, cell: Cell, drawn: tuple[Path, Path] | None = None) -> dict[str, dict]:
        """The figures by rival of later_rivals.py, on the noise and the split of eval."""
        noisy, splits = drawn or (self.files.noisy_labels(cell), self.files.splits(cell.dataset))
        made_of = key(noisy, Path(later_rivals.__file__), *self.files.graph(cell.dataset)[2:])
        paths = {name: self.kept / f"{cell}-{name}-{made_of}.npy" for name in later_rivals.JUDGES}
        if not all(path.exists() for path in paths.values()):
            graph = self._graph(cell.dataset, splits)
            found = later_rivals.predictions(graph.adjacency(), read_labels(noisy, graph), len(graph.classes),
                                             graph.features, cell.draw)
            for name, path in paths.items():
                write_predictions(path, found[name], graph)
        classes = class_order({row["label"] for row in read(self.files.truth(cell.dataset)) if row["label"]})
        named = ["--prediction-classes", ",".join(name.replace("\\", "\\\\").replace(",", "\\,") for name in classes)]
        return {name: self.eval(cell, [judge], paths[name], drawn, named)[judge]
                for name, judge in later_rivals.JUDGES.items()}

    def clean(
        self, d: Dataset, nodes: Path, seed: int, splits: Path | None = None, predictions: Path | None = None
    ) -> Cleaned:
        """What `clean` says of a store with the labels of nodes."""
        given = [*self.files.graph(d)[2:]]
        for flag, path in (("--splits", splits), ("--predictions", predictions)):
            given += [flag, path] if path else []
        out = self.kept / f"clean-{d.name}-{key('--nodes', nodes, *given)}-{seed}.json"
        if not out.exists():
            brought = predictions.stem if predictions else "no predictions"
            print(f"{d.name}: clean {nodes.stem}, {brought}", file=sys.stderr, flush=True)
            with self.scratch() as scratch:
                store, scores = scratch / "store", scratch / "scores.csv"
                self.graphcleaner("import", store, "--nodes", nodes, *given)
                self.graphcleaner("clean", store, "--seed", str(seed), "--threads", str(self.threads))
                self.graphcleaner("export", store, "scores", "--out", scores)
                ran = self.graphcleaner("shell", store, "-c", "runs", "--format", "json")
                with open(scores, encoding="utf-8", newline="") as text:
                    rows = list(csv.DictReader(text))
            found = {"run": json.loads(ran.stdout)[-1],
                     "scores": [float(r["score"]) if r["score"] else None for r in rows],
                     "suggested": [r["suggested_label"] for r in rows]}
            write_text(out, json.dumps(found))
        found = json.loads(out.read_text(encoding="utf-8"))
        return Cleaned(np.array(found["scores"], dtype=np.float64), found["suggested"], found["run"])

    def built_in(self, d: Dataset, nodes: Path, splits: Path, seed: int) -> Path:
        """Predictions of the built-in base classifier trained on the labels of nodes."""
        given = self.files.graph(d)[2:]
        out = self.kept / f"built-in-{d.name}-{key(nodes, splits, *given)}-{seed}.npy"
        if not out.exists():
            with self.scratch() as scratch:
                store = scratch / "store"
                self.graphcleaner("import", store, "--nodes", nodes, *given, "--splits", splits)
                self.graphcleaner("predict", store, "--seed", str(seed), "--threads", str(self.threads))
                self.graphcleaner("export", store, "predictions", "--out", scratch / "p.npy")
                shutil.move(scratch / "p.npy", out)
        return out

    # What others find.

    def predictions(self, cell: Cell, model: str) -> Path:
        """Predictions of a model of graphcleaner.pyg trained on the noisy labels; its seed is the draw.

        They are kept for the same graph, code of training, versions of PyTorch and threads only.
        """
        splits, noisy = self.files.splits(cell.dataset), self.files.noisy_labels(cell)
        path = self.files.predictions(cell, model, self._made_of(cell.dataset, splits, noisy))
        if not path.exists():
            graph = self._graph(cell.dataset, splits)
            graph = replace(graph, labels=read_labels(noisy, graph))
            with _TORCH:
                print(f"{cell}: {model}", file=sys.stderr, flush=True)
                p = predict(graph, RECIPES[model], seed=cell.draw, threads=self.threads)
            write_predictions(path, p, graph)
        return path

    def fold_predictions(self, cell: Cell, recipe: Recipe, nodes: Path, folds: np.ndarray, stop: np.ndarray) -> Path:
        """Predictions of a network of graphcleaner.pyg trained on the labels of nodes, without those held out.

        folds [k, n] says who is held out in each of k trainings, stop [k, n] whose labels, of the others, are only
        watched to stop early. One training predicts all nodes; of several, each those that it held out.
        """
        parts = [repr(recipe), folds.tobytes().hex(), stop.tobytes().hex()]
        path = self.files.predictions(cell, "folds", self._made_of(cell.dataset, nodes, *parts))
        if path.exists():
            return path
        graph = self._graph(cell.dataset, None, nodes)
        p = np.zeros((graph.num_nodes, len(graph.classes)), np.float32)
        for held, watched in zip(folds, stop):
            splits = np.select([held, watched], [3, 2], 1).astype(np.int8)  # places of test, val and train
            with _TORCH:
                print(f"{cell}: {recipe.network}, {held.sum()} held out", file=sys.stderr, flush=True)
                some = predict(replace(graph, splits=splits), [recipe], seed=cell.draw, threads=self.threads)
            rows = held if len(folds) > 1 else np.ones_like(held)
            p[rows] = some[rows]
        write_predictions(path, p, graph)
        return path

    def scikit_predictions(self, cell: Cell, model: str, nodes: Path, folds: np.ndarray) -> Path:
        """The same of a classifier of user_classifiers.py."""
        script = Path(__file__).with_name("user_classifiers.py")
        made_of = self._made_of(cell.dataset, nodes, script, SCIKIT_LEARN, folds.tobytes().hex())
        path = self.files.predictions(cell, model, made_of)
        if not path.exists():
            print(f"{cell}: {model}, {len(folds)} trainings", file=sys.stderr, flush=True)
            graph = self._graph(cell.dataset, None, nodes)
            with self.scratch() as scratch:
                sparse.save_npz(scratch / "features.npz", sparse.csr_matrix(graph.features))
                sparse.save_npz(scratch / "adjacency.npz", graph.adjacency())
                np.savez(scratch / "task.npz", labels=graph.labels, classes=len(graph.classes), folds=folds)
                self._python(script, model, str(cell.draw), scratch)
                write_predictions(path, np.load(scratch / "p.npy", allow_pickle=False), graph)
        return path

    def accuracy(
        self, d: Dataset, labels: Path, splits: Path, recipes: Sequence[Recipe], seed: int, train_on_rest: bool = False
    ) -> float:
        """Test accuracy, by the labels of the data set, of a network of graphcleaner.pyg that was trained on labels."""
        asked = (repr(list(recipes)), str(seed), str(train_on_rest))
        path = self.files.work / d.name / f"accuracy-{self._made_of(d, labels, splits, *asked)}.txt"
        if not path.exists():
            graph = self._graph(d, splits)
            with _TORCH:
                p = predict(replace(graph, labels=read_labels(labels, graph)), recipes, seed=seed,
                            train_on_rest=train_on_rest, threads=self.threads)
            path.write_text(str(_test_accuracy(graph, p)), encoding="utf-8")
        return float(path.read_text(encoding="utf-8"))

    def accuracy_of_built_in(self, d: Dataset, nodes: Path, splits: Path, seed: int) -> float:
        """Test accuracy of the built-in base classifier on the labels of nodes."""
        graph = self._graph(d, splits, nodes)
        return _test_accuracy(graph, np.load(self.built_in(d, nodes, splits, seed), allow_pickle=False))

    def cleanlab(self, *args: str | Path) -> Ran:
        """Runs cleanlab_flags.py."""
        return self._python(Path(__file__).with_name("cleanlab_flags.py"), *args)

    def _python(self, *args: str | Path) -> Ran:
        """Runs a script in a virtual environment that has cleanlab and scikit-learn."""
        home = self.files.work / "venv-cleanlab"
        python, stamp = home / "bin" / "python", home / f"{CLEANLAB}-{SCIKIT_LEARN}"
        with _VENV:
            if not stamp.exists():
                venv.create(home, with_pip=True)
                run([str(python), "-I", "-m", "pip", "install", "--quiet", CLEANLAB, SCIKIT_LEARN])
                stamp.touch()
        return run([str(python), "-I", *map(str, args)], OMP_NUM_THREADS=str(self.threads))

    def _made_of(self, d: Dataset, *parts: str | Path) -> str:
        return key(*_TRAINING, torch.__version__, torch_geometric.__version__, str(self.threads),
                   *self.files.graph(d)[2:], *parts)

    def _graph(self, d: Dataset, splits: Path | None, nodes: Path | None = None):
        args = dict(zip(*[iter(self.files.graph(d))] * 2))
        return read_graph(nodes or args["--nodes"], args["--edges"], args.get("--features"), splits)

    def scratch(self) -> _Scratch:
        """A directory that is there while it is entered."""
        return _Scratch(dir=self.files.work)


class _Scratch(tempfile.TemporaryDirectory):
    """A temporary directory, as a Path."""

    def __enter__(self) -> Path:
        return Path(super().__enter__())


def write_text(path: Path, text: str) -> None:
    """The file is there whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def key(*parts: str | Path) -> str:
    """Twelve digits that tell apart words, and files by what they have in them."""
    digests = [hashlib.sha256(part.read_bytes() if isinstance(part, Path) else part.encode()) for part in parts]
    return hashlib.sha256(b"".join(digest.digest() for digest in digests)).hexdigest()[:12]


def _test_accuracy(graph, predictions: np.ndarray) -> float:
    test = (graph.splits == 3) & (graph.labels >= 0)
    return float(np.mean(predictions.argmax(axis=1)[test] == graph.labels[test]))
