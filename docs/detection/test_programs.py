import hashlib
import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from graphcleaner.pyg import Recipe
from scipy import sparse

import programs
from datasets import Cell, Dataset, Files
from programs import Programs, key

# A program that answers with what it was given, and counts its runs in a file beside it.
PROGRAM = f"""#!{sys.executable}
import json, pathlib, sys
if sys.argv[1:] == ["--version"]:
    print("graphcleaner v9")
else:
    with open(pathlib.Path(__file__).with_name("runs"), "a") as runs:
        runs.write("run\\n")
    print(json.dumps({{"methods": [{{"name": "paper", "repeats": [{{"args": sys.argv[1:]}}]}}]}}))
"""
CELL = Cell(Dataset("tiny", "tiny"), "sym", "0.1")


@pytest.fixture
def made(tmp_path):
    """Programs with a data set of 40 nodes in two classes."""
    folder = tmp_path / "data" / "tiny" / "csv"
    folder.mkdir(parents=True)
    split = ("train", "val", "test")
    (folder / "nodes.csv").write_text("id,label\n" + "".join(f"n{v},{'ab'[v % 2]}\n" for v in range(40)))
    (folder / "edges.csv").write_text("src,dst\n" + "".join(f"n{v},n{v + 2}\n" for v in range(38)))
    (folder / "split.csv").write_text("id,split\n" + "".join(f"n{v},{split[v // 2 % 3]}\n" for v in range(40)))
    (folder / "meta.json").write_text(json.dumps({"classes": ["a", "b"]}))
    sparse.save_npz(folder / "features.npz", sparse.csr_matrix(np.eye(2, dtype=np.float32)[np.arange(40) % 2]))
    binary = tmp_path / "graphcleaner"
    binary.write_text(PROGRAM)
    binary.chmod(0o755)
    (tmp_path / "work").mkdir()
    return Programs(Files(tmp_path / "data", tmp_path / "work"), binary, threads=1)


def runs(made):
    return (made.binary.parent / "runs").read_text().count("run")


def test_key_is_of_contents(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("x")
    other.write_text("x")
    assert key("--nodes", one) == key("--nodes", other) and len(key(one)) == 12
    assert key("ab", "c") != key("a", "bc")
    other.write_text("y")
    assert key("--nodes", one) != key("--nodes", other)


@pytest.mark.parametrize("changed", ["nodes", "edges", "features", "splits", "noise", "predictions"])
def test_results_are_kept_by_contents(made, tmp_path, changed):
    p = tmp_path / "p.npy"
    p.write_bytes(b"1")
    first = made.eval(CELL, ["paper"], p)
    assert made.eval(CELL, ["paper"], p) == first and runs(made) == 1
    args = first["paper"]["args"]
    assert args[args.index("--noise") + 1] == f"file:{made.files.noisy_labels(CELL)}"
    path = {
        "nodes": made.files.source(CELL.dataset, "nodes.csv"),
        "edges": made.files.source(CELL.dataset, "edges.csv"),
        "features": made.files.source(CELL.dataset, "features.npz"),
        "splits": made.files.splits(CELL.dataset),
        "noise": made.files.noisy_labels(CELL),
        "predictions": p,
    }[changed]
    path.write_bytes(path.read_bytes() + b"\n")
    made.eval(CELL, ["paper"], p)
    assert runs(made) == 2
    assert len(list(made.kept.glob("*.json"))) == 2 and not list(made.kept.glob("*.part"))


def test_half_written_results_are_not_taken(made, tmp_path):
    made.eval(CELL, ["paper"])
    kept = next(made.kept.glob("*.json"))
    kept.rename(kept.with_name(kept.name + ".part")).write_text('{"meth')
    assert made.eval(CELL, ["paper"])["paper"] and runs(made) == 2
    assert not list(made.kept.glob("*.part"))


def test_predictions_are_kept_by_code_versions_and_contents(made, monkeypatch, tmp_path):
    seeds = []

    def predict(graph, recipes, seed, threads):
        seeds.append(seed)
        return np.full((graph.num_nodes, 2), 0.5)

    monkeypatch.setattr(programs, "predict", predict)
    first = [made.predictions(replace(CELL, draw=draw), "gcn") for draw in (1, 2)]
    assert made.predictions(CELL, "gcn") == first[0] and seeds == [1, 2]
    assert all(np.load(path, allow_pickle=False).shape == (40, 2) for path in first)

    monkeypatch.setattr(programs.torch, "__version__", "0")
    second = made.predictions(CELL, "gcn")
    monkeypatch.setattr(programs.torch_geometric, "__version__", "0")
    third = made.predictions(CELL, "gcn")
    code = tmp_path / "training.py"
    code.write_text("other")
    monkeypatch.setattr(programs, "_TRAINING", [*programs._TRAINING[:-1], code])
    fourth = made.predictions(CELL, "gcn")
    noisy = made.files.noisy_labels(CELL)
    noisy.write_text(noisy.read_text().replace("n0,a", "n0,b"))
    fifth = made.predictions(CELL, "gcn")
    assert len({*first, second, third, fourth, fifth}) == 6 and seeds == [1, 2, 1, 1, 1, 1]


def test_labels_of_eval_are_those_of_both_halves(made, monkeypatch):
    """Each half of the nodes is the test split once, of whose labels alone the file of --flags tells."""
    def eval_flags(*args):
        args = list(map(str, args))
        splits, flags = (args[args.index(name) + 1] for name in ("--splits", "--flags"))
        with open(splits) as split, open(flags, "w") as out:
            out.write("id,given_label\n"
                      + "".join(f"{row[:-6]},noisy {row[:-6]}\n" for row in split if row.endswith(",test\n")))

    monkeypatch.setattr(Programs, "graphcleaner", lambda self, *args: eval_flags(*args))
    labels, splits = made.drawn(CELL)
    assert labels.read_text() == "id,label\n" + "".join(f"n{v},noisy n{v}\n" for v in range(40))
    assert splits == made.files.splits_at_random(CELL.dataset, 1) and made.drawn(CELL)[0] == labels


def test_draws_of_eval_are_kept_apart(made):
    """Each has the draw for its seed, and its own noise."""
    args = [made.eval(replace(CELL, draw=draw), ["paper"])["paper"]["args"] for draw in (1, 2)]
    assert [one[one.index("--seed") + 1] for one in args] == ["1", "2"] and runs(made) == 2
    assert len({one[one.index("--noise") + 1] for one in args}) == 2
    made.eval(CELL, ["paper"], more=["--expect", "0.1"])
    assert runs(made) == 3


def test_out_of_fold_predictions_are_of_those_held_out(made, monkeypatch):
    """Each row comes from the training that held its node out, and that one saw no label of it."""
    held = np.arange(40) % 4 == np.arange(4)[:, None]
    watched = ~held & (np.arange(40) % 5 == 0)
    trained = []

    def predict(graph, recipes, seed, threads):
        trained.append(graph.splits)
        return np.eye(2)[np.full(40, len(trained) % 2)]

    monkeypatch.setattr(programs, "predict", predict)
    nodes = made.files.noisy_labels(CELL)
    p = np.load(made.fold_predictions(CELL, Recipe("gcn"), nodes, held, watched), allow_pickle=False)
    for i, (splits, out, stop) in enumerate(zip(trained, held, watched)):
        assert (p[out].argmax(axis=1) == (i + 1) % 2).all()
        assert ((splits == 3) == out).all() and ((splits == 2) == stop).all()
    made.fold_predictions(CELL, Recipe("gcn"), nodes, held, watched)
    assert len(trained) == 4


def test_version_is_that_of_the_binary(made):
    digest = hashlib.sha256(made.binary.read_bytes()).hexdigest()[:12]
    assert made.version() == f"graphcleaner v9, sha256 {digest}"
