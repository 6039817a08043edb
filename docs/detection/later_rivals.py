"""Rivals of graphcleaner that came after its paper, as predictions on which a method of `eval` says what the rival
says.

    later_rivals.py --nodes F --edges F [--features F] --labels NOISY --out DIR [--seed 1]
    graphcleaner eval --nodes F --edges F --noise file:NOISY --splits F --predictions DIR/label-vote.npy --method argmax

Directions and weights of edges are left out. README.md tells the methods and their sources.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy import sparse

# By rival the method of `eval` that judges its predictions.
JUDGES = {"loss-mixture": "argmax", "label-vote": "argmax", "confident-vote": "confident-learning",
          "influence-contradiction": "argmax"}
RESTART, STEPS = 0.15, 30  # of the walks of influence-contradiction
EPOCHS, WIDTH, RATE = 100, 64, 0.01  # of the network of loss-mixture
TIED_BY_VALUE = 1e-9  # of the score: it orders nodes of one posterior


def predictions(
    adjacency: sparse.spmatrix, labels: np.ndarray, classes: int, features: sparse.spmatrix | np.ndarray | None,
    seed: int
) -> dict[str, np.ndarray]:
    """By rival predictions [n, classes]; adjacency is 0 or 1 and symmetric, labels are -1 where there is none."""
    found = {"label-vote": votes(adjacency, labels, classes)}
    found["confident-vote"] = found["label-vote"]
    for name, values in (("influence-contradiction", contradictions(adjacency, labels, classes)),
                         ("loss-mixture", losses(adjacency, labels, classes, features, seed))):
        known = labels >= 0
        scores = np.zeros(len(labels))
        scores[known] = mixture(values[known])
        found[name] = judged(scores, scores > 0.5, labels, classes)
    return found


def judged(scores: np.ndarray, flagged: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    """Predictions [n, classes] on which argmax ranks nodes as scores do, and flags those that are flagged.

    All flagged nodes must have higher scores than the others.
    """
    _, rank = np.unique(scores, return_inverse=True)
    wrong = (rank + 1) / (rank.max() + 2) / 2 + flagged / 2
    p = np.zeros((len(labels), classes))
    rows, y = np.arange(len(labels)), np.maximum(labels, 0)
    p[rows, y], p[rows, (y + 1) % classes] = 1 - wrong, wrong
    return p


def votes(adjacency: sparse.spmatrix, labels: np.ndarray, classes: int) -> np.ndarray:
    """The shares of the labels among the labelled neighbours [n, classes], all the same where there are none."""
    counts = (adjacency @ _one_hot(labels, classes)).toarray()
    every = counts.sum(axis=1, keepdims=True)
    return np.divide(counts, every, out=np.full(counts.shape, 1 / classes), where=every > 0)


def contradictions(adjacency: sparse.spmatrix, labels: np.ndarray, classes: int) -> np.ndarray:
    """The mean influence of the nodes of each other class, added up [n]."""
    step, one_hot = _normalized(adjacency), _one_hot(labels, classes).toarray()
    x, influence = one_hot, np.zeros(one_hot.shape)
    for k in range(1, STEPS + 1):
        x = step @ x
        influence += RESTART * (1 - RESTART) ** k * x
    return (influence / np.maximum(one_hot.sum(axis=0), 1) * (1 - one_hot)).sum(axis=1)


def losses(adjacency: sparse.spmatrix, labels: np.ndarray, classes: int, features, seed: int) -> np.ndarray:
    """The cross-entropies [n] of a GCN of two layers that learns all labels in full batches, mean over its epochs."""
    step, one_hot = _normalized(adjacency), _one_hot(labels, classes).toarray()
    x = sparse.csr_matrix(sparse.identity(len(labels)) if features is None else features)
    random, known = np.random.default_rng(seed), labels >= 0
    weights = [random.normal(0, np.sqrt(2 / (a + b)), (a, b)) for a, b in ((x.shape[1], WIDTH), (WIDTH, classes))]
    first, second = ([np.zeros_like(w) for w in weights] for _ in range(2))  # moments of Adam
    sums = np.zeros(len(labels))
    for epoch in range(1, EPOCHS + 1):
        hidden = step @ (x @ weights[0])
        active = np.maximum(hidden, 0)
        z = step @ (active @ weights[1])
        log_p = z - np.logaddexp.reduce(z, axis=1, keepdims=True)
        sums -= (log_p * one_hot).sum(axis=1)
        error = step @ ((np.exp(log_p) - one_hot) * known[:, None] / known.sum())
        slopes = [x.T @ (step @ (error @ weights[1].T * (hidden > 0))), active.T @ error]
        for w, slope, m, v in zip(weights, slopes, first, second):
            m += 0.1 * (slope - m)
            v += 0.001 * (slope * slope - v)
            w -= RATE * m / (1 - 0.9**epoch) / (np.sqrt(v / (1 - 0.999**epoch)) + 1e-8)
    return sums / EPOCHS


def mixture(values: np.ndarray) -> np.ndarray:
    """The posterior of the component of larger mean, of a mixture of two Gaussians as GaussianMixture of scikit-learn
    fits it.

    Beyond the two means it is that at the nearer one. Equal posteriors are in the order of the values.
    """
    span = np.ptp(values)
    if span == 0:
        return np.zeros(len(values))
    x = (values - values.min()) / span
    in_order = np.sort(x)
    count, sums = np.arange(1, len(x)), np.cumsum(in_order)
    cut = in_order[np.argmax(sums[:-1] ** 2 / count + (sums[-1] - sums[:-1]) ** 2 / (len(x) - count)) + 1]
    least, shares, before = 1e-6 * x.var(), np.stack([x < cut, x >= cut]).astype(float), -np.inf
    for _ in range(101):
        weight = shares.sum(axis=1)
        mean = shares @ x / weight
        variance = np.maximum(shares @ x**2 / weight - mean**2, 0) + least
        density = _log_density(x, mean, variance, weight / len(x))
        likelihood = np.logaddexp(*density).mean()
        shares = np.exp(density - np.logaddexp(*density))
        if likelihood - before < 1e-3 or shares.sum(axis=1).min() == 0:
            break
        before = likelihood
    low, high = np.argsort(mean)
    density = _log_density(np.clip(x, mean[low], mean[high]), mean, variance, weight / len(x))
    return (1 - TIED_BY_VALUE) * np.exp(-np.logaddexp(0, density[low] - density[high])) + TIED_BY_VALUE * x


def _log_density(x: np.ndarray, mean: np.ndarray, variance: np.ndarray, weight: np.ndarray) -> np.ndarray:
    mean, variance, weight = mean[:, None], variance[:, None], weight[:, None]
    return np.log(weight) - (np.log(2 * np.pi * variance) + (x - mean) ** 2 / variance) / 2


def _one_hot(labels: np.ndarray, classes: int) -> sparse.csr_matrix:
    known = np.flatnonzero(labels >= 0)
    return sparse.csr_matrix((np.ones(len(known)), (known, labels[known])), (len(labels), classes))


def _normalized(adjacency: sparse.spmatrix) -> sparse.csr_matrix:
    """(D+I)^(-1/2) (A+I) (D+I)^(-1/2)."""
    with_loops = sparse.csr_matrix(adjacency, dtype=np.float64) + sparse.identity(adjacency.shape[0], format="csr")
    root = sparse.diags(1 / np.sqrt(np.asarray(with_loops.sum(axis=1)).ravel()))
    return (root @ with_loops @ root).tocsr()


def main() -> None:
    from graphcleaner.pyg import read_graph, write_predictions

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("nodes", "edges", "features", "labels", "out"):
        parser.add_argument(f"--{flag}", type=Path, required=flag != "features")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    graph = read_graph(asked.nodes, asked.edges, asked.features, labels=asked.labels)
    asked.out.mkdir(parents=True, exist_ok=True)
    found = predictions(graph.adjacency(), graph.labels, len(graph.classes), graph.features, asked.seed)
    for name, p in found.items():
        write_predictions(asked.out / f"{name}.npy", p, graph)


if __name__ == "__main__":
    main()
