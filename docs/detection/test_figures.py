import math

import numpy as np
import pytest

from figures import Sample, best, f1_of, listed, mean_of, sample, shortfalls


def test_sample_is_mean_and_standard_error():
    one = Sample(np.array([1.0, 2.0, 3.0, 4.0]))
    assert one.mean == 2.5 and one.error == pytest.approx(math.sqrt(5 / 3) / 2)
    assert str(one) == "2.500 ± 0.645"
    assert str(Sample(np.array([0.5]))) == "0.500"


def test_undefined_figures_do_not_count():
    found = [{"by_split": {"all": {"f1": 0.5}}}, {"by_split": {"all": None}}, {"by_split": {"all": {"f1": 0.7}}}]
    assert str(sample(found, "by_split.all.f1")) == "0.600 ± 0.100 (2)"
    assert str(sample(found, "by_split.f1")) == "–" and math.isnan(sample(found, "by_split.f1").mean)


def test_mean_over_cells_keeps_draws_paired():
    cells = [Sample(np.array([0.0, 1.0])), Sample(np.array([1.0, 0.0]))]
    assert mean_of(cells).values.tolist() == [0.5, 0.5] and (cells[0] - cells[1]).values.tolist() == [-1, 1]


def test_best_is_never_undefined():
    assert best({"a": sample([{}], "f1"), "b": Sample(np.array([0.1]))})[0] == "b"


def test_shortfalls_allow_standard_errors_of_the_other():
    mine, other = Sample(np.array([0.45, 0.45])), Sample(np.array([0.4, 0.6]))
    assert shortfalls([("cell F1", mine, "other", other)]) == ["cell F1 0.450 ± 0.000, other 0.500 ± 0.100"]
    assert shortfalls([("cell F1", mine, "other", other)], errors=1) == []
    undefined = sample([{}, {}], "f1")
    assert len(shortfalls([("cell F1", undefined, "other", other)])) == 1
    assert listed("Behind", [], 3) == ["", "Behind: 0 of 3."]


@pytest.mark.parametrize("wrong, flagged, f1", [
    ([1, 1, 0, 0], [1, 0, 1, 0], 0.5), ([0, 0], [0, 0], 0), ([1, 0], [1, 0], 1), ([1, 0], [0, 0], 0)])
def test_f1(wrong, flagged, f1):
    assert f1_of(np.array(wrong, bool), np.array(flagged, bool)) == f1
