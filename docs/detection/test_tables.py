from argparse import Namespace
from types import SimpleNamespace

import numpy as np
import pytest

from bench import Bench
from datasets import DATASETS, Cell, Dataset, Files, read
from figures import markdown
from programs import Cleaned
from tables import paper, rivals, steady
from tables.made import block_model
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


@pytest.fixture
def tiny(tmp_path):
    folder = tmp_path / "tiny" / "csv"
    folder.mkdir(parents=True)
    (folder / "nodes.csv").write_text("id,label\nn0,a\nn1,b\nn2,\nn3,b\n")
    (folder / "edges.csv").write_text("src,dst\nn0,n1\nn0,n3\n")
    return Files(tmp_path, tmp_path), Dataset("tiny", "tiny", features=None)


def test_random_predictions_are_of_the_draw(tiny):
    files, d = tiny
    one, two = (np.load(random_predictions(files, Cell(d, "sym", "0.1", draw))) for draw in (1, 2))
    assert one.shape == (4, 2) and np.allclose(one.sum(axis=1), 1) and (one != two).any()


def test_markdown_has_a_row_a_line():
    assert markdown(["a", "b"], [[1, "x"]]) == ["| a | b |", "| --- | --- |", "| 1 | x |"]


CORA = Cell(DATASETS["cora"], "sym", "0.1")


def test_noise_leaves_out_rivals_and_kinds_that_need_features(monkeypatch):
    asked = Namespace(draws=1, jobs=1, datasets=["cora", "pubmed", "pubmed_llm"], rates=[0.1], without=["aum"])
    measured = []

    def figures(_, cell, methods):
        measured.append((cell.dataset.name, cell.kind))
        assert "aum" not in methods
        figures = dict.fromkeys(("f1", "mcc", "p_at_t", "average_precision", "flagged"), 0.5)
        return {name: {"by_split": {"all": figures | {"f1": 0.4 if name == "default" else 0.5}}}
                for name in ("default", *methods)}

    monkeypatch.setattr(rivals, "_drawn_by_eval", figures)
    lines = rivals.noise(Bench(None, None, asked))
    assert len(measured) == 7 + 4 + 1 + 2 and ("pubmed", "feature") not in measured
    assert "Below the best rival: 12 of 48:" in lines and "- pubmed_llm (structure) natural F1 0.400, paper 0.500" in lines


def test_overlap_and_suggestions(tiny):
    files, d = tiny
    (files.data / "tiny" / "csv" / "nodes.csv").write_text("id,label\n" + "".join(f"n{i},a\n" for i in range(30)))
    (files.work / "noisy.csv").write_text("id,label\n" + "".join(f"n{i},{'b' if i < 4 else 'a'}\n" for i in range(30)))

    class Programs:
        def drawn(self, cell):
            return files.work / "noisy.csv", None

        def clean(self, d, labels, seed):  # the first 2 are found; seed 2 has 5 others among the first 20
            scores = np.arange(30, 0, -1) / 30
            if seed == 2:
                scores[15:25] = scores[15:25][::-1]
            return Cleaned(scores, ["a", "c", "a", "a"] + ["b"] * 26, {"threshold": 28.5 / 30})

    bench = SimpleNamespace(programs=Programs(), files=files, draws=range(1, 3))
    overlap, found, every = steady.measure(bench, bench.programs, Cell(d, "sym", "0.1"))
    assert (overlap.mean, found.mean, every.mean) == (0.75, 0.5, 0.75)


def test_ahead_counts_the_cells_above_the_paper():
    def draw(f1, mcc):
        return {"default": {"f1": f1, "mcc": mcc, "p_at_t_flagged": 0.9, "p_at_t": 0.9, "ece": 0.01}}

    lines = paper._beside_graphcleaner({CORA: [draw(0.85, 0.7), draw(0.75, 0.7)]})  # the paper has .790, .773, .803
    assert "Cells in which the mean of default is above the paper's: F1 in 1 of 1, MCC in 0 of 1, P@T in 1 of 1." in lines
    assert "- cora sym 10.0% MCC 0.700 ± 0.000, paper 0.773" in lines


def test_block_models_are_made_once(tmp_path):
    pytest.importorskip("blockmodels")
    files = Files(tmp_path, tmp_path)
    d = block_model(files, 5, 0.2, 4, features=False)
    nodes = files.source(d, "nodes.csv")
    assert len({r["label"] for r in read(nodes)}) == 5 and "--features" not in files.graph(d)
    before = nodes.stat().st_mtime_ns
    assert "--features" in files.graph(block_model(files, 5, 0.2, 4, features=True))
    assert nodes.stat().st_mtime_ns == before
