import pytest

from tables import _compared, _compared_means, _mean, _number, _spread

PAPER = {"f1": 0.5, "mcc": 0.5, "p_at_t": 0.5}


def measured(f1):
    return {"f1": f1, "mcc": 0.55, "p_at_t": 0.25, "p_at_t_flagged": 0.7}


@pytest.mark.parametrize(
    ("values", "want"),
    [([0.25, 0.75], "0.500"), ([0.25, None], "0.250 (1)"), ([None, None], "–"), ([0.0], "0.000")],
)
def test_means_leave_out_what_is_not_defined(values, want):
    assert _mean(values) == want


def test_numbers_that_are_not_defined_are_dashes():
    assert _number(None) == "–" and _number(0.0) == "0.000"
    assert _compared(measured(None), PAPER) == ["–", "0.500", "–", "0.550", "0.500", "+0.050",
                                                "0.700", "0.500", "**+0.200**"]


def test_compared_means_are_over_the_same_cells():
    other = {**PAPER, "f1": 0.9}
    assert _compared_means([(measured(0.5), PAPER), (measured(None), other)])[:6] == [
        "0.500 (1)", "0.500", "+0.000", "0.550", "0.500", "+0.050"]
    assert _compared_means([(measured(None), PAPER)])[:3] == ["–", "–", "–"]


@pytest.mark.parametrize(
    ("repeats", "std", "want"),
    [
        (1, {"f1": 0, "mcc": 0}, ["–", "–", "0.250"]),
        (1, {"f1": None, "mcc": None}, ["–", "–", "0.250"]),
        (2, {"f1": 0.125, "mcc": None}, ["0.125", "–", "0.250"]),
    ],
)
def test_spread_of_one_repeat_is_a_dash(repeats, std, want):
    assert _spread({"repeats": [{}] * repeats, "std": std, "mean": measured(0.5)}) == want
