"""The side of SQLite or DuckDB in queries.sh, and the measuring of both.

load reads a table as tsv from standard input into SQLite; DuckDB reads the parquet that graphcleaner exports. ask times
one statement of SQL as "bench ask" times one of the shell. measure has both asked in turns, in processes of their own,
and prints the medians.
"""

import argparse
import csv
import hashlib
import itertools
import json
import math
import os
import shutil
import sqlite3
import statistics
import struct
import subprocess
import sys
import time

COLUMNS = "id, label, suggested, score, confidence"

# What is asked beside each: a name, the statement of the shell's language, and the same in SQL.
QUESTIONS = {"SQLite": [
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
], "DuckDB": [
    (
        "labels that are doubted",
        f"nodes where label != suggested return {COLUMNS}",
        f"SELECT {COLUMNS} FROM nodes WHERE label <> suggested",
    ),
    (
        "the pairs of these labels",
        "count nodes where label != suggested group by label, suggested",
        "SELECT label, suggested, count(*) FROM nodes WHERE label <> suggested GROUP BY label, suggested "
        "ORDER BY count(*) DESC, label, suggested",
    ),
]}

# The limits that graphcleaner is held to: milliseconds until the first row of an open store, and what a new process
# reads from the disk for so many suspects, in bytes. The copies in the index have these rows; without them, ten million
# nodes cost fifteen times as much.
FIRST_ROW_LIMIT = 20
READ_LIMIT, READ_ROWS = 5_000_000, 1000


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


class SQLite:
    """An open database of SQLite."""

    version = sqlite3.sqlite_version

    def __init__(self, path):
        self.connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.connection.execute("SELECT 1 FROM sqlite_schema").fetchone()  # which reads the schema

    def batches(self, statement):
        """The rows of an answer: the first alone, and then the rest."""
        rows = self.connection.execute(statement)
        first = rows.fetchone()
        yield [first] if first else []
        yield rows.fetchall()


class DuckDB:
    """DuckDB on a parquet file, whose rows it keeps in their order. Answers are Arrow batches, the fastest that it has
    for Python.
    """

    def __init__(self, path):
        import duckdb

        self.version = duckdb.__version__
        self.connection = duckdb.connect()
        self.connection.execute(
            "CREATE VIEW nodes AS SELECT id, given_label AS label, suggested_label AS suggested, score, confidence "
            f"FROM read_parquet('{path}')"
        )

    def batches(self, statement):
        yield from self.connection.sql(statement).to_arrow_reader()


PEERS = {"SQLite": SQLite, "DuckDB": DuckDB}


def rows_of(batch):
    return batch if isinstance(batch, list) else zip(*(column.to_pylist() for column in batch.columns))


def digest(batches):
    """Sums up every value as "bench ask --digest" does."""
    total = hashlib.sha256()
    for batch in batches:
        for row in rows_of(batch):
            for value in row:
                if isinstance(value, (int, float)):
                    total.update(struct.pack("<d", value))
                else:
                    text = (value or "").encode()
                    total.update(struct.pack("<I", len(text)) + text)
    return total.hexdigest()


def ask(args):
    began = time.perf_counter()
    peer = PEERS[args.peer](args.database)
    report = {"statement": args.statement, "open_ms": 1e3 * (time.perf_counter() - began), "first_ms": [], "all_ms": []}
    for _ in range(args.repeats):
        began = time.perf_counter()
        answer = []
        for batch in peer.batches(args.statement):
            if not answer:
                report["first_ms"].append(1e3 * (time.perf_counter() - began))
            answer.append(batch)
        report["all_ms"].append(1e3 * (time.perf_counter() - began))
        report["rows"] = sum(len(batch) for batch in answer)
    if args.peer == "SQLite":
        report["checksum"] = sum(value for batch in answer for row in batch for value in row
                                 if isinstance(value, (int, float)))
    if args.digest:
        report["digest"] = digest(answer)
    report["version"] = peer.version
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

    def commands(self, statement, sql, repeats, *flags):
        """The command that asks each program the same."""
        a = self.args
        return {
            "graphcleaner": [a.bench, "ask", a.store, statement, "--repeats", str(repeats), "--memory",
                             a.memory, *flags],
            a.peer: [sys.executable, __file__, "ask", a.database, sql, "--peer", a.peer, "--repeats",
                     str(repeats), *flags],
        }

    def compare(self, statement, sql):
        """Ends the program unless both answer alike. It also brings what they read into the page cache."""
        ours, theirs = (self.report(command) for command in self.commands(statement, sql, 1, "--digest").values())
        if self.args.peer == "SQLite":
            # SQLite has scores as they are printed, with the digits that a single has.
            same = math.isclose(ours["checksum"], theirs["checksum"], rel_tol=1e-6)
        else:
            same = ours["digest"] == theirs["digest"]
        if ours["rows"] != theirs["rows"] or not same:
            sys.exit(f"queries.py: {statement}: the answers differ: {ours} and {theirs}")

    def evict(self):
        subprocess.run([self.args.bench, "evict", self.args.store, self.args.database], check=True)

    def ask(self, name, statement, sql):
        self.compare(statement, sql)
        for program, command in self.commands(statement, sql, self.args.repeats + 1).items():
            self.add((name, program, "again"), self.report(command))
        for _ in range(self.args.repeats):
            for program, command in self.commands(statement, sql, 1).items():
                self.add((name, program, "warm"), self.report(command))
        for _ in range(self.args.repeats):
            for program, command in self.commands(statement, sql, 1).items():
                self.evict()
                self.add((name, program, "cold"), self.report(command))

    def report(self, command):
        """What a command reports, and the bytes that it had read from the disk."""
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            text = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise subprocess.CalledProcessError(process.returncode, command)
        return json.loads(text) | {"read_bytes": 512 * usage.ru_inblock}

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
        questions, peer = QUESTIONS[a.peer], a.peer
        version = self.reports[questions[0][0], peer, "again"][0]["version"]
        print(f"{peer} {version}, medians of {a.repeats}, in milliseconds. Both gave the same answers.\n")
        print(f"| question | rows | state | graphcleaner first row | {peer} first row | graphcleaner all | {peer} all |")
        print("|---|---|---|---|---|---|---|")
        for name, statement, _ in questions:
            for state, title in (("again", "open, asked again"), ("warm", "fresh process, page cache warm"),
                                 ("cold", "fresh process, page cache empty")):
                cells = [name, str(self.reports[name, peer, state][0]["rows"]), title]
                for part in ("first_ms", "all_ms"):
                    for program in ("graphcleaner", peer):
                        if state == "again":
                            (report,) = self.reports[name, program, state]
                            value = statistics.median(report[part][1:])
                        else:  # from before the store is opened
                            value = self.median((name, program, state), lambda r: r["open_ms"] + r[part][0])
                        cells.append(f"{value:.1f}")
                print("| " + " | ".join(cells) + " |")
        for state, title in (("warm", "page cache warm"), ("cold", "page cache empty")) if peer == "SQLite" else ():
            cells = ["start, open, 20 of a class, exit", "20", title, "", ""]
            for program in ("graphcleaner", peer):
                key = ("process", program, state)
                cells.append(f"{self.median(key, lambda r: r['ms']):.1f}" if key in self.reports else "no sqlite3")
            print("| " + " | ".join(cells) + " |")
        for name, statement, _ in questions:
            print(f"\n    plan {statement}\n")
            text = subprocess.run(plan + ["plan " + statement], check=True, stdout=subprocess.PIPE, text=True).stdout
            print("".join("    " + line + "\n" for line in text.splitlines()), end="")

    def misses(self):
        """What is more than graphcleaner is held to."""
        question = QUESTIONS["SQLite"][0][0]
        (report,) = self.reports[question, "graphcleaner", "again"]
        first = statistics.median(report["first_ms"][1:])
        if first > FIRST_ROW_LIMIT:
            yield f"the first row took {first:.1f} ms, at most {FIRST_ROW_LIMIT} are wanted"
        read = self.median((question, "graphcleaner", "cold"), lambda r: r["read_bytes"])
        if report["rows"] <= READ_ROWS and read > READ_LIMIT:
            yield f"{report['rows']} suspects took {read / 1e6:.1f} MB from the disk, at most {READ_LIMIT / 1e6:.1f} are wanted"


def measure(args):
    m = Measurement(args)
    for question in QUESTIONS[args.peer]:
        m.ask(*question)
    if args.peer == "SQLite":
        m.processes(*QUESTIONS[args.peer][1][1:])
    m.print()
    missed = list(m.misses()) if args.peer == "SQLite" else []
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
    command.add_argument("--peer", choices=PEERS, default="SQLite")
    command.add_argument("--digest", action="store_true")
    command.add_argument("--repeats", type=int, default=1)
    command.set_defaults(run=ask)
    command = commands.add_parser("measure")
    for name in ("bench", "graphcleaner", "store", "database", "memory", "results"):
        command.add_argument("--" + name, required=True)
    command.add_argument("--peer", choices=PEERS, default="SQLite")
    command.add_argument("--repeats", type=int, default=7)
    command.set_defaults(run=measure)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
