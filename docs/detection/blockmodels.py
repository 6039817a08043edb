"""Makes contextual block models of low homophily, as graphs that graphcleaner reads.

A graph has classes of the same size and Poisson degrees. Of the edges, the share HOMOPHILY joins nodes of the same
class; of the others each joins two classes at random. Features, where there are some, are normal around a mean of the
class: see Deshpande, Sen, Montanari, Mossel, arXiv:1807.09596.

    python blockmodels.py OUT --classes 2 3 5 --homophily 0 0.1 0.2 0.3
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np


def draw(classes: int, homophily: float, nodes: int, degree: float, random: np.random.Generator):
    """Labels [nodes] and edges [m×2], each pair of nodes once and none with itself."""
    labels = random.permutation(np.arange(nodes) % classes)
    members = [np.flatnonzero(labels == k) for k in range(classes)]
    m = random.poisson(nodes * degree / 2)
    left = random.integers(classes, size=m)
    other = (left + random.integers(1, classes, size=m)) % classes
    right = np.where(random.random(m) < homophily, left, other)
    ends = [np.array([random.choice(members[k]) for k in side], dtype=np.int64) for side in (left, right)]
    edges = np.sort(np.stack(ends, axis=1), axis=1)
    return labels, np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0)


def features(labels: np.ndarray, classes: int, width: int, signal: float, random: np.random.Generator) -> np.ndarray:
    """[nodes×width]: standard normal, around class means that lie signal from their middle."""
    means = random.standard_normal((classes, width))
    means -= means.mean(axis=0)
    means *= signal / np.linalg.norm(means, axis=1, keepdims=True)
    return (means[labels] + random.standard_normal((len(labels), width))).astype(np.float32)


def write(folder: Path, labels: np.ndarray, edges: np.ndarray, x: np.ndarray) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, header, rows in (
        ("nodes.csv", ("id", "label"), ((v, f"class {k}") for v, k in enumerate(labels))),
        ("edges.csv", ("src", "dst"), edges),
    ):
        with (folder / name).open("w", encoding="utf-8", newline="") as f:
            table = csv.writer(f)
            table.writerow(header)
            table.writerows(rows)
    np.save(folder / "features.npy", x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="directory; a folder a graph, blockmodel-CLASSES-HOMOPHILY")
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 3, 5])
    parser.add_argument("--homophily", type=float, nargs="+", default=[0, 0.1, 0.2, 0.3])
    parser.add_argument("--nodes", type=int, default=3000)
    parser.add_argument("--degree", type=float, default=10)
    parser.add_argument("--width", type=int, default=32, help="of the features")
    parser.add_argument("--signal", type=float, default=1.5, help="of the features: distance of class means")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for classes in asked.classes:
        for homophily in asked.homophily:
            random = np.random.default_rng([asked.seed, classes, round(1000 * homophily)])
            labels, edges = draw(classes, homophily, asked.nodes, asked.degree, random)
            x = features(labels, classes, asked.width, asked.signal, random)
            write(asked.out / f"blockmodel-{classes}-{homophily:g}", labels, edges, x)


if __name__ == "__main__":
    main()
