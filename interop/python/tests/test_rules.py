"""What the program takes, as it takes it."""

import csv
import random
import subprocess

import pytest

from graphcleaner._rules import class_order


@pytest.mark.parametrize("name", [
    "1E-2", " 1", "1_000", "1__0", "-INFINITY", "infi", "nan", "1e400", "0x1p4", "0x1", "0x_1p1", "0x1p2000", "١", "é",
])
def test_class_order_is_that_of_graphcleaner(name, binary, tmp_path):
    names = random.Random(1).sample([name, "10", "9", "1.0"], 4)
    (tmp_path / "nodes.csv").write_text("id,label\n" + "".join(f"{i},{label}\n" for i, label in enumerate(names)),
                                        encoding="utf-8")
    (tmp_path / "edges.csv").write_text("src,dst\n")
    subprocess.run([binary, "import", "--nodes", "nodes.csv", "--edges", "edges.csv", "g"], cwd=tmp_path, check=True)
    told = subprocess.run([binary, "shell", "g", "--format", "csv", "-c", "classes"], cwd=tmp_path, check=True,
                          stdout=subprocess.PIPE)
    want = [row[0] for row in csv.reader(told.stdout.decode().splitlines())][1:]
    assert class_order(set(names)) == want
