import os
import threading

import pytest

from graphcleaner.spark import stages as stages_module
from graphcleaner.spark.errors import FrameError, GraphcleanerError, InputError, WorkerError
from graphcleaner.spark.stages import Files, OnlyRun, Stages


@pytest.fixture
def go(spark, tmp_path):
    """Runs two stages, the second of the first, and returns those that were not there."""

    def run(of=1, of_second=2):
        lines = []
        stages = Stages(spark, str(tmp_path), lines.append)
        first = stages.run("first", lambda: spark.range(5), of=of, of_frames=False, reads_frames=False)
        stages.run("second", lambda: first.where("id > 1"), needs=["first"], of=of_second, of_frames=False, reads_frames=False)
        assert spark.read.parquet(f"{tmp_path}/work/second").count() == 3
        return [line.split(":")[0] for line in lines if not line.endswith("is there")]

    return run


def test_stages_that_are_there_are_not_run_again(go):
    assert go() == ["first", "second"]
    assert go() == []


def test_a_stage_made_of_something_else_is_run_again_with_what_needs_it(go):
    go()
    assert go(of_second=3) == ["second"]
    assert go(of=7, of_second=3) == ["first", "second"]
    assert go(of=7, of_second=3) == []


@pytest.mark.parametrize("lost", ["second/_SUCCESS", "second.json"])
def test_an_incomplete_stage_is_run_again(go, tmp_path, lost):
    go()
    (tmp_path / "work" / lost).unlink()
    assert go() == ["second"]


def test_a_stage_that_lost_a_file_is_run_again(go, tmp_path):
    go()
    next(path for path in (tmp_path / "work" / "first").glob("*.parquet")).unlink()
    assert go() == ["first"]
    assert go() == []


def test_a_stage_that_is_not_what_its_note_would_say_is_not_noted(spark, tmp_path):
    def changed():
        raise InputError("it has changed")

    stages = Stages(spark, str(tmp_path), lambda line: None)
    stages.check = changed
    with pytest.raises(InputError, match="it has changed"):
        stages.run("first", lambda: spark.range(5), of=1, of_frames=False, reads_frames=False)
    assert not (tmp_path / "work" / "first.json").exists()


def test_one_run_at_a_time(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(stages_module, "_BEAT", 0.05)
    monkeypatch.setattr(stages_module, "_WAIT", 0.5)
    running, lines = tmp_path / "work" / "running", []
    with OnlyRun(Files(spark), str(tmp_path), lines.append) as run:
        run.check()
        with pytest.raises(GraphcleanerError, match="work/running: another run is at work there, want one at a time$"):
            OnlyRun(Files(spark), str(tmp_path), lines.append).__enter__()
        run.check()
        Files(spark).write(str(running), "another 1")
        with pytest.raises(GraphcleanerError, match="another run has begun there"):
            run.check()
    assert running.read_text() == "another 1"  # which is not that of the run that ended
    assert len(lines) == 1
    with OnlyRun(Files(spark), str(tmp_path), lines.append) as run:  # the other one does not count on
        run.check()
    assert not running.exists() and len(lines) == 2
    assert "graphcleaner run" not in {thread.name for thread in threading.enumerate()}


def test_a_damaged_note_is_no_note(go, tmp_path):
    go()
    for text in ("{", "[]", "{}"):
        Files.write(Files(_session()), f"{tmp_path}/work/second.json", text)
        assert go() == ["second"]


@pytest.mark.parametrize("error, names", [
    (FrameError("arcs: checksum 1, want 2"), True), (FrameError("arcs: got 3 bytes for 2 rows, want 8"), True),
    (FrameError("frame: got version 2, want 1"), True), (WorkerError("its output: checksum 1, want 2"), False),
])
def test_an_error_of_a_damaged_frame_names_the_folders(go, spark, tmp_path, error, names):
    go()
    stages = Stages(spark, str(tmp_path), lambda line: None)
    df = stages.run("first", lambda: None, of=1, of_frames=False)

    def fail():
        raise error

    with pytest.raises(type(error)) as err:
        stages.run("third", fail, needs=["first"], of_frames=False)
    assert str(err.value) == str(error) + (f". It is in one of {tmp_path}/work/first: remove that folder and start again" if names else "")
    assert df.count()


def _session():
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def test_a_listing_has_names_sizes_and_times(spark, tmp_path):
    files = Files(spark)
    (tmp_path / "data").mkdir()
    for name in ("b", "a"):
        (tmp_path / "data" / name).write_text(name * 3)
        os.utime(tmp_path / "data" / name, (7, 7))
    assert files.listing(str(tmp_path / "data")) == [(f"file:{tmp_path}/data/{name}", 3, 7000) for name in "ab"]
    files.write(str(tmp_path / "data" / "a"), "ü")
    assert files.read(str(tmp_path / "data" / "a")) == "ü"
    assert files.listing(str(tmp_path / "data"))[0] != (f"file:{tmp_path}/data/a", 3, 7000)
    with pytest.raises(InputError, match="no such file or folder"):
        files.listing(str(tmp_path / "none"))
"""What an error of Spark is told as."""

from graphcleaner.spark.stages import one_line


def test_an_error_of_python_in_a_task_is_told_by_its_last_line() -> None:
    text = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "frames.py", line 14, in <module>
    import numpy as np
ModuleNotFoundError: No module named 'numpy'
"""
    assert one_line(ValueError(text)) == "ModuleNotFoundError: No module named 'numpy'"


def test_another_error_is_told_by_its_first_line() -> None:
    assert one_line(ValueError("\n no room on the disk\nmore\n")) == "no room on the disk"
    assert one_line(KeyError()) == "KeyError"
