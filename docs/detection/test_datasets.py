import numpy as np
import pytest

from datasets import Dataset, Files, inject


def graph(seed):
    random = np.random.default_rng(seed)
    n, classes = 400, 5
    truth = random.integers(0, classes, n)
    truth[::50] = -1
    return truth, list(random.choice(["train", "val", "test", "none"], n)), classes


@pytest.mark.parametrize("kind", ["sym", "asym"])
@pytest.mark.parametrize("rate", [0.1, 0.25])
def test_noise_has_its_share_in_every_class_of_every_split(kind, rate):
    truth, split, classes = graph(1)
    noisy = inject(truth, split, classes, kind, rate)
    y = np.maximum(truth, 0)
    group = np.array([{"val": 1, "test": 2}.get(name, 0) for name in split])
    for g in range(3):
        for j in range(classes):
            members = (group == g) & (y == j)
            assert (noisy[members] != j).sum() == int(members.sum() * rate)
    assert noisy.min() >= 0 and noisy.max() < classes
    if kind == "asym":
        wrong = noisy != y
        assert (noisy[wrong] == (y[wrong] + 1) % classes).all()


def test_noise_is_that_of_numpy_seed_1119():
    truth, split = np.repeat(np.arange(3), 10), ["train"] * 30
    random = np.random.RandomState(1119)
    drawn = [v for j in range(3) for v in random.choice(np.arange(10 * j, 10 * j + 10), size=2, replace=False)]
    assert set(np.flatnonzero(inject(truth, split, 3, "sym", 0.2) != truth)) == set(drawn)


def test_draws_differ_and_repeat():
    truth, split, classes = graph(2)
    draws = [inject(truth, split, classes, "sym", 0.1, draw) for draw in (1, 2, 2)]
    assert (draws[0] != draws[1]).any() and (draws[1] == draws[2]).all()
    assert (draws[0] == inject(truth, split, classes, "sym", 0.1)).all()


def test_wrong_labels_are_there_and_others(tmp_path):
    folder = tmp_path / "tiny" / "csv"
    folder.mkdir(parents=True)
    (folder / "nodes.csv").write_text("id,label\nx,é\ny,b\nz,b\nw,\n")
    labels = tmp_path / "labels.csv"
    labels.write_text("id,label\nx,b\ny,b\nz,\nw,\n")
    wrong = Files(tmp_path, tmp_path).wrong(Dataset("tiny", "tiny"), labels)
    assert wrong.tolist() == [True, False, False, False]
