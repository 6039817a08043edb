import numpy as np
import pyarrow as pa
import pytest

from graphcleaner_spark import inputs
from graphcleaner_spark.errors import InputError


def normalized(rows, columns=("a", "b", "c"), classes=("a", "b", "c")):
    ids = pa.array([f"n{i}" for i in range(len(rows))])
    batch = pa.RecordBatch.from_arrays([ids, pa.array(rows)], ["id", "predictions"])
    made = list(inputs.probabilities("p.parquet", columns, classes)(iter([batch])))
    assert made[0].column("id") == ids
    return np.stack([np.frombuffer(value, "<f4") for value in made[0].column("predictions").to_pylist()])


def test_rows_add_up_to_one_in_the_order_of_classes():
    p = normalized([[0.5, 0.3, 0.2005], [1.0, 0.0, 0.0]], columns=("c", "a", "b"))
    total = 0.5 + 0.3 + 0.2005
    assert p.tolist() == np.array([[0.3 / total, 0.2005 / total, 0.5 / total], [0, 0, 1]], np.float32).tolist()


@pytest.mark.parametrize("row, says", [
    ([0.5, -0.1, 0.6], 'node n0: class "b" is -0.1, want a probability from 0 to 1'),
    ([0.5, float("nan"), 0.5], 'class "b" is nan'),
    ([0.5, None, 0.5], '"b" is null, want a number'),
    ([float("inf"), 0.0, 0.0], 'class "a" is inf'),
    ([0.5, 0.2, 0.2], "they add up to 0.9, want 1"),
])
def test_rows_that_are_refused(row, says):
    with pytest.raises(InputError) as err:
        normalized([row])
    assert str(err.value).startswith("p.parquet: predictions of node n0") and says in str(err.value)


@pytest.mark.parametrize("row", [[0.5, 0.5], None])
def test_lists_of_another_length_are_refused(row):
    with pytest.raises(InputError, match="got [02] numbers, want 3"):
        normalized([row, [1.0, 0.0, 0.0]])


@pytest.mark.parametrize("columns, says", [
    (["a", "x"], 'class "x" of the predictions: no node is given it, the labels have "a", "b"'),
    (["a", "a"], 'class "a" of the predictions: it is named twice'),
    (["a"], 'class "b" of the labels: the predictions have "a"'),
])
def test_columns_are_the_classes(columns, says):
    with pytest.raises(InputError, match=says):
        inputs.check_columns("p.parquet", columns, ["a", "b"])
