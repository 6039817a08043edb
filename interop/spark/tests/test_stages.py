import os

import pytest
from test_tables import damage

from graphcleaner_spark.errors import FrameError, InputError, WorkerError
from graphcleaner_spark.stages import Files, Stages, one_line, plain_errors


@pytest.fixture
def go(spark, tmp_path):
    """Runs two stages, the second of the first, and returns those that were not there."""

    def run():
        lines = []
        stages = Stages(spark, str(tmp_path / "work"), lines.append)
        first = stages.run("first", lambda: spark.range(5), of_frames=False)
        second = stages.run("second", lambda: first.where("id > 1"), of_frames=False)
        assert second.count() == 3
        return [line.split(":")[0] for line in lines if not line.endswith("is there")]

    return run


def test_stages_that_are_there_are_not_run_again(go):
    assert go() == ["first", "second"]
    assert go() == []


def test_a_stage_that_has_not_ended_is_run_again_and_its_files_go(go, tmp_path):
    go()
    (tmp_path / "work" / "second").unlink()
    left = list((tmp_path / "work").glob("second-*"))
    assert left and go() == ["second"]
    assert not left[0].exists()


def test_a_stage_that_fails_leaves_no_files(spark, tmp_path):
    stages = Stages(spark, str(tmp_path), lambda line: None)
    with pytest.raises(Exception), plain_errors():  # noqa: B017
        stages.run("first", lambda: spark.range(5).selectExpr("raise_error('no')"), of_frames=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("error, names", [
    (FrameError("arcs: checksum 1, want 2"), True), (FrameError("frame: got version 2, want 1"), True),
    (WorkerError("its output: checksum 1, want 2"), False),
])
def test_an_error_of_a_damaged_frame_names_the_folder(error, names):
    with pytest.raises(type(error)) as err, plain_errors("out/work"):
        raise error
    assert str(err.value) == str(error) + (". A file is damaged: remove the folder out/work and start again"
                                           if names else "")


def test_a_damaged_page_of_a_stage_is_an_error_that_names_the_folder(spark, tmp_path):
    work = str(tmp_path / "work")
    stages = Stages(spark, work, lambda line: None)
    df = stages.run("first", lambda: spark.range(5).coalesce(1), of_frames=False)
    damage(next((tmp_path / "work").glob("first-*/part-*.parquet")), "id")
    with pytest.raises(FrameError) as err, plain_errors(work):
        stages.run("second", lambda: df, of_frames=False)
    text = str(err.value)
    assert text.startswith(f"{work}/first-") and "\n" not in text
    assert text.endswith(f"A file is damaged: remove the folder {work} and start again")


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
