"""Simulates audits, and counts how often the told intervals hold.

    GRAPHCLEANER_DATA=/path/to/data nice python3 docs/detection/audit.py [--seeds 200] [--work DIR] [--disturbed]

A cell is a data set with wrong labels: those of a language model, or those that `eval` injects. For each seed it copies the
cleaned store of the cell, draws with `audit`, answers by the true labels, and reads what the statement audit tells at 25, 50, 100
and 200 draws. Results are added to results/audit.csv, cell after cell: run it again, and it continues. The table is
results/audit.md. It needs Go, and no package of Python.

With --disturbed, a tenth of the draws is unsure, the 20 first suspects are decided in the ordinary queue, two people
answer, and one answer is taken back and given again. The results go to audit_disturbed.csv.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import random
import re
import shutil
import statistics
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DATA = Path(os.environ.get("GRAPHCLEANER_DATA", "."))
LOOKS = (25, 50, 100, 200)
KINDS = ("sym", "feature", "cluster", "confidence", "topology", "instance")
GRAPHS = ("cora", "citeseer", "amazon_photo", "amazon_computers")
FIELDS = "data noise seed look labels rate low high truth f1 own_f1".split()


class Cell(NamedTuple):
    data: str
    noise: str  # "natural", or a kind and a rate


CELLS = [Cell("cora_llm", "natural"), Cell("pubmed_llm", "natural")] + [
    Cell(data, f"{kind}:{rate}") for data in GRAPHS for kind in KINDS for rate in ("0.1", "0.3")]


def run(*args: str | Path, given: str | None = None) -> str:
    done = subprocess.run([str(a) for a in args], input=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, args))}: {done.stderr}")
    return done.stdout


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def file_of(data: str, name: str) -> Path | None:
    """A file of a data set, or None. One with the labels of a language model may lack what its graph has."""
    for folder in (data, data.removesuffix("_llm")):
        if (DATA / folder / "csv" / name).exists():
            return DATA / folder / "csv" / name
    return None


class Bench:
    def __init__(self, work: Path, results: Path, disturbed: bool):
        self.work, self.results, self.disturbed = work, results, disturbed
        self.program = work / "graphcleaner"
        work.mkdir(parents=True, exist_ok=True)
        run("go", "-C", ROOT, "build", "-buildvcs=false", "-o", self.program, ".")
        if not results.exists():
            results.write_text(",".join(FIELDS) + "\n", encoding="utf-8")

    def flags(self, data: str) -> list[str | Path]:
        features = file_of(data, "features.npz")
        return ["--edges", file_of(data, "edges.csv"), *(["--features", features] if features else [])]

    def labels(self, cell: Cell) -> tuple[Path, dict[str, str]]:
        """A file with the given labels, and the true ones by id."""
        nodes = file_of(cell.data, "nodes.csv")
        if cell.noise == "natural":
            return nodes, {row["id"]: row["label"] for row in rows(file_of(cell.data, "truth.csv"))}
        truth = {row["id"]: row["label"] for row in rows(nodes)}
        noisy = self.work / f"{cell.data}-{cell.noise.replace(':', '-')}.csv"
        if not noisy.exists():
            given, halves, flags = {}, self.work / "halves.csv", self.work / "flags.csv"
            for half in (0, 1):  # eval writes the labels of test nodes alone
                halves.write_text("id,split\n" + "".join(
                    f"{id},{'test' if i % 2 == half else 'train'}\n" for i, id in enumerate(truth)), encoding="utf-8")
                flags.unlink(missing_ok=True)
                run(self.program, "--quiet", "eval", "--nodes", nodes, *self.flags(cell.data), "--noise", cell.noise,
                    "--repeats", 1, "--seed", 1, "--splits", halves, "--method", "argmax", "--flags", flags)
                given |= {row["id"]: row["given_label"] for row in rows(flags)}
            noisy.write_text("id,label\n" + "".join(f"{id},{given.get(id, '')}\n" for id in truth), encoding="utf-8")
        return noisy, truth

    def measure(self, cell: Cell, seeds: int) -> None:
        done = {int(row["seed"]) for row in rows(self.results) if (row["data"], row["noise"]) == cell}
        if len(done) >= seeds:
            return
        print(f"{cell.data}, {cell.noise}", file=sys.stderr, flush=True)
        nodes, truth = self.labels(cell)
        store, scores = self.work / "store.graph", self.work / "scores.csv"
        shutil.rmtree(store, ignore_errors=True)
        run(self.program, "--quiet", "import", store, "--nodes", nodes, *self.flags(cell.data))
        run(self.program, "--quiet", "clean", store)
        run(self.program, "--quiet", "export", store, "scores", "--out", scores)
        scored = sorted((row for row in rows(scores) if row["score"]), key=lambda row: -float(row["score"]))
        isWrong = [truth[row["id"]] != row["given_label"] for row in scored]
        wrong = {row["id"]: is_ for row, is_ in zip(scored, isWrong)}
        number = sum(isWrong)
        own = 2 * sum(isWrong[:number]) / (2 * number) if number else 1.0
        queue = [row["id"] for row in scored[:20]]
        with open(self.results, "a", encoding="utf-8", newline="") as text:
            writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
            for seed in sorted(set(range(1, seeds + 1)) - done):
                for told in self.audit(store, truth, queue, seed):
                    writer.writerow({
                        "data": cell.data, "noise": cell.noise, "seed": seed, "labels": len(scored),
                        "truth": f"{number / len(scored):.6f}", "own_f1": f"{own:.4f}", **told,
                        "f1": f"{self.f1(told.pop('suspects', None), wrong):.4f}" if "suspects" in told else ""})
                text.flush()

    @staticmethod
    def f1(suspects: list[str] | None, wrong: dict[str, bool]) -> float:
        hits = sum(wrong.get(id, False) for id in suspects or ())
        return 2 * hits / max(1, len(suspects or ()) + sum(wrong.values()))

    def audit(self, store: Path, truth: dict[str, str], queue: list[str], seed: int) -> list[dict]:
        """What one audit tells at each look."""
        copy, chance = self.work / "copy.graph", random.Random(seed)
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(store, copy)
        draws = list(csv.DictReader(run(
            self.program, "--quiet", "audit", copy, "--size", LOOKS[-1], "--seed", seed, "--draws", "-").splitlines()))

        told, first = [], 0
        if self.disturbed:  # the queue goes first, and settles the draws in it
            self.say(copy, "queue", [row for row in draws if row["id"] in set(queue)], truth, chance)
        for i, look in enumerate(LOOKS):
            if first >= len(draws):
                break
            who, batch = ("ann", "bob")[i % 2], draws[first:look]
            self.say(copy, who, batch[:-1], truth, chance)
            self.say(copy, who, batch[-1:], truth, chance)
            if self.disturbed:
                run(self.program, "--quiet", "shell", copy, "--who", who, "-c", "undo")
                self.say(copy, who, batch[-1:], truth, chance)
            state = json.loads(run(self.program, "--quiet", "audit", copy, "--format", "json"))
            told.append({name: state[name] for name in ("look", "rate", "low", "high")})
            first = look
        return told

    def say(self, store: Path, who: str, draws: list[dict], truth: dict[str, str], chance: random.Random) -> None:
        """Answers draws by the true labels, in one step or two."""
        unsure = [self.disturbed and chance.random() < 0.1 for _ in draws]
        if any(unsure):
            ids = ", ".join(quoted(row["id"]) for row, is_ in zip(draws, unsure) if is_)
            run(self.program, "--quiet", "shell", store, "--who", who, "-c", "unsure " + ids)
        file = self.work / "answers.csv"
        file.write_text("id,label,who\n" + "".join(
            f"{row['id']},{truth[row['id']]},{who}\n" for row, is_ in zip(draws, unsure) if not is_), encoding="utf-8")
        if not all(unsure):
            run(self.program, "--quiet", "import", store, "--decisions", file)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def table(found: list[dict[str, str]], seeds: int, disturbed: bool) -> str:
    lines = [HEADING.format(
        date=datetime.now(timezone.utc).date(), processor=processor(), seeds=seeds,
        command="audit.py --disturbed" if disturbed else "audit.py",
        how=DISTURBED if disturbed else "")]
    lines.append("| data | labels go wrong by | wrong | all hold | half-width at 25 | 50 | 100 | 200 | fixed, 50 | 200 |\n")
    lines.append("|---|---|---|---|---|---|---|---|---|---|\n")
    shares = []
    for cell in CELLS:
        mine = [row for row in found if (row["data"], row["noise"]) == cell and int(row["seed"]) <= seeds]
        if not mine:
            continue
        truth, by_seed = float(mine[0]["truth"]), {}
        for row in mine:
            holds = float(row["low"]) - 1e-9 <= truth <= float(row["high"]) + 1e-9
            by_seed[row["seed"]] = by_seed.get(row["seed"], True) and holds
        shares.append(statistics.mean(by_seed.values()))
        widths = [statistics.mean((float(r["high"]) - float(r["low"])) / 2 for r in mine if int(r["look"]) == look)
                  for look in LOOKS]
        plain = [1.645 * (truth * (1 - truth) / n) ** 0.5 for n in (50, 200)]
        lines.append(f"| {cell.data} | {cell.noise} | {truth:.3f} | {shares[-1]:.3f} | "
                     + " | ".join(f"{w:.3f}" for w in widths + plain) + " |\n")
    if shares:
        lines.append(f"\nMean of all cells: {statistics.mean(shares):.3f}; least: {min(shares):.3f}.\n")
    return "".join(lines)


DISTURBED = """
A tenth of the draws is unsure, the 20 first suspects are decided in the ordinary queue, two people answer in turns, and an
answer before each look is taken back and given again.
"""
HEADING = """# Audits that know the truth

{date}, {processor}, seeds 1 to {seeds}. Made by `nice python3 docs/detection/{command} --seeds {seeds}`.
{how}
`all hold` is the share of audits in which the intervals of all looks hold the true rate. `fixed` is the half-width of an
interval that a plain random sample of that size gives, for one look that is fixed in advance (normal, 90%).

"""


def processor() -> str:
    cpus = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", cpus.read_text(encoding="utf-8")) if cpus.exists() else []
    return (names or [platform.machine()])[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--cells", nargs="*", default=[], help="only cells of these data sets")
    parser.add_argument("--disturbed", action="store_true")
    parser.add_argument("--work", type=Path, default=Path.home() / ".cache" / "graphcleaner-audit")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    asked = parser.parse_args()
    name = "audit_disturbed" if asked.disturbed else "audit"
    bench = Bench(asked.work.absolute(), asked.out / f"{name}.csv", asked.disturbed)
    for cell in CELLS:
        if not asked.cells or cell.data in asked.cells:
            bench.measure(cell, asked.seeds)
            (asked.out / f"{name}.md").write_text(table(rows(bench.results), asked.seeds, asked.disturbed), encoding="utf-8")


if __name__ == "__main__":
    main()
