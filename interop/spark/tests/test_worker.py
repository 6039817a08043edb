import os
import time

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from graphcleaner_spark import frames, worker
from graphcleaner_spark.errors import GraphcleanerError, WorkerError, raised_in_task
from graphcleaner_spark.stages import plain_errors

JOB = {"op": "add"}
ECHO = "for _, frame in frames:\n    send(frame)\nend()"


def some_frames(count, size=100):
    return [frames.pack(frames.LABELS, bytes([i % 256] * size), row=i % 7, first=i, count=1) for i in range(count)]


def exchange(binary, feed):
    return [bytes(frame) for frame in worker.exchange(binary, JOB, feed)]


def test_frames_go_there_and_back(fake):
    sent = some_frames(50)
    assert exchange(fake(ECHO), sent) == sent


def test_the_job_arrives(fake):
    answer = exchange(fake("for _ in frames: pass\nsend(pack(f.REPORT, json.dumps(job).encode()))\nend()"), [])
    assert bytes(frames.parse(answer[0])[1]) == b'{"op": "add"}'


def test_pipes_that_are_full_both_ways_do_not_block(fake):
    sent = some_frames(64, 1 << 20)
    assert exchange(fake(ECHO), sent) == sent
    # It answers before it has read anything.
    early = "for i in range(64): send(pack(f.LABELS, bytes(1 << 20)))\nfor _ in frames: pass\nend()"
    assert len(exchange(fake(early), sent)) == 64


GOOD = "pack(f.LABELS, b'payload', row=3)"


@pytest.mark.parametrize("body, says", [
    ("for _ in frames: pass\nprint('noise\\ngraphcleaner: worker: add: labels of range 3: no', "
     "file=sys.stderr)\nsys.exit(1)",
     "graphcleaner: worker: add: labels of range 3: no"),
    ("print('graphcleaner: worker: add: full', file=sys.stderr)\nsys.exit(1)", "graphcleaner: worker: add: full"),
    ("sys.exit(3)", "graphcleaner worker: add: exit code 3 without a message"),
    ("os.kill(os.getpid(), signal.SIGKILL)", "graphcleaner worker: add: killed by signal 9"),
    (f"send({GOOD})\nout.write({GOOD}[:43])\nout.flush()\nos.kill(os.getpid(), signal.SIGKILL)",
     "graphcleaner worker: add: killed by signal 9"),
    ("for _ in frames: pass", "graphcleaner worker: add: its output: ends without an end frame"),
    ("for _ in frames: pass\nend(1)", "its output: got 0 frames, want 1"),
    (f"for _ in frames: pass\nout.write({GOOD}[:43])", "row 0: got 43 bytes, want 47"),
    (f"for _ in frames: pass\nout.write({GOOD}[:10])", "got 10 bytes, want a header of 40"),
    (f"for _ in frames: pass\nsend({GOOD}[:-1] + b'x')\nend()", "block 3,0, part 0, row 0: checksum"),
    (f"frame = bytearray({GOOD})\nframe[4] = 9\nsend(frame)\nout.flush()\ntime.sleep(60)",
     "its output: frame: got version 9, want 1"),
    ("end()\nout.close()\nos.close(1)\ntime.sleep(60)", "its output: ends, and the process goes on"),
])
def test_failures_are_one_sentence(fake, monkeypatch, body, says):
    monkeypatch.setattr(worker, "_PATIENCE", 1.0)
    began = time.monotonic()
    with pytest.raises(WorkerError) as err:
        exchange(fake(body), some_frames(100, 1 << 20))
    assert says in str(err.value) and "\n" not in str(err.value)
    assert time.monotonic() - began < 20


def test_no_such_binary(tmp_path):
    with pytest.raises(WorkerError, match="none: No such file"):
        exchange(str(tmp_path / "none"), [])
    with pytest.raises(WorkerError, match="graphcleaner-none: no such program"):
        worker.find_binary("graphcleaner-none")


def test_an_error_of_the_input_is_raised(fake):
    def feed():
        yield from some_frames(3)
        raise GraphcleanerError("the input broke")

    with pytest.raises(GraphcleanerError, match="the input broke"):
        exchange(fake(ECHO + "\nsys.exit(1 if sent == 3 else 0)"), feed())


def test_the_process_ends_with_its_reader(fake):
    binary = fake("send(pack(f.REPORT, str(os.getpid()).encode()))\nout.flush()\ntime.sleep(600)")
    answers = worker.exchange(binary, JOB, some_frames(64, 1 << 20))
    pid = int(bytes(frames.parse(next(answers))[1]))
    assert os.path.exists(f"/proc/{pid}") or os.name != "posix"
    answers.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_version(fake, tmp_path):
    path = tmp_path / "other"
    path.write_text("#!/bin/sh\necho graphcleaner 1.2.3\n")
    path.chmod(0o755)
    assert worker.version(str(path)) == "graphcleaner 1.2.3"
    path.write_text("#!/bin/sh\necho something else\necho and more\n")
    with pytest.raises(WorkerError) as err:
        worker.version(str(path))
    assert str(err.value) == f'{path} --version: got "something else", want graphcleaner and a version'


def data_set(spark, sent):
    rows = []
    for frame in sent:
        h = frames.parse_header(frame)
        rows.append((h.row, h.column, h.part, h.kind, h.first, frame))
    return spark.createDataFrame(rows, frames.SPARK_SCHEMA)


@pytest.fixture
def shipped(spark):
    from graphcleaner_spark.ship import ship

    ship(spark.sparkContext, "graphcleaner")


def test_groups_come_whole_and_in_order(spark, shipped, fake):
    sent = [frames.pack(frames.LABELS, bytes(10), row=i % 5, part=i % 3, first=i, count=1) for i in range(60)]
    binary = fake("for h, frame in frames:\n    send(frame if h.kind != f.GROUP else pack(f.REPORT, "
                  "bytes(frame)))\nend()")
    df = worker.run(
        data_set(spark, sent), {"op": "add"}, binary=binary, group=[F.col("row"), F.lit(0), F.col("part")],
        place=F.col("row") * 3 + F.col("part"), partitions=4, order=[F.col("first").desc()],
    ).withColumn("partition", F.spark_partition_id())
    groups, tasks = {}, {}
    for row in df.collect():
        header = frames.parse_header(row["frame"])
        if header.kind == frames.REPORT:
            inner, _ = frames.parse(frames.parse(row["frame"])[1])
            assert inner.kind == frames.GROUP
            group = inner.row, inner.part
            assert group not in groups
            groups[group] = []
            tasks.setdefault(row["partition"], []).append(group)
            assert (inner.row * 3 + inner.part) % 4 == row["partition"]
        else:
            assert (header.row, header.part) == group
            groups[group].append(header.first)
    assert sorted(map(len, tasks.values())) == [3, 4, 4, 4]  # dealt, not hashed
    assert all(firsts == sorted(firsts, reverse=True) and len(firsts) == 4 for firsts in groups.values())
    assert len(groups) == 15


def test_batches_of_large_frames_stay_small(spark, shipped, fake):
    spark.conf.set("spark.sql.execution.arrow.maxBytesPerBatch", 8 << 20)
    sent = data_set(spark, some_frames(40, 1 << 20)).coalesce(1)

    def sizes(batches):
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"size": pa.array([batch.nbytes])})

    made = [row["size"]
            for row in worker.answers(sent, {"op": "add"},
                                      binary=fake(ECHO)).mapInArrow(sizes, "size bigint").collect()]
    assert sum(made) > 40 << 20 and max(made) < 10 << 20


def test_a_task_without_frames_starts_nothing(spark, shipped, tmp_path):
    empty = data_set(spark, some_frames(1)).where("kind = 99")
    assert worker.answers(empty, {"op": "add"}, binary=str(tmp_path / "none")).count() == 0


def test_a_failed_task_is_one_sentence(spark, shipped, fake):
    binary = fake("print('graphcleaner: worker: add: arcs of block 3,5: checksum 1, want 2', "
                  "file=sys.stderr)\nsys.exit(1)")
    with pytest.raises(WorkerError) as err, plain_errors():
        worker.answers(data_set(spark, some_frames(5)), {"op": "add"}, binary=binary).collect()
    assert str(err.value) == "graphcleaner: worker: add: arcs of block 3,5: checksum 1, want 2"


def test_a_limit_leaves_no_process(spark, shipped, fake, tmp_path):
    binary = fake(f"open({str(tmp_path / 'pids')!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
                  "while True: send(pack(f.LABELS, bytes(1 << 20)))")
    df = worker.answers(data_set(spark, some_frames(4)).coalesce(1), {"op": "add"}, binary=binary)
    assert len(df.limit(2).collect()) == 2
    pids = [int(line) for line in (tmp_path / "pids").read_text().split()]
    deadline = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{pid}") for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert pids and not any(os.path.exists(f"/proc/{pid}") for pid in pids)


def test_reports_are_merged():
    merged = worker.merge_reports([
        {"sums": [1.0, 2], "counts": None, "cells": [[0, 1, 2]], "n": 3, "name": "x", "inner": {"a": 1}},
        {"sums": [0.5, 1], "counts": [1, 1], "cells": [[0, 1, 5], [1, 0, 1]], "n": 4, "name": "y", "inner": {"b": 2}},
    ])
    assert merged == {"sums": [1.5, 3], "counts": [1, 1], "cells": [[0, 1, 7], [1, 0, 1]], "n": 7, "name": "x",
                      "inner": {"a": 1, "b": 2}}
    assert worker.merge_reports([]) is None


def test_errors_of_tasks_are_found_in_the_words_of_spark():
    text = "An exception was thrown from the Python worker\n  File x\ngraphcleaner_spark.errors.InputError: p: got 1, want 2\n\n\tat java"
    found = raised_in_task(Exception(text))
    assert type(found).__name__ == "InputError" and str(found) == "p: got 1, want 2"
    assert raised_in_task(Exception("java.io.IOException: disk")) is None
