import pytest

import ablate
from ablate import Bench, Column, edited, touches
from rules import MAKERS, RULES, rule


@pytest.mark.parametrize("of", RULES + MAKERS, ids=lambda of: of.name)
def test_the_source_has_what_a_rule_edits(of):
    for file, old, new in of.edits:
        assert new in edited(of)[file] and old != new


def test_an_edit_of_what_is_not_there_is_refused():
    with pytest.raises(ValueError, match="rule 'x': cleaner/base.go has 0 times"):
        edited(rule("x", "", "cleaner/base.go", "no such text", ""))


def test_a_rule_is_compared_on_the_draws_and_data_that_it_touches(tmp_path, monkeypatch):
    monkeypatch.setattr(ablate, "DATA", tmp_path)
    for data in ("words", "bare"):
        (tmp_path / data / "csv").mkdir(parents=True)
    (tmp_path / "words" / "csv" / "features.npz").touch()
    column, default, other = Column("sym", "sym:0.1", ["words", "bare"]), RULES[0], rule("x", "", where="features")
    assert touches(other, column, "words") and not touches(other, column, "bare")
    bench = Bench(tmp_path, tmp_path / "rules.csv")
    of_default = (("default", "words", (0.8, 0.9)), ("default", "bare", (0.4, 0.5)))
    for name, data, f1 in (*of_default, ("x", "words", (0.9, 1.0))):
        for draw in (1, 2):
            row = (name, data, "sym:0.1", "", draw, f1[draw - 1], 0.5, 0.2, 0.1, 1, "c")
            with open(tmp_path / "rules.csv", "a", encoding="utf-8") as out:
                out.write(",".join(map(str, row)) + "\n")
    bench = Bench(tmp_path, tmp_path / "rules.csv")  # which continues
    assert bench.cell(default, column, 0, 2) == "0.650 ± 0.050"
    assert bench.cell(other, column, 0, 2) == "**+100 ± 0**" and bench.cell(other, column, 2, 2) == "+0 ± 0"
    assert bench.cell(default, column, 0, 3) == "0.650 ± 0.050 [2]"
    assert bench.cell(rule("y", "", where="joining"), column, 0, 2) == "–"
