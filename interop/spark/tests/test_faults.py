"""Faults on a cluster of this machine: a run recovers, or ends with one sentence and no scores. A later start gives the
right ones.
"""

import json
import os
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import CLUSTER, REPOSITORY, compare, end, fail, processes, scores_of, start, wait_for, words
from graphcleaner_spark import GraphcleanerError, clean
from test_clean import Graph, write

pytestmark = pytest.mark.cluster

#: What is made again after the faults: the first of them has a worker in each of its tasks.
LATER = ("arcs", "strength", "hop1", "fit", "score")


@pytest.fixture(scope="module")
def real(binary, tmp_path_factory):
    """The binary under a name that no other process has."""
    return shutil.copy(binary, tmp_path_factory.mktemp("real") / "graphcleaner-of-fault-tests")


@pytest.fixture(scope="module")
def session():
    """A session on a cluster, for faults that it survives."""
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    session = (
        SparkSession.builder.master(CLUSTER).config("spark.ui.enabled", "false")
        .config("spark.default.parallelism", "2").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def base(real, tmp_path_factory):
    """A folder with a graph and a complete run of one hop in local mode."""
    base = tmp_path_factory.mktemp("base")
    graph = Graph(31)
    write(base, nodes=graph.nodes(), edges=graph.edges(), predictions=graph.predictions())
    end(start(arguments(base, base / "out", real), master="local[2]"))
    return base


def arguments(base, out, binary):
    """Of a command in a process of its own."""
    return words(base, out, binary, "--blocks", 4, "--hops", 1)


def cleaned(session, base, out, binary, hops=1):
    """Cleans in the session, and returns the lines of the log."""
    lines = []
    files = [str(base / f"{name}.parquet") for name in ("nodes", "edges", "predictions")]
    clean(session, *files, str(out), blocks=4, hops=hops, binary=str(binary), log=lines.append)
    return lines


def refused(session, base, out, binary):
    """The one sentence of a cleaning that must fail, without scores."""
    with pytest.raises(GraphcleanerError) as err:
        cleaned(session, base, out, binary)
    assert "\n" not in str(err.value) and "\tat " not in str(err.value)
    assert not (out / "scores.parquet").exists()
    return str(err.value)


def mended(session, base, out, binary):
    """A second start without the fault goes on, and gives the right scores."""
    lines = cleaned(session, base, out, binary)
    assert "nodes: is there" in lines and "given: is there" in lines
    compare(scores_of(out), scores_of(base / "out"))


def note_of(out, stage):
    """The file that names the data set of a stage."""
    return next((out / "work").glob(f"*/{stage}"))


def ended_before(stages, done, out):
    """A copy of a complete run, in out, that ended before these stages."""
    shutil.copytree(done, out)
    shutil.rmtree(out / "scores.parquet")
    for stage in stages:
        note_of(out, stage).unlink()
    return out


@pytest.fixture
def out(base, tmp_path, real):
    """A run that ended before LATER."""
    yield ended_before(LATER, base / "out", tmp_path / "out")
    wait_for("end of the workers", lambda: not processes(f"{real} worker"))


@pytest.fixture(scope="module")
def three_hops(base, real):
    """A complete run of three hops, in local mode."""
    end(start(words(base, base / "three", real, "--blocks", 4), master="local[2]"))
    return base / "three"


#: The first of these stages has the triangles, or the products of the last hop: it has a worker in each of its tasks.
DEEP = [("diagonal", "hop3", "fit", "score"), ("hop3", "fit", "score")]


@pytest.fixture(params=DEEP, ids=["triangles", "hop 3"])
def deep_out(request, three_hops, tmp_path, real):
    """A run of three hops that ended before its last."""
    yield ended_before(request.param, three_hops, tmp_path / "out")
    wait_for("end of the workers", lambda: not processes(f"{real} worker"))


@pytest.fixture
def wrapped(tmp_path, real):
    """Makes a program that does something before it becomes the real one, if it is to be a worker."""

    def wrap(body):
        path = tmp_path / f"{tmp_path.name}-binary"  # Spark ships one file of a name
        path.write_text(f"#!/bin/sh\nreal={real}\nflag={tmp_path}/flag\nif [ \"$1\" = worker ]; "
                        f"then\n{body}\nfi\nexec $real \"$@\"\n")
        path.chmod(0o755)
        return path

    return wrap


#: A worker that is killed when it has written a part of its first frame.
DIES_ONCE = "if mkdir $flag 2>/dev/null; then $real worker | head -c 100; kill -9 $$; fi"


def test_a_worker_process_is_killed(session, base, out, wrapped, tmp_path):
    cleaned(session, base, out, wrapped(DIES_ONCE))
    assert (tmp_path / "flag").exists()
    compare(scores_of(out), scores_of(base / "out"))


def test_a_worker_process_is_killed_in_the_last_hop(session, base, deep_out, three_hops, wrapped, tmp_path):
    lines = cleaned(session, base, deep_out, wrapped(DIES_ONCE), hops=3)
    assert (tmp_path / "flag").exists() and "hop2: is there" in lines
    compare(scores_of(deep_out), scores_of(three_hops))


@pytest.mark.parametrize("body, says", [
    ("cat >/dev/null; kill -9 $$", "graphcleaner worker: arcs: killed by signal 9"),
    ("$real worker | head -c 100; exit 0", "graphcleaner worker: arcs: its output: frame of kind 11, block "),
    ("$real worker | head -c -40; exit 0", "graphcleaner worker: arcs: its output: ends without an end frame"),
])
def test_workers_that_fail_every_time(session, base, out, wrapped, real, body, says):
    assert refused(session, base, out, wrapped(body)).startswith(says)
    mended(session, base, out, real)


#: A worker that says where it is, and waits.
WAITS = "if mkdir $flag 2>/dev/null; then echo $$ >$flag/new; mv $flag/new $flag/pid; while [ ! -e $flag/go ]; do sleep 0.1; done; fi"


def waiting(tmp_path):
    return int(wait_for("waiting worker", lambda: (tmp_path / "flag" / "pid").exists()
                        and (tmp_path / "flag" / "pid").read_text(), 180))


def executor_of(pid):
    every = processes("")
    while "CoarseGrainedExecutorBackend" not in every[pid][1]:
        pid = every[pid][0]
    return pid


def kill_executor(session, base, out, binary, tmp_path, hops):
    """Cleans, and kills the executor of the worker that waits."""
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(cleaned, session, base, out, binary, hops)
        executor = executor_of(waiting(tmp_path))
        os.kill(executor, signal.SIGKILL)
        wait_for("end of the executor", lambda: executor not in processes(""))
        (tmp_path / "flag" / "go").touch()
        run.result()


def test_an_executor_is_killed(session, base, out, wrapped, tmp_path):
    kill_executor(session, base, out, wrapped(WAITS), tmp_path, 1)
    compare(scores_of(out), scores_of(base / "out"))


def test_an_executor_is_killed_in_the_last_hop(session, base, deep_out, three_hops, wrapped, tmp_path):
    kill_executor(session, base, deep_out, wrapped(WAITS), tmp_path, 3)
    compare(scores_of(deep_out), scores_of(three_hops))


def again(base, out, binary):
    """The same command, started again without the fault, goes on, and gives the right scores."""
    lines = end(start(arguments(base, out, binary), master=CLUSTER))
    assert "nodes: is there" in lines and "given: is there" in lines
    compare(scores_of(out), scores_of(base / "out"))


def test_the_driver_is_killed(base, out, wrapped, real, tmp_path):
    process = start(arguments(base, out, wrapped(WAITS)), master=CLUSTER)
    waiting(tmp_path)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    (tmp_path / "flag" / "go").touch()
    assert not (out / "scores.parquet").exists()
    again(base, out, real)


def test_the_disk_of_the_executors_is_full(base, out, wrapped, real, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("a small disk needs the right to mount one")
    try:
        fill = f"dd if=/dev/zero of={disk}/full bs=4k 2>/dev/null >&2 </dev/null"
        # The workers of arcs fill it. What the next stages sort and send finds no room.
        process = start(arguments(base, out, wrapped(fill)), master=CLUSTER,
                        environment={**os.environ, "SPARK_LOCAL_DIRS": str(disk)})
        assert "No space left on device" in fail(process)
        assert not (out / "scores.parquet").exists()
        (disk / "full").unlink()
        again(base, out, real)
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.fixture
def blocks(base, out):
    """The largest file of the blocks of arcs, of a run that ended behind strength."""
    for stage in ("arcs", "strength"):
        note = note_of(base / "out", stage)
        shutil.copy(note, out / "work" / note.parent.name)
    return max((out / "work").glob("graph-*/arcs-*/kind=11/*.parquet"), key=lambda path: path.stat().st_size)


def test_a_damaged_frame(session, base, out, blocks, real):
    table = pq.read_table(blocks, partitioning=None)
    bytes_of = [bytearray(frame) for frame in table["frame"].to_pylist()]
    bytes_of[0][-1] ^= 1
    place = table.schema.get_field_index("frame")
    changed = pa.array([bytes(frame) for frame in bytes_of], table.schema.field(place).type)
    pq.write_table(table.set_column(place, table.schema.field(place), changed), blocks)
    blocks.with_name(f".{blocks.name}.crc").unlink()
    sentence = refused(session, base, out, real)
    assert "worker: multiply: " in sentence and "arcs" in sentence and "checksum" in sentence
    assert sentence.endswith(f"remove the folder {out}/work and start again"), sentence
    shutil.rmtree(out / "work")
    cleaned(session, base, out, real)
    compare(scores_of(out), scores_of(base / "out"))


def test_a_damaged_file(session, base, out, blocks, real):
    content = bytearray(blocks.read_bytes())
    content[len(content) // 2] ^= 1
    blocks.write_bytes(content)
    sentence = refused(session, base, out, real)
    assert blocks.name in sentence and sentence.endswith(f"remove the folder {out}/work and start again"), sentence


def in_path(tmp_path, name, program):
    """A folder for PATH, in which graphcleaner is a program."""
    folder = tmp_path / name
    folder.mkdir()
    (folder / "graphcleaner").symlink_to(program)
    return f"{folder}:{os.environ['PATH']}"


def refused_on_two_machines(base, out, program, conf, tmp_path):
    """The sentence of a run whose driver has another program in PATH than the executors."""
    path = in_path(tmp_path, "driver", program)
    return fail(start(arguments(base, out, None), master=CLUSTER, environment={**os.environ, "PATH": path},
                      conf=conf.items()))


def test_binaries_of_two_versions(base, out, real, tmp_path):
    newer = tmp_path / "newer"
    newer.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo graphcleaner v99.0.0; else exec {real} "$@"; fi\n')
    newer.chmod(0o755)
    conf = {"spark.executorEnv.PATH": in_path(tmp_path, "executors", real)}
    version = subprocess.run([real, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    assert refused_on_two_machines(base, out, newer, conf, tmp_path) == (
        f"graphcleaner: worker: census: the job is of graphcleaner v99.0.0, this program is {version}: "
        "use one version of graphcleaner everywhere")
    assert not (out / "scores.parquet").exists()


def test_binaries_of_two_versions_of_frames(base, out, real, tmp_path):
    go = shutil.which("go")
    if go is None:
        pytest.skip("a program of another version needs go")
    source = REPOSITORY / "shell" / "internal" / "worker" / "frame.go"
    changed = source.read_text().replace("const Version = 1\n", "const Version = 2\n")
    assert changed != source.read_text()
    (tmp_path / "frame.go").write_text(changed)
    (tmp_path / "overlay.json").write_text(json.dumps({"Replace": {str(source): str(tmp_path / "frame.go")}}))
    other = tmp_path / "other"
    subprocess.run([go, "build", "-overlay", str(tmp_path / "overlay.json"), "-o", str(other), "."], cwd=REPOSITORY,
                   check=True,
                   env={**os.environ, "CGO_ENABLED": "0"})
    conf = {"spark.executorEnv.PATH": in_path(tmp_path, "executors", other)}
    sentence = refused_on_two_machines(base, out, real, conf, tmp_path)
    assert "frame 1 is of version 1, this program has version 2: use one version of graphcleaner everywhere" in sentence
    assert not (out / "scores.parquet").exists()
