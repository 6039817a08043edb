import numpy as np
import pytest

from datasets import Cell, Dataset, Files
from figures import markdown
from tables.rates import degrees, ece
from tables.users import FOLDS, random_predictions, rounds

SPLIT = ["train"] * 60 + ["val"] * 20 + ["test"] * 20


@pytest.mark.parametrize("mode, trainings", [("in sample", 1), ("split", 1), ("out of fold", FOLDS)])
def test_rounds_hold_out_and_watch_other_nodes(mode, trainings):
    held, watched = rounds(mode, SPLIT, draw=1)
    assert held.shape == watched.shape == (trainings, 100) and not (held & watched).any()
    again = rounds(mode, SPLIT, draw=1)
    assert (held == again[0]).all() and (watched == again[1]).all()
    if mode == "in sample":
        assert not held.any() and watched.sum() == 10
    if mode == "split":
        assert (held[0] == (np.array(SPLIT) == "test")).all() and (watched[0] == (np.array(SPLIT) == "val")).all()
    if mode == "out of fold":
        assert (held.sum(axis=0) == 1).all() and (held.sum(axis=1) == 20).all()


def test_ece_is_that_of_bins_of_equal_width():
    scores = np.array([0.05, 0.05, 0.95, 1.0, 0.5])
    wrong = np.array([False, True, True, True, True])
    assert ece(scores, wrong) == pytest.approx((abs(0.1 - 1) + abs(1.95 - 2) + abs(0.5 - 1)) / 5)
    assert ece(wrong.astype(float), wrong) == 0 and np.isnan(ece(np.array([]), np.array([])))


@pytest.fixture
def tiny(tmp_path):
    folder = tmp_path / "tiny" / "csv"
    folder.mkdir(parents=True)
    (folder / "nodes.csv").write_text("id,label\nn0,a\nn1,b\nn2,\nn3,b\n")
    (folder / "edges.csv").write_text("src,dst\nn0,n1\nn0,n3\n")
    return Files(tmp_path, tmp_path), Dataset("tiny", "tiny", features=None)


def test_degrees_count_both_ends(tiny):
    assert degrees(*tiny) == {"n0": 2, "n1": 1, "n3": 1}


def test_random_predictions_are_of_the_draw(tiny):
    files, d = tiny
    one, two = (np.load(random_predictions(files, Cell(d, "sym", "0.1", draw))) for draw in (1, 2))
    assert one.shape == (4, 2) and np.allclose(one.sum(axis=1), 1) and (one != two).any()


def test_markdown_has_a_row_a_line():
    assert markdown(["a", "b"], [[1, "x"]]) == ["| a | b |", "| --- | --- |", "| 1 | x |"]
