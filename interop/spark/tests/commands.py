"""What the tests of whole commands share."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq

PACKAGE = Path(__file__).parents[1]
CLUSTER = "local-cluster[2,1,2048]"  # two executors in processes of their own, of one core and 2 GiB each
REPOSITORY = PACKAGE.parents[1]
TIMEOUT = 600


def words(folder, out, binary, *more):
    """The arguments of a cleaning of the graph in a folder."""
    files = [word for name in ("nodes", "edges", "predictions")
             for word in (f"--{name}", str(folder / f"{name}.parquet"))]
    return [*files, "--out", str(out), *(["--binary", str(binary)] if binary else []), *map(str, more)]


def start(arguments, *, environment=os.environ, master=None, conf=()):
    """Starts `python -m graphcleaner.spark` in a session of its own."""
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", **dict(conf)}
    submit = [*(["--master", master] if master else []),
              *(f"--conf {name}={value}" for name, value in settings.items()), "pyspark-shell"]
    return subprocess.Popen(
        [sys.executable, "-m", "graphcleaner.spark", *arguments],
        env={**environment, "PYTHONPATH": f"{PACKAGE}:{PACKAGE.parent / 'python'}",
             "PYSPARK_SUBMIT_ARGS": " ".join(submit), "SPARK_LOCAL_IP": "127.0.0.1"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def end(process):
    """Waits for a command that must succeed, and returns its lines."""
    said, errors = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0, said[-2000:] + errors[-4000:]
    return said.splitlines()


def fail(process):
    """Waits for a command that must fail, and returns its one sentence."""
    said, errors = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 1, said[-2000:] + errors[-4000:]
    assert "Traceback" not in errors and "\tat " not in errors, errors[-4000:]
    sentence = errors.strip().splitlines()[-1]
    assert sentence.startswith("graphcleaner"), errors[-4000:]
    return sentence


def scores_of(out):
    """The row of every node."""
    table = pq.read_table(Path(out) / "scores.parquet")
    assert table.column_names == ["id", "given_label", "score", "suggested_label", "confidence"]
    return {row["id"]: row for row in table.to_pylist()}


def suspects_of(lines):
    return next(line.split(";")[0] for line in lines if " suspects above " in line)


def compare(got, want):
    """Scores within 1e-6, the rest the same."""
    assert got.keys() == want.keys()
    for node, row in want.items():
        mine = got[node]
        for name in ("given_label", "suggested_label"):
            assert mine[name] == row[name], (mine, row)
        for name in ("score", "confidence"):
            assert (mine[name] is None) == (row[name] is None), (mine, row)
            assert row[name] is None or abs(mine[name] - row[name]) <= 1e-6, (mine, row)
    assert sum(row["score"] is not None for row in want.values()) > len(want) // 2


def wait_for(what, condition, seconds=60.0):
    """Waits until a condition is true, and returns what it returned."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"no {what} after {seconds:.0f} s"
        time.sleep(0.05)
    return found


def processes(word):
    """The processes whose command line has a word, as {pid: (parent, command line)}."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue  # it has ended
        if word in line:
            found[int(folder.name)] = parent, line
    return found
