"""Trains a classifier of scikit-learn as a user of graphcleaner might, and writes its predictions.

Usage: user_classifiers.py MODEL SEED FOLDER
  MODEL   mlp: 64 hidden units, 60 epochs, on features smoothed twice over the graph; logistic: on the raw features
  FOLDER  has features.npz, adjacency.npz (scipy CSR) and task.npz: labels [n], -1 where there is none, classes (their
          number) and folds [k, n], who is held out in each of k trainings. p.npy [n, c] is written there: one
          training predicts all nodes; of several, each those that it held out.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import normalize


def smooth(features: sparse.csr_matrix, adjacency: sparse.csr_matrix) -> sparse.csr_matrix:
    """S²X with rows of length 1, where S is the symmetrically normalized adjacency with self loops."""
    a = adjacency + sparse.eye(adjacency.shape[0])
    scale = sparse.diags(np.asarray(a.sum(axis=1)).ravel() ** -0.5)
    s = scale @ a @ scale
    return normalize((s @ (s @ features)).tocsr())


def predict(model: str, x: sparse.csr_matrix, labels: np.ndarray, classes: int, folds: np.ndarray, seed: int):
    """Predictions [n, classes]; a class that a training has not seen has next to no chance."""
    p = np.empty((len(labels), classes))
    for held in folds:
        if model == "mlp":
            learner = MLPClassifier((64,), max_iter=60, learning_rate_init=0.01, random_state=seed)
        else:
            learner = LogisticRegression(max_iter=300)
        train = (labels >= 0) & ~held
        learner.fit(x[train], labels[train])
        rows = held if len(folds) > 1 else np.ones(len(labels), bool)
        some = np.full((rows.sum(), classes), 1e-9)
        some[:, learner.classes_] = learner.predict_proba(x[rows])
        p[rows] = some / some.sum(axis=1, keepdims=True)
    return p


def main(model: str, seed: str, folder: str) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)  # 60 epochs are what the user asked for
    home = Path(folder)
    x = sparse.load_npz(home / "features.npz")
    if model == "mlp":
        x = smooth(x, sparse.load_npz(home / "adjacency.npz"))
    task = np.load(home / "task.npz", allow_pickle=False)
    p = predict(model, x, task["labels"], int(task["classes"]), task["folds"], int(seed))
    np.save(home / "p.npy", p, allow_pickle=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
