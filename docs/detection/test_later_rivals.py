import numpy as np
import pytest
from scipy import sparse

from later_rivals import contradictions, judged, losses, mixture, votes

EDGES = np.array([(0, 1), (0, 2), (0, 3), (0, 4), (5, 1), (5, 3), (6, 4), (6, 7)]).T
LABELS = np.array([0, 1, 1, 0, -1, 0, 1, 0, 1])


@pytest.fixture
def adjacency():
    a = sparse.coo_matrix((np.ones(EDGES.shape[1]), EDGES), (9, 9))
    return (a + a.T).tocsr()


def test_votes_are_shares_of_labelled_neighbours(adjacency):
    half = [0.5, 0.5]
    assert votes(adjacency, LABELS, 2) == pytest.approx(np.array(
        [[1 / 3, 2 / 3], [1, 0], [1, 0], [1, 0], half, half, [1, 0], [0, 1], half]))


def test_contradictions_are_influence_of_other_classes(adjacency):
    a = adjacency.toarray() + np.eye(9)
    root = np.diag(a.sum(axis=1) ** -0.5)
    pagerank = 0.15 * np.linalg.inv(np.eye(9) - 0.85 * root @ a @ root)
    want = [sum(pagerank[v, LABELS == j].mean() for j in (0, 1) if j != LABELS[v]) for v in range(9)]
    assert contradictions(adjacency, LABELS, 2) == pytest.approx(np.array(want), rel=0.02)


def test_losses_are_those_of_labels_that_a_network_learns(adjacency):
    found = losses(adjacency, LABELS, 2, np.eye(9, dtype=np.float32), 1)
    assert found[4] == 0 and (np.delete(found, 4) > 0).all() and found[2] > found[3]


def test_mixture_tells_two_gaussians_apart():
    random = np.random.default_rng(1)
    large = np.arange(200) < 40
    values = np.where(large, random.normal(3, 0.5, 200), random.normal(0, 0.5, 200))
    scores = mixture(values)
    assert ((scores > 0.5) == large).mean() > 0.98
    assert (np.diff(scores[np.argsort(values)]) >= 0).all() and scores.min() >= 0 and scores.max() <= 1


@pytest.mark.parametrize("values", [[1], [2, 2, 2], [0, 1], [0, 0, 0, 5], [-1, -1, 7, 7]])
def test_mixture_of_few_values_flags_those_above_the_least(values):
    assert ((mixture(np.array(values, float)) > 0.5) == (np.array(values) > min(values))).all()


def test_argmax_says_what_was_judged():
    scores, labels = np.array([0.2, 0.9, 0.9, 0.1, 0.7]), np.array([0, 1, 2, -1, 2])
    p = judged(scores, scores > 0.5, labels, 3).astype(np.float32)
    own = p[np.arange(5), labels][labels >= 0]
    assert ((p.max(axis=1)[labels >= 0] > own) == [False, True, True, True]).all()
    assert (np.argsort(own, kind="stable") == [1, 2, 3, 0]).all() and np.allclose(p.sum(axis=1), 1)
