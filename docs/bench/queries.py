"""SQLite's side of queries.sh, and the measuring of both.

load reads a table as tsv from standard input. ask times one statement of SQL as "bench ask" times one of the shell.
measure has both asked in turns, in processes of their own, and prints the medians.
"""

import argparse
import csv
import itertools
import json
import math
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time

COLUMNS = "id, label, suggested, score, confidence"

# What is asked: a name, the statement of the shell's language, and the same in SQL.
QUESTIONS = [
    (
        "suspects by score",
        "suspects where score>0.97",
        f"SELECT {COLUMNS} FROM nodes WHERE score > 0.97 AND decision IS NULL ORDER BY score DESC",
    ),
    (
        "the 20 highest of a class",
        "suspects where score>0.9 and label='class-7' order by score desc limit 20",
        f"SELECT {COLUMNS} FROM nodes WHERE score > 0.9 AND label = 'class-7' AND decision IS NULL "
        "ORDER BY score DESC LIMIT 20",
    ),
    (
        "full scan: no index on confidence",
        f"nodes where confidence>0.99994 order by confidence desc return {COLUMNS}",
        f"SELECT {COLUMNS} FROM nodes WHERE confidence > 0.99994 ORDER BY confidence DESC",
    ),
]

# The limits that the shell is held to, in milliseconds.
FIRST_ROW_LIMIT = 20
PROCESS_LIMIT = 150


def load(args):
    """Makes the table with a primary key, an index on score and one on label and score, and the statistics of both."""
    began = time.perf_counter()
    rows = csv.reader(sys.stdin, delimiter="\t", quoting=csv.QUOTE_NONE)
    next(rows)
    partial = args.database + ".partial"
    if os.path.exists(partial):
        os.remove(partial)
    connection = sqlite3.connect(partial)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute(
        "CREATE TABLE nodes (id TEXT PRIMARY KEY, label TEXT, suggested TEXT, score REAL, confidence REAL, "
        "run INTEGER, year INTEGER, source TEXT, decision TEXT)"
    )
    while batch := list(itertools.islice(rows, 100_000)):
        connection.executemany("INSERT INTO nodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)", batch)
    connection.execute("CREATE INDEX by_score ON nodes (score)")
    connection.execute("CREATE INDEX by_label_score ON nodes (label, score)")  # which graphcleaner has no like of
    connection.execute("ANALYZE")
    connection.commit()
    (count,) = connection.execute("SELECT count(*) FROM nodes").fetchone()
    connection.close()
    os.replace(partial, args.database)
    print(json.dumps({"rows": count, "seconds": time.perf_counter() - began, "bytes": os.path.getsize(args.database)}))


def ask(args):
    began = time.perf_counter()
    connection = sqlite3.connect(f"file:{args.database}?mode=ro", uri=True)
    connection.execute("SELECT 1 FROM sqlite_schema").fetchone()  # which reads the schema
    report = {"statement": args.statement, "open_ms": 1e3 * (time.perf_counter() - began), "first_ms": [], "all_ms": []}
    for _ in range(args.repeats):
        began = time.perf_counter()
        rows = connection.execute(args.statement)
        first = rows.fetchone()
        report["first_ms"].append(1e3 * (time.perf_counter() - began))
        answer = [first] if first else []
        answer += rows.fetchall()
        report["all_ms"].append(1e3 * (time.perf_counter() - began))
        report["rows"] = len(answer)
        report["checksum"] = sum(value for row in answer for value in row if isinstance(value, (int, float)))
    print(json.dumps(report))


class Measurement:
    """Every report of a run, which is also written to the results file, line by line."""

    def __init__(self, args):
        self.args = args
        self.reports = {}
        self.results = open(args.results, "w", encoding="utf-8")

    def add(self, key, report):
        self.reports.setdefault(key, []).append(report)
        self.results.write(json.dumps({"tags": list(key), "result": report}) + "\n")
        self.results.flush()

    def median(self, key, value):
        return statistics.median(value(report) for report in self.reports[key])

    def commands(self, statement, sql, repeats):
        """The command that asks each program the same."""
        a = self.args
        return {
            "graphcleaner": [a.bench, "ask", a.store, statement, "--repeats", str(repeats), "--memory", a.memory],
            "SQLite": [sys.executable, __file__, "ask", a.database, sql, "--repeats", str(repeats)],
        }

    def evict(self):
        subprocess.run([self.args.bench, "evict", self.args.store, self.args.database], check=True)

    def ask(self, name, statement, sql):
        for command in self.commands(statement, sql, 1).values():  # into the page cache
            self.report(command)
        answers = []
        for program, command in self.commands(statement, sql, self.args.repeats + 1).items():
            report = self.report(command)
            answers.append((report["rows"], report["checksum"]))
            self.add((name, program, "again"), report)
        # SQLite has scores as they are printed, with the digits that a single has.
        (ours, sum_of_ours), (theirs, sum_of_theirs) = answers
        if ours != theirs or not math.isclose(sum_of_ours, sum_of_theirs, rel_tol=1e-6):
            sys.exit(f"queries.py: {statement}: the answers differ, rows and sums of numbers are {answers}")
        for _ in range(self.args.repeats):
            for program, command in self.commands(statement, sql, 1).items():
                self.add((name, program, "warm"), self.report(command))
        for _ in range(self.args.repeats):
            for program, command in self.commands(statement, sql, 1).items():
                self.evict()
                self.add((name, program, "cold"), self.report(command))

    def report(self, command):
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)

    def processes(self, statement, sql):
        """Whole processes: start, open, one question, exit."""
        a = self.args
        commands = {"graphcleaner": [a.graphcleaner, "shell", a.store, "--memory", a.memory, "-c", statement]}
        if cli := shutil.which("sqlite3"):
            commands["SQLite"] = [cli, "-readonly", a.database, sql]
        for state in ("warm", "cold"):
            for _ in range(a.repeats):
                for program, command in commands.items():
                    if state == "cold":
                        self.evict()
                    began = time.perf_counter()
                    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                    self.add(("process", program, state), {"ms": 1e3 * (time.perf_counter() - began)})

    def print(self):
        a = self.args
        plan = [a.graphcleaner, "shell", a.store, "--read-only", "-c"]
        print(f"SQLite {sqlite3.sqlite_version}, medians of {a.repeats}, in milliseconds.\n")
        print("| question | rows | state | graphcleaner first row | SQLite first row | graphcleaner all | SQLite all |")
        print("|---|---|---|---|---|---|---|")
        for name, statement, _ in QUESTIONS:
            for state, title in (("again", "open, asked again"), ("warm", "fresh process, page cache warm"),
                                 ("cold", "fresh process, page cache empty")):
                cells = [name, str(self.reports[name, "SQLite", state][0]["rows"]), title]
                for part in ("first_ms", "all_ms"):
                    for program in ("graphcleaner", "SQLite"):
                        if state == "again":
                            (report,) = self.reports[name, program, state]
                            value = statistics.median(report[part][1:])
                        else:  # from before the store is opened
                            value = self.median((name, program, state), lambda r: r["open_ms"] + r[part][0])
                        cells.append(f"{value:.1f}")
                print("| " + " | ".join(cells) + " |")
        for state, title in (("warm", "page cache warm"), ("cold", "page cache empty")):
            cells = ["start, open, 20 of a class, exit", "20", title, "", ""]
            for program in ("graphcleaner", "SQLite"):
                key = ("process", program, state)
                cells.append(f"{self.median(key, lambda r: r['ms']):.1f}" if key in self.reports else "no sqlite3")
            print("| " + " | ".join(cells) + " |")
        for name, statement, _ in QUESTIONS:
            print(f"\n    plan {statement}\n")
            text = subprocess.run(plan + ["plan " + statement], check=True, stdout=subprocess.PIPE, text=True).stdout
            print("".join("    " + line + "\n" for line in text.splitlines()), end="")

    def misses(self):
        """What is slower than the shell is held to."""
        (report,) = self.reports[QUESTIONS[0][0], "graphcleaner", "again"]
        first = statistics.median(report["first_ms"][1:])
        process = self.median(("process", "graphcleaner", "warm"), lambda r: r["ms"])
        if first > FIRST_ROW_LIMIT:
            yield f"the first row took {first:.1f} ms, at most {FIRST_ROW_LIMIT} are wanted"
        if process > PROCESS_LIMIT:
            yield f"start, open, one question and exit took {process:.1f} ms, at most {PROCESS_LIMIT} are wanted"


def measure(args):
    m = Measurement(args)
    for question in QUESTIONS:
        m.ask(*question)
    m.processes(*QUESTIONS[1][1:])
    m.print()
    missed = list(m.misses())
    for text in missed:
        print("queries.py: " + text, file=sys.stderr)
    sys.exit(1 if missed else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("load")
    command.add_argument("database")
    command.set_defaults(run=load)
    command = commands.add_parser("ask")
    command.add_argument("database")
    command.add_argument("statement")
    command.add_argument("--repeats", type=int, default=1)
    command.set_defaults(run=ask)
    command = commands.add_parser("measure")
    for name in ("bench", "graphcleaner", "store", "database", "memory", "results"):
        command.add_argument("--" + name, required=True)
    command.add_argument("--repeats", type=int, default=7)
    command.set_defaults(run=measure)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
