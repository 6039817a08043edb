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

import numpy as np
from graphcleaner_pyg import RECIPES, predict, read_graph, read_labels, write_predictions

from datasets import Cell, Dataset, Files

CLEANLAB = "cleanlab==2.9.0"


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
    """binary is graphcleaner; what it found is kept for the same binary only."""

    def __init__(self, files: Files, binary: Path, threads: int):
        self.files, self.binary, self.threads = files, binary, threads
        digest = hashlib.sha256(binary.read_bytes()).hexdigest()[:12]
        self.kept = files.work / "results" / digest
        self.kept.mkdir(parents=True, exist_ok=True)

    def version(self) -> str:
        """That of the binary, and the commit of the tree that the tables are made in."""
        here = Path(__file__).parent
        commit = run(["git", "-C", str(here), "describe", "--always", "--dirty"]).stdout.strip()
        return f"{self.graphcleaner('--version').stdout.strip()} at {commit}"

    def graphcleaner(self, *args: str | Path) -> Ran:
        return run([str(self.binary), *map(str, args)])

    def eval(self, cell: Cell, methods: list[str], predictions: list[Path], *more: str) -> dict[str, dict]:
        """What `eval` measures of methods on a cell, by method: mean, std and repeats.

        Predictions are files, one a seed; with none, the built-in base classifier makes them.
        """
        args = ["eval", *self.files.graph(cell.dataset), "--splits", str(self.files.splits(cell.dataset))]
        args += ["--noise", f"file:{self.files.noisy_labels(cell)}", "--format", "json", *more]
        for path in predictions:
            args += ["--predictions", str(path)]
        for method in methods:
            args += ["--method", method]
        path = self.kept / f"{cell}-{hashlib.sha256(' '.join(args).encode()).hexdigest()[:12]}.json"
        if not path.exists():
            print(f"{cell}: {', '.join(methods)}", file=sys.stderr, flush=True)
            ran = self.graphcleaner(*args, "--threads", str(self.threads))
            path.write_text(ran.stdout, encoding="utf-8")
        return {m["name"]: m for m in json.loads(path.read_text(encoding="utf-8"))["methods"]}

    def predictions(self, cell: Cell, model: str, seeds: list[int]) -> list[Path]:
        """Predictions of a model of interop/pyg trained on the noisy labels, a file a seed."""
        paths = [self.files.predictions(cell, model, seed) for seed in seeds]
        if all(path.exists() for path in paths):
            return paths
        graph = self._graph(cell.dataset, self.files.splits(cell.dataset))
        graph = replace(graph, labels=read_labels(self.files.noisy_labels(cell), graph))
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
        key = hashlib.sha256(" ".join([str(nodes), str(splits), *given]).encode()).hexdigest()[:12]
        out = self.kept / f"built-in-{d.name}-{key}-{seed}.npy"
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


def _test_accuracy(graph, predictions: np.ndarray) -> float:
    test = (graph.splits == 3) & (graph.labels >= 0)
    return float(np.mean(predictions.argmax(axis=1)[test] == graph.labels[test]))
