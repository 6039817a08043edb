import os
import stat
import sys
from pathlib import Path

import pytest
from program import binary  # noqa: F401

os.environ["PYSPARK_PYTHON"] = sys.executable
HERE = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def spark():
    """One session for all tests."""
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.codegen.wholeStage", "false")  # compiling takes longer than so few rows
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def fake(tmp_path):
    """Makes a program that stands for the binary, of a body of Python which has `job`, `frames` (an iterator of header
    and whole frame), `send`, `pack` and `end`."""

    def make(body: str) -> str:
        path = tmp_path / "fake"
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        path.write_text(
            f"""#!{sys.executable}
import json, os, signal, sys, time
sys.path[:0] = [{str(HERE)!r}, {str(HERE.parent / "python")!r}]
from graphcleaner_spark.frames import *
from graphcleaner_spark import frames as f
out, source = sys.stdout.buffer, sys.stdin.buffer
sent = 0
def send(frame):
    global sent
    out.write(frame)
    sent += 1
def end(count=None):
    out.write(pack(f.END, count=sent if count is None else count))
    out.flush()
def rest():
    while (frame := f.read(source)) is not None and frame[0].kind != f.END:
        yield frame
job = json.loads(f.read(source)[1][f.HEADER_SIZE:])
frames = rest()
if True:
{lines}
"""
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return make
