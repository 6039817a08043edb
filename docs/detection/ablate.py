"""Turns off one rule of preset default after the other, and measures what each changes.

    GRAPHCLEANER_DATA=/path/to/data nice python3 docs/detection/ablate.py [--draws 5] [--work DIR]

A rule is turned off by edits of the source (rules.py), which the compiler gets as an overlay. Results are added to
results/rules.csv, draw after draw: run it again, and it continues after the last one. The table is results/rules.md. It
needs Go, and no package of Python.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from rules import MAKERS, RULES, Rule, rule

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DATA = Path(os.environ.get("GRAPHCLEANER_DATA", "."))
FIELDS = "rule data noise brings draw f1 average_precision rate_told rate_true cpu_seconds commit".split()


class Column(NamedTuple):
    """Natural noise is that of the data. brings names the program of MAKERS that predictions from outside come from."""

    title: str
    noise: str
    data: list[str]
    brings: str = ""


TWO, THREE = ["cora", "amazon_photo"], ["cora", "amazon_photo", "pubmed"]
COLUMNS = [
    Column("sym", "sym:0.1", THREE), Column("feature", "feature:0.1", TWO), Column("cluster", "cluster:0.1", TWO),
    Column("doubt", "confidence:0.1", THREE), Column("neighbour", "topology:0.1", THREE),
    Column("instance", "instance:0.1", TWO), Column("cora_llm", "natural", ["cora_llm"]),
    Column("pubmed_llm", "natural", ["pubmed_llm"]),
    Column("disagree", "sym:0.1", ["squirrel_filtered", "minesweeper"]),
    Column("U in sample", "sym:0.1", TWO, "in sample"), Column("U out of fold", "sym:0.1", TWO, "out of fold"),
]
# All programs keep noise and predictions, so that those that a rule does not change are made once.
REPEAT, INJECT = "cleaner/evaluate_repeat.go", "e.noise.Inject(ctx, e.trueGraph(opt), d.seed, operators)"
SHARING = rule(
    "", "", REPEAT, INJECT, f'kept("NOISE", func() []kv.Class {{ return sure({INJECT}) }}), error(nil)',
    REPEAT, "predictions, _, err := trainBase(", "predictions, err := keptPredictions(",
    REPEAT, "foreign: len(e.opt.Predictions) > 0", "foreign: isForeign()",
    REPEAT, "crossFitted: len(e.opt.Predictions) == 0", "crossFitted: !isForeign()").edits
SURE = """
func sure[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
"""
SHARED = """package cleaner

import (
	"bytes"
	"context"
	"encoding/gob"
	"os"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/kv"
)

func isForeign() bool { return os.Getenv("RULES_FOREIGN") != "" }

// kept reads what is in the file that the environment names, or makes it, and the file if it has a name.
func kept[T any](variable string, make func() T) (made T) {
	name := os.Getenv("RULES_" + variable)
	if text, err := os.ReadFile(name); err == nil {
		return sure(made, gob.NewDecoder(bytes.NewReader(text)).Decode(&made))
	}
	var text bytes.Buffer
	if made = make(); name != "" {
		sure(0, gob.NewEncoder(&text).Encode(made))
		sure(0, os.WriteFile(name+".part", text.Bytes(), 0o666))
		sure(0, os.Rename(name+".part", name))
	}
	return made
}

func keptPredictions(ctx context.Context, p baseProblem, opt Options) (*rowstore.Store, error) {
	variable, all := "PREDICTIONS", kv.Range{End: kv.NodeID(p.graph.NumNodes())}
	if isForeign() {
		variable = "FOREIGN"
	}
	values := kept(variable, func() []float32 {
		s, _, err := trainBase(ctx, p, opt)
		values := make([]float32, int(all.End)*p.classes)
		sure(0, err)
		sure(0, s.Read(all, 0, p.classes, values))
		return sure(values, s.Close())
	})
	s := sure(rowstore.New(p.place.temporary(), int(all.End), p.classes))
	return s.OrClose(s.Write(all, 0, p.classes, values))
}
"""
# One repeat of `eval`, without the rest of the shell, which takes longer to build: STORE NOISE SEED.
EVALUATE = """package main

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strconv"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

func main() {
	store := sure(index.Open(os.Args[1], kv.Options{ReadOnly: true}))
	seed := sure(strconv.ParseUint(os.Args[3], 10, 64))
	opt := cleaner.EvalOptions{Options: cleaner.Options{Workers: 1, Seed: seed}, Noise: os.Args[2]}
	if tx := store.Begin(); opt.Noise == "natural" {
		opt.Noise = ""
		column := sure(tx.Reader("given"))
		for v := range tx.NumNodes() {
			name := sure(column.At(kv.NodeID(v))).String()
			opt.NoisyLabels = append(opt.NoisyLabels, kv.Class(slices.Index(tx.Classes(), name)))
		}
	}
	found := sure(cleaner.Evaluate(context.Background(), store, opt))
	sure(0, json.NewEncoder(os.Stdout).Encode(found.Methods[0].Mean.BySplit.All))
}
"""


def edited(rule: Rule) -> dict[str, str]:
    """By file the text of the program without a rule."""
    texts = {"cleaner/rules_shared.go": SHARED + SURE, "cleaner/internal/rules/main.go": EVALUATE + SURE}
    for file, old, new in SHARING + rule.edits:
        text = texts.get(file) or (ROOT / file).read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise ValueError(f"rule {rule.name!r}: {file} has {text.count(old)} times, want once: {old}")
        texts[file] = text.replace(old, new)
    return texts


def build(rule: Rule, program: Path) -> None:
    print("build:", rule.name, file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        overlay, replace = Path(scratch, "overlay.json"), {}
        for i, (file, text) in enumerate(edited(rule).items()):
            replace[str(ROOT / file)] = f"{scratch}/{i}.go"
            Path(scratch, f"{i}.go").write_text(text, encoding="utf-8")
        overlay.write_text(json.dumps({"Replace": replace}), encoding="utf-8")
        run("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-overlay", overlay, "-o", program,
            "./cleaner/internal/rules")


def run(*args: str | Path, **environment: str | Path) -> str:
    environment = os.environ | {name: str(value) for name, value in environment.items()}
    return subprocess.run(args, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout.strip()


def file_of(data: str, pattern: str) -> Path | None:
    """A file of a data set, or None. One with the labels of a language model may lack what its graph has."""
    found = [*(DATA / data / "csv").glob(pattern), *(DATA / data.removesuffix("_llm") / "csv").glob(pattern)]
    if not found and pattern in ("nodes.csv", "edges.csv"):
        raise FileNotFoundError(f"{DATA / data / 'csv' / pattern}: want it under GRAPHCLEANER_DATA")
    return found[0] if found else None


def touches(rule: Rule, column: Column, data: str) -> bool:
    """Whether a rule may change anything."""
    if column.brings or rule.where == "joining":
        return column.brings != "" and (rule.where == "joining" or rule.name == "default")
    has = file_of(data, "features.np?") is not None
    return rule.where not in ("features", "structure") or has == (rule.where == "features")


class Bench:
    def __init__(self, work: Path, results: Path):
        self.work, self.results, self.found = work, results, {}
        self.programs = {rule.name: work / "programs" / str(i) for i, rule in enumerate(RULES + MAKERS)}
        if not results.exists():
            results.write_text(",".join(FIELDS) + "\n", encoding="utf-8")
        with open(results, encoding="utf-8", newline="") as text:
            for row in csv.DictReader(text):
                self.add(row)

    def add(self, row: dict) -> None:
        f1, precision, told, true = (float(row[name]) for name in FIELDS[5:9])
        self.found[(*(row[name] for name in FIELDS[:4]), int(row["draw"]))] = (f1, precision, told - true)

    def prepare(self) -> None:
        """Builds the programs, and makes a store of each data set with its true labels."""
        for name in ("programs", "stores", "kept"):
            (self.work / name).mkdir(parents=True, exist_ok=True)
        for rule in RULES + MAKERS:
            build(rule, self.programs[rule.name])
        run("go", "build", "-buildvcs=false", "-o", self.work / "graphcleaner", ".")
        for data in sorted({data for column in COLUMNS for data in column.data}):
            store, nodes, truth = self.work / "stores" / data, file_of(data, "nodes.csv"), file_of(data, "truth.csv")
            shutil.rmtree(store, ignore_errors=True)
            if truth:  # the store has the true labels, and in the column "given" those of the data set
                given = (line.partition(",")[2].replace("label", "given") for line in nodes.read_text().splitlines())
                rows, nodes = truth.read_text().splitlines(), store.with_suffix(".csv")
                nodes.write_text("".join(f"{row},{name}\n" for row, name in zip(rows, given, strict=True)))
            features = file_of(data, "features.np?")
            run(self.work / "graphcleaner", "--quiet", "import", store, "--nodes", nodes,
                "--edges", file_of(data, "edges.csv"), *(["--features", features] if features else []))

    def measure(self, draw: int) -> None:
        """Adds the results of a draw that are not there."""
        commit = run("git", "rev-parse", "--short", "HEAD")
        for column in COLUMNS:
            for data in column.data:
                cell = (data, column.noise, draw)
                kept = self.kept(*cell, column.brings or "default")
                for rule in RULES:
                    key = (rule.name, data, column.noise, column.brings, draw)
                    if key in self.found or not touches(rule, column, data):
                        continue
                    if not kept.exists():
                        self.evaluate(column.brings or "default", *cell, RULES_PREDICTIONS=kept)
                    shared = {"RULES_FOREIGN" if column.brings else "RULES_PREDICTIONS": kept}
                    trains = rule.where in ("classifier", "features", "structure")
                    found = self.evaluate(rule.name, *cell, **({} if trains else shared))
                    row = dict(zip(FIELDS, (*key, *found, commit)))
                    with open(self.results, "a", encoding="utf-8", newline="") as text:
                        csv.DictWriter(text, FIELDS, lineterminator="\n").writerow(row)
                    self.add(row)

    def kept(self, data: str, noise: str, draw: int, what: str) -> Path:
        return self.work / "kept" / f"{data}-{noise.replace(':', '-')}-{draw}-{what}"

    def evaluate(self, program: str, data: str, noise: str, draw: int, **shared: Path) -> list[str]:
        """F1, average precision, the told rate, the true rate, and seconds of processors."""
        print(f"draw {draw}, {data}, {noise}: {program}", file=sys.stderr, flush=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        figures = json.loads(run(self.programs[program], self.work / "stores" / data, noise, str(draw),
                                 RULES_NOISE=self.kept(data, noise, draw, "noise"), **shared))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        names = ("f1", "average_precision", "estimated_rate", "true_rate")
        return [*(f"{figures[name]:.5f}" for name in names), f"{seconds:.2f}"]

    def table(self, draws: int) -> str:
        """The table of the first draws."""
        text = HEADING.format(date=datetime.now(timezone.utc).date(), processor=processor(), draws=draws)
        titles = ("F1 of the suspects", "Average precision of the scores", "Mean score less true rate")
        for i, title in enumerate(titles):
            rows = [["rule", "instead", *(column.title for column in COLUMNS)], ["---"] * (2 + len(COLUMNS))]
            rows += [[rule.name, rule.instead, *(self.cell(rule, column, i, draws) for column in COLUMNS)]
                     for rule in RULES]
            text += f"\n## {title}\n\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)
        return text

    def cell(self, rule: Rule, column: Column, figure: int, draws: int) -> str:
        """A figure with all rules, or what turning one off adds to it, over the draws that are there."""
        def figures(name: str, draw: int) -> list[float] | None:
            found = [self.found.get((name, d, column.noise, column.brings, draw))
                     for d in column.data if touches(rule, column, d)]
            return [of[figure] for of in found] if found and None not in found else None

        all_rules, by_draw = rule.name == "default", []
        for draw in range(1, draws + 1):
            on, off = figures("default", draw), figures(rule.name, draw)
            if on and off:
                by_draw.append(statistics.mean(off) - (0 if all_rules else statistics.mean(on)))
        if not by_draw:
            return "–"
        mean, count = statistics.mean(by_draw), len(by_draw)
        error = statistics.stdev(by_draw) / count**0.5 if count > 1 else 0
        cell = f"{mean:.3f} ± {error:.3f}" if all_rules else f"{round(1000 * mean):+d} ± {1000 * error:.0f}"
        if not all_rules and count > 1 and abs(mean) >= max(0.005, 3 * error):
            cell = f"**{cell}**"
        return cell if count == draws else f"{cell} [{count}]"


HEADING = """# Preset default without one of its rules

{date}, {processor}, draws 1 to {draws}.
Made by `nice python3 docs/detection/ablate.py --draws {draws}`. [rules.csv](rules.csv) has the figures by data set and
draw, and the commits that they were made at.

Each row turns one rule off. The first row has the figures with all rules: the mean and its standard error over draws.
The others have the difference, in thousandths, on the same draws. A figure of a draw is the mean over those data sets
of the column that the rule can change. Bold is a difference of at least 5, and of 3 standard errors. In brackets is the
number of draws where it is less. All labelled nodes count.

Noise is 10%. `doubt` is the noise `confidence`, and `neighbour` is `topology`. The data are Cora and Photo, and the
structure of PubMed where noise needs no features. `cora_llm` and `pubmed_llm` have labels of a language model, of which
32.3% and 6.6% are wrong: there the draws differ in split and classifier alone. `disagree` is `sym` on Squirrel and
Minesweeper, where neighbours disagree. U are predictions from outside, under `sym`, of the built-in classifier. In
sample, it has learned 80% of the labels. Out of fold, its features are not smoothed. The rules about decisions are not
here, as nobody decides.
"""


def processor() -> str:
    cpus = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", cpus.read_text(encoding="utf-8")) if cpus.exists() else []
    return (names or [platform.machine()])[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--work", type=Path, default=Path.home() / ".cache" / "graphcleaner-rules",
                        help="of programs, stores and predictions")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    asked = parser.parse_args()
    bench = Bench(asked.work.absolute(), asked.out / "rules.csv")
    bench.prepare()
    for draw in range(1, asked.draws + 1):
        bench.measure(draw)
        (asked.out / "rules.md").write_text(bench.table(draw), encoding="utf-8")


if __name__ == "__main__":
    main()
