"""Makes the tables of detection: markdown files in results/. See README.md beside it."""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
import torch_geometric

from datasets import DATASETS, KINDS, RATES, Cell, Dataset, Files
from programs import CLEANLAB, Programs

HERE = Path(__file__).parent
METRICS = (("f1", "f1", "F1"), ("mcc", "mcc", "MCC"), ("p_at_t_flagged", "p_at_t", "P@T"))
FAR = 0.1
NONE = "–"
METHODS = {  # of the paper's tables, as eval names them
    "baseline": "argmin",
    "DYB": "dyb",
    "AUM": "aum",
    "CL": "confident-learning",
    "GraphCleaner": "paper",
}
VARIANTS = {"L only": "labels-only", "P only": "predictions-only", "No CL": "no-transition", "full": "paper"}


class Maker:
    """Makes tables with programs; asked is the command line's wishes."""

    def __init__(self, programs: Programs, asked: argparse.Namespace):
        self.programs, self.files, self.asked = programs, programs.files, asked

    def cells(self, datasets: Iterable[str] = DATASETS) -> list[Cell]:
        names = [name for name in datasets if name in self.asked.datasets]
        return [Cell(DATASETS[name], kind, rate) for name in names for kind in KINDS for rate in self.asked.rates]

    def measure(self, cell: Cell, methods: list[str], model: str = "gcn") -> dict[str, dict]:
        """By method, on predictions of interop/pyg; on the structure alone where there are no features."""
        if not cell.dataset.has_features:
            return self.measure_built_in(cell, methods)
        return self.programs.eval(cell, methods, self.programs.predictions(cell, model, self.asked.seeds))

    def measure_built_in(self, cell: Cell, methods: list[str]) -> dict[str, dict]:
        """By method, on predictions of the built-in base classifier."""
        seeds = self.asked.seeds
        more = ["--seed", str(seeds[0]), "--repeats", "1", "--model-seeds", str(len(seeds))]
        return self.programs.eval(cell, methods, [], *more)

    # Tables. Each is a list of lines of markdown.

    def reproduction(self) -> list[str]:
        """Preset paper with a GCN's predictions beside the paper's GraphCleaner (its table 1)."""
        want = _published("table1.csv", "dataset", "noise", "rate", "method")
        rows, means, far = [], {}, []
        for cell in self.cells():
            got = self.measure(cell, ["paper"])["paper"]
            published = want[cell.dataset.name, cell.kind, cell.rate, "GraphCleaner"]
            rows.append([_name(cell), *_compared(got["mean"], published), *_spread(got)])
            group = "features" if cell.dataset.has_features else "structure alone"
            means.setdefault(group, []).append((got["mean"], published))
            far += [f"{cell} {label} {got['mean'][key]:.3f}, paper {published[column]:.3f}"
                    for key, column, label in METRICS
                    if abs(got["mean"][key] - published[column]) > FAR]
        for group, pairs in means.items():
            rows.append([f"**mean of {len(pairs)} cells, {group}**", *_compared(*_mean_pair(pairs)), "", "", ""])
        header = ["cell", *_columns(), "std F1", "std MCC", "P@T uncapped"]
        lines = _markdown(header, rows)
        if far:
            lines += ["", f"Cells off by more than {FAR}:", "", *(f"- {line}" for line in far)]
        return lines

    def competitors(self) -> list[str]:
        """The paper's competitors on the predictions of the reproduction, beside its numbers."""
        want = _published("table1.csv", "dataset", "noise", "rate", "method")
        return self._side_by_side(
            ["baseline", "CL", "DYB", "AUM"], lambda cell, name: want[cell.dataset.name, cell.kind, cell.rate, name]
        )

    def classifiers(self) -> list[str]:
        """Preset paper and its competitors with GIN and GraphUNet (table 2).

        Without AUM: eval's watches the built-in classifier as it learns, not these.
        """
        want = _published("table2.csv", "dataset", "base_classifier", "noise", "rate", "method")
        rows = []
        for model in ("GIN", "GraphUNet"):
            for name in ("cora", "computers"):
                if name not in self.asked.datasets:
                    continue
                cell = Cell(DATASETS[name], "sym", "0.1")
                methods = {title: method for title, method in METHODS.items() if method != "aum"}
                got = self.measure(cell, list(methods.values()), model.lower())
                rows += [[f"{_name(cell)}, {model}", title,
                          *_compared(got[method]["mean"], want[name, model, "sym", "0.1", title])]
                         for title, method in methods.items()]
        return _markdown(["cell", "method", *_columns()], rows)

    def ablation(self) -> list[str]:
        """Preset paper without some of its parts (table 3), and by the number of hops."""
        want = _published("table3.csv", "dataset", "noise", "rate", "variant")
        hops = [f"hops-{k}" for k in range(1, 6)]
        rows, by_hops = [], []
        for name in ("cora", "computers", "ogbn-arxiv"):
            for kind in KINDS:
                if name not in self.asked.datasets:
                    continue
                cell = Cell(DATASETS[name], kind, "0.1")
                methods = [*VARIANTS.values()] + (hops if cell.dataset.has_features else [])
                got = self.measure(cell, methods)
                rows += [[_name(cell), title, *_compared(got[method]["mean"], want[name, kind, "0.1", title])]
                         for title, method in VARIANTS.items()]
                if cell.dataset.has_features:
                    by_hops.append([_name(cell), *(_number(got[method]["mean"]["f1"]) for method in hops)])
        return [*_markdown(["cell", "variant", *_columns()], rows), "", "F1 by the number of hops:", "",
                *_markdown(["cell", *(f"K = {k}" for k in range(1, 6))], by_hops)]

    def ahead(self) -> list[str]:
        """Preset default with the built-in base classifier beside the paper's GraphCleaner."""
        return self._beside_graphcleaner(self.cells(), lambda cell: self.measure_built_in(cell, ["default"]))

    def few(self) -> list[str]:
        """Preset default with the built-in base classifier trained on the 20 labels a class of the public split alone."""

        def measure(cell: Cell) -> dict[str, dict]:
            noisy, splits = self.files.noisy_in_splits(cell), self.files.splits(cell.dataset)
            made = [self.programs.built_in(cell.dataset, noisy, splits, seed) for seed in self.asked.seeds]
            return self.programs.eval(cell, ["default"], made)

        return self._beside_graphcleaner(self.cells(("cora", "citeseer", "pubmed")), measure)

    def same(self) -> list[str]:
        """Preset default and the competitors on the same labels and predictions, those of the built-in base classifier."""
        methods = ["default", "paper", "confident-learning", "dyb", "aum", "argmin", "argmax", "loss-mixture",
                   "label-vote", "confident-vote", "influence-contradiction"]
        rows, below = [], []
        for name in self.asked.datasets:
            found = [self.measure_built_in(cell, methods) for cell in self.cells([name])]
            means = {method: [np.mean([got[method]["mean"][key] for got in found]) for key, _, _ in METRICS]
                     for method in methods}
            rows += [[f"{name}{_mark(DATASETS[name])}", method, *map(_number, means[method])] for method in methods]
            below += [f"{name} {label} {ours:.3f}, {method} {theirs:.3f}"
                      for method in methods[1:]
                      for (_, _, label), ours, theirs in zip(METRICS, means["default"], means[method])
                      if ours <= theirs]
        cells = f"mean of {len(KINDS) * len(self.asked.rates)} cells"
        lines = _markdown([cells, "method", *(label for _, _, label in METRICS)], rows)
        return lines + ["", "Means of default that are not above:", "", *(f"- {line}" for line in below or ["none"])]

    def cleanlab(self) -> list[str]:
        """Flags of confident-learning and of cleanlab on the same predictions, node for node."""
        compared, args = {}, []
        for cell in self.cells():
            p, given, ours = self._confident(cell)
            theirs = self.files.work / f"cleanlab-{cell}.csv"
            compared[cell] = (p, given, ours, theirs)
            args += [given, p, theirs]
        self.programs.cleanlab(*args)
        rows = []
        for cell, (p, given, ours, theirs) in compared.items():
            a, b = _flags(ours), _flags(theirs)
            if a.keys() != b.keys():
                raise RuntimeError(f"{cell}: graphcleaner and cleanlab were not given the same nodes")
            both = sum(a[v] and b[v] for v in a)
            rows.append([_name(cell), len(a), both, sum(a.values()) - both, sum(b.values()) - both,
                         _twins(a, b, given, p)])
        header = ["cell", "test nodes", "flagged by both", "graphcleaner alone", "cleanlab alone", "of these twins"]
        return [*_markdown(header, rows), "", "Twins are nodes with the same given label and, bit for bit, the same "
                "predictions, of which graphcleaner flags one and cleanlab another: not all of them may be flagged."]

    def cost(self) -> list[str]:
        """Seconds and peak memory of each method on ogbn-arxiv, on the same predictions as cleanlab."""
        cell = Cell(DATASETS["ogbn-arxiv"], "sym", "0.1")
        p, given, _ = self._confident(cell)
        rows = []
        for method in ("default", "paper", *(m for m in METHODS.values() if m != "paper"), "argmax"):
            stats = self.files.work / "cost.json"
            args = ["eval", *self.files.graph(cell.dataset), "--splits", self.files.splits(cell.dataset)]
            args += ["--noise", f"file:{self.files.noisy_labels(cell)}", "--predictions", p, "--method", method]
            ran = self.programs.graphcleaner(*args, "--stats", stats, "--threads", self.programs.threads)
            stages = json.loads(stats.read_text(encoding="utf-8"))["stages"]
            seconds = sum(stage["seconds"] for stage in stages if stage["name"] == method)
            rows.append([f"graphcleaner {method}", f"{seconds:.2f}", f"{ran.seconds:.1f}", f"{ran.cpu_seconds:.1f}",
                         _mib(ran.peak_bytes)])
        out = self.files.work / "cost-cleanlab.csv"
        ran = self.programs.cleanlab(given, p, out)
        rows.append([f"cleanlab {CLEANLAB.partition('==')[2]} find_label_issues", f"{float(ran.stdout):.2f}",
                     f"{ran.seconds:.1f}", f"{ran.cpu_seconds:.1f}", _mib(ran.peak_bytes)])
        header = ["method", "seconds of the method", "of the process", "CPU seconds", "peak memory, MiB"]
        threads = f"{self.programs.threads} thread(s). The process reads its files, graphcleaner imports the graph too."
        return [threads, "", *_markdown(header, rows)]

    def accuracy(self) -> list[str]:
        """Test accuracy of the built-in base classifier and of a well-tuned GCN on clean labels, the same splits."""
        rows = []
        for name in self.asked.datasets:
            d = DATASETS[name]
            if not d.has_features:
                continue
            for title, draw in self._accuracy_splits(d):
                ours, theirs = [], []
                for seed in self.asked.seeds:
                    nodes, splits = draw(seed)
                    ours.append(100 * self.programs.accuracy_of_built_in(d, nodes, splits, seed))
                    theirs.append(100 * self.programs.accuracy_of_tuned(d, nodes, splits, seed))
                rows.append([name, title, _accuracy(ours), _accuracy(theirs),
                             f"{np.mean(ours) - np.mean(theirs):+.1f}"])
        return _markdown(["data set", "split", "built-in, %", "tuned GCN, %", "difference"], rows)

    # Parts of tables.

    def _beside_graphcleaner(self, cells: Iterable[Cell], measure) -> list[str]:
        """Preset default as measure has it, by method, and what is not above the paper's GraphCleaner."""
        want = _published("table1.csv", "dataset", "noise", "rate", "method")
        rows, means, below = [], {}, []
        for cell in cells:
            got = measure(cell)["default"]
            published = want[cell.dataset.name, cell.kind, cell.rate, "GraphCleaner"]
            rows.append([_name(cell), *_compared(got["mean"], published), *_spread(got), _number(got["mean"]["ece"])])
            group = "features" if cell.dataset.has_features else cell.dataset.name + ", structure alone"
            means.setdefault(group, []).append((got["mean"], published))
            below += [f"{cell} {label} {got['mean'][key]:.3f}, paper {published[column]:.3f}"
                      for key, column, label in METRICS if got["mean"][key] <= published[column]]
        for group, pairs in means.items():
            rows.append([f"**mean of {len(pairs)} cells, {group}**", *_compared(*_mean_pair(pairs)), "", "", "", ""])
        lines = _markdown(["cell", *_columns(), "std F1", "std MCC", "P@T uncapped", "ECE"], rows)
        return lines + ["", "Cells that are not above:", "", *(f"- {line}" for line in below or ["none"])]

    def _side_by_side(self, titles: list[str], published) -> list[str]:
        rows = []
        for cell in self.cells():
            got = self.measure(cell, [METHODS[title] for title in titles])
            rows += [[_name(cell), title, *_compared(got[METHODS[title]]["mean"], published(cell, title))]
                     for title in titles]
        return _markdown(["cell", "method", *_columns()], rows)

    def _confident(self, cell: Cell) -> tuple[Path, Path, Path]:
        """Predictions, the given labels under test as csv id,row,label, and what confident-learning flags of them."""
        d, work, seed = cell.dataset, self.files.work, self.asked.seeds[0]
        if d.has_features:
            p = self.programs.predictions(cell, "gcn", [seed])[0]
        else:
            noisy = self.files.noisy_labels(cell)
            p = self.programs.built_in(d, noisy, self.files.splits(d), seed)
        flags = work / f"flags-{cell}.csv"
        self.programs.graphcleaner(
            "eval", *self.files.graph(d), "--splits", self.files.splits(d), "--noise",
            f"file:{self.files.noisy_labels(cell)}", "--predictions", p, "--method", "confident-learning", "--flags",
            flags, "--threads", self.programs.threads)
        ids, _, classes = self.files.labels(d)
        row = {v: i for i, v in enumerate(ids)}
        number = {name: j for j, name in enumerate(_class_order(classes))}
        given = work / f"given-{cell}.csv"
        with open(flags, encoding="utf-8", newline="") as text, open(given, "w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(["id", "row", "label"])
            for r in csv.DictReader(text):
                writer.writerow([r["id"], row[r["id"]], number[r["given_label"]]])
        return p, given, flags

    def _accuracy_splits(self, d: Dataset):
        """Titles, and functions from a seed to the files of nodes and splits."""
        nodes = self.files.source(d, "nodes.csv")
        if not d.split_by_index:
            yield "public, 20 a class", lambda seed: (self.files.labelled_only(d), self.files.splits(d))
            yield "public, all but validation and test", lambda seed: (nodes, self.files.splits(d))
            return
        yield "random, 20 a class", lambda seed: (nodes, self.files.splits_by_class(d, seed))
        yield "60/20/20 in file order", lambda seed: (nodes, self.files.splits(d))


TABLES = ("reproduction", "competitors", "classifiers", "ablation", "ahead", "few", "same", "cleanlab", "cost", "accuracy")


def _published(name: str, *key: str) -> dict[tuple[str, ...], dict[str, float]]:
    with open(HERE / "paper" / name, encoding="utf-8", newline="") as text:
        return {tuple(r[k] for k in key): {m: float(r[m]) for m in ("f1", "mcc", "p_at_t")}
                for r in csv.DictReader(text)}


def _class_order(names: list[str]) -> list[str]:
    from graphcleaner_pyg.files import class_order

    return class_order(set(names))


def _flags(path: Path) -> dict[str, bool]:
    with open(path, encoding="utf-8", newline="") as text:
        return {r["id"]: r["flagged"] == "1" for r in csv.DictReader(text)}


def _twins(ours: dict[str, bool], theirs: dict[str, bool], given: Path, predictions: Path) -> int:
    """How many nodes that one program alone flags are matched by an equal one that the other alone flags."""
    p = np.load(predictions, allow_pickle=False)
    alone = {True: Counter(), False: Counter()}
    with open(given, encoding="utf-8", newline="") as text:
        for r in csv.DictReader(text):
            if ours[r["id"]] != theirs[r["id"]]:
                alone[ours[r["id"]]][r["label"], p[int(r["row"])].tobytes()] += 1
    return 2 * (alone[True] & alone[False]).total()


def _columns() -> list[str]:
    return [part for _, _, label in METRICS for part in (label, "paper", "Δ")]


def _compared(got: dict, published: dict) -> list[str]:
    """Ours, the paper's, and the difference, of each metric."""
    parts = []
    for key, column, _ in METRICS:
        delta = got[key] - published[column]
        sign = f"{delta:+.3f}"
        parts += [_number(got[key]), _number(published[column]), f"**{sign}**" if abs(delta) > FAR else sign]
    return parts


def _spread(got: dict) -> list[str]:
    """Standard deviations, which a single repeat has not, and the P@T without regard to the flags."""
    several = len(got["repeats"]) > 1
    return [*(_number(got["std"][key]) if several else NONE for key in ("f1", "mcc")), _number(got["mean"]["p_at_t"])]


def _accuracy(some: list[float]) -> str:
    spread = f"{np.std(some, ddof=1):.1f}" if len(some) > 1 else NONE
    return f"{np.mean(some):.1f} ± {spread}"


def _mark(d: Dataset) -> str:
    return "" if d.has_features else " (structure)"


def _name(cell: Cell) -> str:
    return f"{cell.dataset.name}{_mark(cell.dataset)} {cell.kind} {float(cell.rate):.1%}"


def _mean_pair(pairs: list[tuple[dict, dict]]) -> tuple[dict, dict]:
    ours = {key: float(np.mean([got[key] for got, _ in pairs])) for key, _, _ in METRICS}
    paper = {column: float(np.mean([want[column] for _, want in pairs])) for _, column, _ in METRICS}
    return ours, paper


def _number(value: float) -> str:
    return f"{value:.3f}"


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.0f}"


def _markdown(header: list[str], rows: list[list]) -> list[str]:
    return ["| " + " | ".join(map(str, row)) + " |" for row in (header, ["---"] * len(header), *rows)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="docs/detection/run", description=__doc__)
    parser.add_argument("tables", nargs="+", choices=TABLES, metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--datasets", nargs="+", choices=list(DATASETS), default=list(DATASETS))
    parser.add_argument("--rates", nargs="+", choices=RATES, default=list(RATES), help="of noise (all)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="of the base classifier (1 2 3)")
    parser.add_argument("--threads", type=int, default=1, help="of each program (1)")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="where the tables go (%(default)s)")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "graphcleaner-detection"
    parser.add_argument("--work", type=Path, default=cache, help="where predictions and results are kept (%(default)s)")
    asked = parser.parse_args()
    data = os.environ.get("GRAPHCLEANER_DATA")
    if not data:
        sys.exit("docs/detection/run: want GRAPHCLEANER_DATA, the directory of the data sets")

    asked.work.mkdir(parents=True, exist_ok=True)
    programs = Programs(Files(Path(data), asked.work.resolve()), Path(os.environ["GRAPHCLEANER"]), asked.threads)
    maker = Maker(programs, asked)
    asked.out.mkdir(parents=True, exist_ok=True)
    for name in asked.tables:
        make = getattr(maker, name)
        lines = make()
        seeds = " ".join(map(str, asked.seeds))
        stamp = (f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}, {programs.version()}, seeds {seeds}, torch "
                 f"{torch.__version__}, torch_geometric {torch_geometric.__version__}.")
        command = f"docs/detection/run {name} --seeds {seeds}"
        if asked.datasets != list(DATASETS):
            command += f" --datasets {' '.join(asked.datasets)}"
        if asked.rates != list(RATES):
            command += f" --rates {' '.join(asked.rates)}"
        text = [f"# {make.__doc__.splitlines()[0]}", "", stamp, f"Made by `{command}`.", "", *lines]
        (asked.out / f"{name}.md").write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
