"""The script of docs/examples in Python prints what its page shows."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pandas")

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[2] / "docs" / "examples" / "papers"


def test_example(binary):
    page = (FOLDER / "README.md").read_text()
    shown = re.search(r"\$ python find\.py\n(.*?)```\n", page, re.DOTALL).group(1)
    environment = {**os.environ, "GRAPHCLEANER_BINARY": binary, "PYTHONPATH": str(HERE.parent)}
    ended = subprocess.run([sys.executable, "find.py"], cwd=FOLDER, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == shown
    with open(FOLDER / "planted.csv") as file:
        planted = {row[0] for row in csv.reader(file)}
    assert all(line.split()[0] in planted for line in ended.stdout.splitlines()[2:])  # the first eight are right
