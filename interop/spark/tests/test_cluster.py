"""Every way to run it gives the same scores. The commands of the page docs/spark.md are run as they stand there."""

import os
import re
import shutil
import subprocess

import pytest
from commands import CLUSTER, REPOSITORY, TIMEOUT, compare, end, scores_of, start, suspects_of, words
from test_clean import Graph, same_suspects, write
from test_clean import compare as compare_with_store
from test_matrix import StoreOf

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    graph = Graph(21)
    write(folder, nodes=graph.nodes(), edges=graph.edges(), predictions=graph.predictions())
    return folder


@pytest.fixture(scope="module")
def want(folder, binary):
    """Scores and number of suspects of local mode with one range."""
    out = folder / "local"
    lines = end(start(words(folder, out, binary, "--blocks", 1), master="local[2]"))
    return scores_of(out), suspects_of(lines)


@pytest.mark.parametrize("master, blocks, partitions", [("local[2]", 16, 8), (CLUSTER, 1, 8), (CLUSTER, 4, 2)])
def test_masters_blocks_and_partitions(folder, binary, want, tmp_path, master, blocks, partitions):
    conf = {"spark.sql.shuffle.partitions": partitions, "spark.default.parallelism": partitions}
    lines = end(start(words(folder, tmp_path / "out", binary, "--blocks", blocks), conf=conf.items(), master=master))
    cut = next(line for line in lines if line.startswith("cut: "))
    assert (int(re.search(r"(\d+) ranges", cut)[1]) > 1) == (blocks > 1), cut
    compare(scores_of(tmp_path / "out"), want[0])
    assert suspects_of(lines) == want[1]


@pytest.mark.parametrize("kind, hops, blocks, partitions", [("directed", 2, 4, 2), ("undirected", 3, 4, 8)])
def test_as_the_embedded_store(binary, tmp_path, kind, hops, blocks, partitions):
    scores, suspects = StoreOf(kind, binary, tmp_path).says(hops)
    out, conf = tmp_path / "out", {"spark.sql.shuffle.partitions": partitions, "spark.default.parallelism": partitions}
    end(start(words(tmp_path, out, binary, "--blocks", blocks, "--hops", hops), conf=conf.items(), master=CLUSTER))
    compare_with_store(out, scores)
    same_suspects(out, suspects)


def commands_of_page():
    """The blocks of commands of the page, without those that it says the tests cannot run."""
    text = (REPOSITORY / "docs" / "spark.md").read_text()
    return [block for skipped, block in re.findall(r"(<!-- not run by the tests.*?-->\n+)?```sh\n(.*?)```", text, re.S)
            if not skipped]


def test_the_commands_of_the_page(folder, want, tmp_path):
    for entry in REPOSITORY.iterdir():
        if entry.name not in (".git", "graphcleaner"):
            (tmp_path / entry.name).symlink_to(entry)
    for name in ("nodes", "edges", "predictions"):
        shutil.copy(folder / f"{name}.parquet", tmp_path)
    environment = dict(os.environ)
    # `python -m` finds the package by what setup.sh has installed, not by a path of these tests.
    for name in ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_SUBMIT_ARGS"):
        environment.pop(name, None)
    script = tmp_path / "script"
    script.write_text("\n".join(commands_of_page()))
    done = subprocess.run(["bash", "-euo", "pipefail", str(script)], cwd=tmp_path, env=environment, capture_output=True,
                          text=True,
                          timeout=3 * TIMEOUT)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    outs = sorted(path.parent for path in tmp_path.glob("*/scores.parquet"))
    assert len(outs) == 4
    for out in outs:
        compare(scores_of(out), want[0])
    assert [line.split(";")[0] for line in done.stdout.splitlines() if " suspects above " in line] == [want[1]] * 5
