"""Every way to run it gives the same scores. The commands of the page docs/spark.md are run as they stand there."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from commands import PACKAGE, REPOSITORY, TIMEOUT, compare, end, processes, scores_of, start, suspects_of, words
from standalone import Cluster
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


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as cluster:
        yield cluster


@pytest.mark.parametrize("place, blocks, partitions", [("local[2]", 16, 8), ("cluster", 1, 8), ("cluster", 4, 2), ("cluster", 16, 2)])
def test_masters_blocks_and_partitions(folder, binary, want, cluster, tmp_path, place, blocks, partitions):
    conf = {"spark.sql.shuffle.partitions": partitions, "spark.default.parallelism": partitions}
    where = {"environment": cluster.environment} if place == "cluster" else {"master": place}
    lines = end(start(words(folder, tmp_path / "out", binary, "--blocks", blocks), conf=conf.items(), **where))
    cut = next(line for line in lines if line.startswith("cut: "))
    assert (int(re.search(r"(\d+) ranges", cut)[1]) > 1) == (blocks > 1), cut
    compare(scores_of(tmp_path / "out"), want[0])
    assert suspects_of(lines) == want[1]


@pytest.mark.parametrize("kind, hops, blocks, partitions", [("weighted", 1, 16, 8), ("directed", 2, 4, 2), ("weighted", 3, 4, 8),
                                                            ("unweighted", 3, 1, 2)])
def test_as_the_embedded_store(binary, cluster, tmp_path, kind, hops, blocks, partitions):
    scores, features, suspects = StoreOf(kind, binary, tmp_path).says(hops)
    out, conf = tmp_path / "out", {"spark.sql.shuffle.partitions": partitions, "spark.default.parallelism": partitions}
    end(start(words(tmp_path, out, binary, "--blocks", blocks, "--hops", hops, "--write-features"), conf=conf.items(),
              environment=cluster.environment))
    compare_with_store(out, scores, features)
    same_suspects(out, suspects)


def commands_of_page():
    """The blocks of commands of the page, without those that it says the tests cannot run."""
    text = (REPOSITORY / "docs" / "spark.md").read_text()
    return [block for skipped, block in re.findall(r"(<!-- not run by the tests.*?-->\n+)?```sh\n(.*?)```", text, re.S) if not skipped]


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
    done = subprocess.run(["bash", "-euo", "pipefail", str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True,
                          timeout=3 * TIMEOUT)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    outs = sorted(path.parent for path in tmp_path.glob("*/scores.parquet"))
    assert len(outs) == 4
    for out in outs:
        compare(scores_of(out), want[0])
    assert [line.split(";")[0] for line in done.stdout.splitlines() if " suspects above " in line] == [want[1]] * 5


def standalone(*command):
    return subprocess.Popen([sys.executable, str(PACKAGE / "standalone.py"), *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, start_new_session=True)


def test_standalone_gives_the_exit_code_and_leaves_nothing():
    process = standalone("sh", "-c", "echo $MASTER; exit 7")
    said, _ = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 7
    assert re.fullmatch(r"spark://127\.0\.0\.1:\d+\n", said)
    assert not processes(said.strip())


@pytest.mark.parametrize("number, to_all", [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_standalone_stops_everything_at_a_signal(number, to_all):
    process = standalone("sh", "-c", "echo $MASTER; exec sleep 600")
    master = process.stdout.readline().strip()
    listening = [line.split()[3] for line in subprocess.run(["ss", "-ltnpH"], capture_output=True, text=True).stdout.splitlines()
                 if any(f"pid={pid}," in line for pid in processes("org.apache.spark.deploy."))]
    assert listening and all(address.startswith(("127.0.0.1:", "[::ffff:127.0.0.1]:")) for address in listening), listening
    assert len(processes(master)) == 2  # the workers
    (os.killpg if to_all else os.kill)(process.pid, number)  # a terminal sends it to all
    process.communicate(timeout=TIMEOUT)
    assert process.returncode == 128 + number
    assert not processes(master)


def test_standalone_says_why_a_daemon_does_not_start(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    process = standalone("true")
    _, errors = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 1
    assert errors.startswith("standalone.py: the master ended: ") and "Traceback" not in errors
    assert f"{tmp_path}/bin/java: No such file" in errors, errors


@pytest.mark.parametrize("memory", ["lots", "512m", "1000m", "0g", ""])
def test_standalone_refuses_a_size(memory):
    process = standalone("--memory", memory, "true")
    _, errors = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 2 and f"got {memory}, want a size such as 1536m or 2g" in errors
