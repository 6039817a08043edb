"""The table of seconds and memory."""

from __future__ import annotations

import json

from bench import Bench
from datasets import DATASETS, Cell
from figures import markdown
from programs import CLEANLAB, Programs, Ran
from tables.cleanlab import confident
from tables.paper import METHODS


def cost(bench: Bench) -> list[str]:
    """Seconds and peak memory on ogbn-arxiv: of clean, and of each method on the same predictions as cleanlab."""
    cell = Cell(DATASETS["ogbn-arxiv"], "sym", "0.1")
    rows = _cleans(bench, cell)
    p, given, _ = confident(bench, cell)
    methods = ("default", "paper", *(m for m in METHODS.values() if m != "paper"), "argmax")
    for method in methods:
        rows.append([f"{method}, given predictions", *_method(bench, bench.programs, cell, p, method)])
        if method == "default" and bench.beside:
            rows += _beside(rows, _method(bench, bench.beside, cell, p, method), f"{method}, given predictions")
    out = bench.files.work / "cost-cleanlab.csv"
    ran = bench.programs.cleanlab(given, p, out)
    rows.append([f"cleanlab {CLEANLAB.partition('==')[2]} find_label_issues", float(ran.stdout), *_process(ran)])
    lines = [f"{bench.programs.threads} thread(s). The process reads its files; under eval it imports the graph too."]
    if bench.beside:
        lines.append(f"Other binary: {bench.beside.version()}.")
    header = ["what", "seconds of the method", "of the process", "CPU seconds", "peak memory, MiB"]
    return [*lines, "", *markdown(header, [[row[0], *_text(row[1:])] for row in rows])]


def _cleans(bench: Bench, cell: Cell) -> list[list]:
    rows = []
    for programs in (bench.programs, bench.beside):
        if programs is None:
            continue
        with programs.scratch() as scratch:
            store = scratch / "store"
            programs.graphcleaner("import", store, "--nodes", bench.files.noisy_labels(cell),
                                  *bench.files.graph(cell.dataset)[2:])
            ran = programs.graphcleaner("clean", store, "--threads", programs.threads, "--memory", "2GiB")
        figures = [float("nan"), *_process(ran)]
        rows += _beside(rows, figures, "clean") if rows else [["clean --memory 2GiB", *figures]]
    return rows


def _method(bench: Bench, programs: Programs, cell: Cell, p, method: str) -> list[float]:
    """Seconds of a method and figures of the process that measured it."""
    stats = bench.files.work / "cost.json"
    args = ["eval", *bench.files.graph(cell.dataset), "--splits", bench.files.splits(cell.dataset)]
    args += ["--noise", f"file:{bench.files.noisy_labels(cell)}", "--predictions", p, "--method", method]
    ran = programs.graphcleaner(*args, "--stats", stats, "--threads", programs.threads)
    stages = json.loads(stats.read_text(encoding="utf-8"))["stages"]
    return [sum(stage["seconds"] for stage in stages if stage["name"] == method), *_process(ran)]


def _beside(rows: list[list], theirs: list[float], what: str) -> list[list]:
    """Rows of another binary's figures and of ours, the last of rows, over them."""
    return [[f"{what}, other binary", *theirs],
            [f"{what}, ratio", *(a / b if b else float("nan") for a, b in zip(rows[-1][1:], theirs))]]


def _process(ran: Ran) -> list[float]:
    return [ran.seconds, ran.cpu_seconds, ran.peak_bytes / (1 << 20)]


def _text(figures: list[float]) -> list[str]:
    return ["–" if figure != figure else f"{figure:.2f}" if figure < 100 else f"{figure:.0f}" for figure in figures]
