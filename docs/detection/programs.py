"""Runs graphcleaner, cleanlab and the classifiers of interop/pyg, and keeps what they found."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass, replace
from pathlib import Path

import graphcleaner_pyg
import numpy as np
import torch
import torch_geometric
from graphcleaner_pyg import RECIPES, predict, read_graph, read_labels, write_predictions

from datasets import Cell, Dataset, Files

CLEANLAB = "cleanlab==2.9.0"
_TRAINING = [Path(graphcleaner_pyg.__file__).with_name(name) for name in ("files.py", "models.py", "training.py")]


@dataclass(frozen=True)
class Ran:
    """What a process wrote, its wall time, its time on processors, and the most memory that it held."""

    stdout: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int


def run(args: list[str]) -> Ran:
    """Runs a process to its end; a failure is a RuntimeError that has the command line."""
    with tempfile.TemporaryDirectory() as scratch:
        took = Path(scratch) / "took.json"
        measured = [sys.executable, str(Path(__file__).with_name("measured.py")), str(took)]
        child = subprocess.run(measured + args, stdout=subprocess.PIPE, text=True, check=True)
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

    def eval(self, cell: Cell, methods: list[str], predictions: list[Path], *more: str) -> dict[str, dict]:
        """What `eval` measures of methods on a cell, by method: mean, std and repeats.

        Predictions are files, one a seed; with none, the built-in base classifier makes them.
        """
        noisy = self.files.noisy_labels(cell)
        args = ["eval", *self.files.graph(cell.dataset), "--splits", self.files.splits(cell.dataset)]
        args += ["--format", "json", *more]
        for path in predictions:
            args += ["--predictions", path]
        for method in methods:
            args += ["--method", method]
        path = self.kept / f"{cell}-{key(*args, '--noise', noisy)}.json"
        if not path.exists():
            print(f"{cell}: {', '.join(methods)}", file=sys.stderr, flush=True)
            ran = self.graphcleaner(*args, "--noise", f"file:{noisy}", "--threads", str(self.threads))
            part = path.with_name(path.name + ".part")
            part.write_text(ran.stdout, encoding="utf-8")
            part.replace(path)
        return {m["name"]: m for m in json.loads(path.read_text(encoding="utf-8"))["methods"]}

    def predictions(self, cell: Cell, model: str, seeds: list[int]) -> list[Path]:
        """Predictions of a model of interop/pyg trained on the noisy labels, a file a seed.

        They are kept for the same graph, code of training, versions of PyTorch and threads only.
        """
        splits, noisy = self.files.splits(cell.dataset), self.files.noisy_labels(cell)
        made_of = key(*_TRAINING, torch.__version__, torch_geometric.__version__, str(self.threads),
                      *self.files.graph(cell.dataset), "--splits", splits, "--labels", noisy)
        paths = [self.files.predictions(cell, model, seed, made_of) for seed in seeds]
        if all(path.exists() for path in paths):
            return paths
        graph = self._graph(cell.dataset, splits)
        graph = replace(graph, labels=read_labels(noisy, graph))
        for seed, path in zip(seeds, paths):
            if not path.exists():
                print(f"{cell}: {model}, seed {seed}", file=sys.stderr, flush=True)
                p = predict(graph, RECIPES[model], seed=seed, threads=self.threads)
                write_predictions(path, p, graph)
        return paths

    def accuracy_of_tuned(self, d: Dataset, nodes: Path, splits: Path, seed: int) -> float:
        """Test accuracy of the well-tuned GCN of interop/pyg on the labels of nodes."""
        graph = self._graph(d, splits, nodes)
        p = predict(graph, RECIPES["gcn-tuned"], seed=seed, train_on_rest=True, threads=self.threads)
        return _test_accuracy(graph, p)

    def accuracy_of_built_in(self, d: Dataset, nodes: Path, splits: Path, seed: int) -> float:
        """Test accuracy of the built-in base classifier on the labels of nodes."""
        graph = self._graph(d, splits, nodes)
        return _test_accuracy(graph, np.load(self.built_in(d, nodes, splits, seed), allow_pickle=False))

    def built_in(self, d: Dataset, nodes: Path, splits: Path, seed: int) -> Path:
        """Predictions of the built-in base classifier trained on the labels of nodes."""
        given = self.files.graph(d)[2:]
        out = self.kept / f"built-in-{d.name}-{key(nodes, splits, *given)}-{seed}.npy"
        if not out.exists():
            store = out.with_suffix(".graph")
            self.graphcleaner("import", store, "--nodes", nodes, *given, "--splits", splits, "--replace", "--yes")
            self.graphcleaner("predict", store, "--seed", str(seed), "--threads", str(self.threads))
            self.graphcleaner("export", store, "predictions", "--out", out)
            shutil.rmtree(store)
        return out

    def cleanlab(self, *args: str | Path) -> Ran:
        """Runs cleanlab_flags.py in a virtual environment that has cleanlab."""
        home = self.files.work / "venv-cleanlab"
        python = home / "bin" / "python"
        if not (home / CLEANLAB).exists():
            venv.create(home, with_pip=True)
            run([str(python), "-m", "pip", "install", "--quiet", CLEANLAB])
            (home / CLEANLAB).touch()
        return run([str(python), str(Path(__file__).with_name("cleanlab_flags.py")), *map(str, args)])

    def _graph(self, d: Dataset, splits: Path, nodes: Path | None = None):
        args = dict(zip(*[iter(self.files.graph(d))] * 2))
        return read_graph(nodes or args["--nodes"], args["--edges"], args.get("--features"), splits)


def key(*parts: str | Path) -> str:
    """Twelve digits that tell apart words, and files by what they have in them."""
    digests = [hashlib.sha256(part.read_bytes() if isinstance(part, Path) else part.encode()) for part in parts]
    return hashlib.sha256(b"".join(digest.digest() for digest in digests)).hexdigest()[:12]


def _test_accuracy(graph, predictions: np.ndarray) -> float:
    test = (graph.splits == 3) & (graph.labels >= 0)
    return float(np.mean(predictions.argmax(axis=1)[test] == graph.labels[test]))
