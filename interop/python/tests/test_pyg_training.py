from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch_geometric", reason="the extra pyg is not installed: interop/python/setup.sh pyg makes an "
                                              "environment with it")

from graphcleaner.pyg import RECIPES, predict, read_graph  # noqa: E402
from graphcleaner.pyg.__main__ import main  # noqa: E402


def arguments(files, *more):
    names = ("nodes.csv", "edges.csv", "features.npz", "splits.csv")
    return [part for name in names for part in ("--" + name.split(".")[0], str(files / name))] + list(more)


@pytest.mark.parametrize("model", ["gcn", "gin", "graphunet"])
@pytest.mark.parametrize("keep", ["last", "loss", "accuracy"])
def test_models_learn_and_are_deterministic(files, model, keep):
    graph = read_graph(*(files / name for name in ("nodes.csv", "edges.csv", "features.npz", "splits.csv")))
    recipes = [replace(RECIPES[model][0], epochs=120, rate=0.01, keep=keep)]
    p = predict(graph, recipes, seed=3)
    assert p.shape == (80, 2) and p.dtype == np.float32
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-5)
    test = graph.splits == 3
    assert np.mean(p.argmax(axis=1)[test] == graph.labels[test]) > 0.75
    assert p.tobytes() == predict(graph, recipes, seed=3).tobytes()
    assert p.tobytes() != predict(graph, recipes, seed=4).tobytes()


def test_sparse_and_dense_inputs_agree(files, monkeypatch):
    graph = read_graph(*(files / name for name in ("nodes.csv", "edges.csv", "features.npz", "splits.csv")))
    recipes = [replace(RECIPES["gcn"][0], epochs=5)]
    monkeypatch.setattr("graphcleaner.pyg.training._SPARSE_BELOW", 0)
    dense = predict(graph, recipes, seed=1)
    monkeypatch.setattr("graphcleaner.pyg.training._SPARSE_BELOW", 1)
    np.testing.assert_allclose(predict(graph, recipes, seed=1), dense, atol=1e-4)


def test_early_stopping_keeps_the_best_epoch(files):
    graph = read_graph(*(files / name for name in ("nodes.csv", "edges.csv", "features.npz", "splits.csv")))
    recipe = replace(RECIPES["gcn-tuned"][0], rate=0.05, epochs=500, patience=5)
    p = predict(graph, [recipe], seed=1)
    # Once the best epoch is behind, a longer training that may not go on past it keeps the same predictions.
    np.testing.assert_array_equal(p, predict(graph, [replace(recipe, epochs=501)], seed=1))


def test_command_writes_one_file_a_seed(files, capsys):
    out = str(files / "p.{seed}.npy")
    assert main(arguments(files, "--model", "graphunet", "--seed", "1", "2", "--out", out)) == 0
    first, second = (np.load(out.replace("{seed}", s), allow_pickle=False) for s in "12")
    assert first.shape == (80, 2) and not np.array_equal(first, second)
    assert "seed 2: agrees with the given labels: train" in capsys.readouterr().err


def test_command_says_what_is_wrong(files, capsys):
    (files / "splits.csv").write_text("id,split\nn0,train\n")
    assert main(arguments(files, "--out", str(files / "p.npy"))) == 1
    assert "no labelled node in the validation split" in capsys.readouterr().err
    assert not (files / "p.npy").exists()
