"""What clean does with predictions of classifiers that have seen the labels, and of those that have not.

Usage: seen.py BINARY FOLDER [NOISE ...]
  FOLDER  has nodes.csv (id, label), edges.csv and features.npz (scipy CSR): data/cora/csv
  NOISE   shares of labels that become another at random, default 0 0.05 0.1. The published labels count as right.
A row of the output: the classifier; with or without features in the store; what clean did; F1 without predictions, by
default, and with --out-of-fold.
"""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import normalize

MODELS = {
    "logistic regression": lambda: LogisticRegression(max_iter=200),
    "network, 8 epochs": lambda: MLPClassifier((64,), max_iter=8, learning_rate_init=0.01, random_state=0),
    "network, 60 epochs": lambda: MLPClassifier((64,), max_iter=60, learning_rate_init=0.01, random_state=0),
    "15 neighbours": lambda: KNeighborsClassifier(15),
}


def predict(model, x, labels, how):
    """Predictions [n, classes] of all nodes: out of fold, in sample, or in sample of 30% of the labels."""
    n, classes = len(labels), labels.max() + 1
    place = np.random.default_rng(5).permutation(n)
    folds = [place % 5 == k for k in range(5)] if how == "out of fold" else [np.ones(n, bool)]
    p = np.full((n, classes), 1e-9)
    for held in folds:
        train = ~held if how == "out of fold" else place < n * (0.3 if how == "30% seen" else 1)
        learner = MODELS[model]().fit(x[train], labels[train])
        p[np.ix_(held, learner.classes_)] += learner.predict_proba(x[held])
    return (p / p.sum(axis=1, keepdims=True)).astype(np.float32)


def clean(binary, home, tables, given, truth, ids, *flags):
    """What clean says of predictions, and F1."""
    subprocess.run(["rm", "-rf", home / "g"], check=True)
    subprocess.run([binary, "import", home / "g", *tables], check=True, capture_output=True)
    subprocess.run([binary, "clean", home / "g", *flags], check=True, capture_output=True)
    said = subprocess.run([binary, "shell", home / "g", "-c", "runs", "--format", "json"], check=True,
                          capture_output=True, text=True).stdout
    (home / "s.csv").unlink(missing_ok=True)
    subprocess.run([binary, "export", home / "g", "scores", "--out", home / "s.csv"], check=True, capture_output=True)
    run, score = json.loads(said)[-1], {r["id"]: float(r["score"]) for r in csv.DictReader((home / "s.csv").open())}
    flagged, wrong = np.array([score[i] for i in ids]) > run["threshold"], given != truth
    return run["prediction_use"] or "", 2 * (flagged & wrong).sum() / max(flagged.sum() + wrong.sum(), 1)


def main(binary, folder, *noises):
    home, data = Path(tempfile.mkdtemp()), Path(folder)
    rows = list(csv.DictReader((data / "nodes.csv").open()))
    ids, names = [r["id"] for r in rows], sorted({r["label"] for r in rows})
    at = {node: i for i, node in enumerate(ids)}
    truth = np.array([names.index(r["label"]) for r in rows])
    ends = np.array([(at[r["src"]], at[r["dst"]]) for r in csv.DictReader((data / "edges.csv").open())]).T
    a = sparse.csr_matrix((np.ones(ends.shape[1]), ends), shape=(len(ids),) * 2)
    a = ((a + a.T + sparse.eye(len(ids))) > 0).astype(float)
    s = sparse.diags(np.asarray(a.sum(axis=1)).ravel() ** -0.5)
    features = sparse.load_npz(data / "features.npz").astype(float)
    raw, smooth = normalize(features), normalize(s @ a @ s @ s @ a @ s @ features)
    inputs = {"15 neighbours": TruncatedSVD(50, random_state=0).fit_transform(smooth), "logistic regression": raw}
    print("| wrong | classifier | features | what clean did | without | default | --out-of-fold "
          "|\n|---|---|---|---|---|---|---|")
    for noise in map(float, noises or (0, 0.05, 0.1)):
        r = np.random.default_rng(101)
        given, flipped = truth.copy(), r.permutation(len(ids))[: int(noise * len(ids))]
        given[flipped] = (truth[flipped] + r.integers(1, len(names), len(flipped))) % len(names)
        (home / "n.csv").write_text("id,label\n" + "".join(f"{i},{names[k]}\n" for i, k in zip(ids, given)))
        for has in (True, False):
            tables = ["--nodes", home / "n.csv", "--edges", data / "edges.csv",
                      *(["--features", data / "features.npz"] if has else [])]
            alone = clean(binary, home, tables, given, truth, ids)[1]
            for model in MODELS:
                for how in ("out of fold", "in sample", "30% seen"):
                    np.save(home / "p.npy", predict(model, inputs.get(model, smooth), given, how))
                    of = [*tables, "--predictions", home / "p.npy"]
                    use, f1 = clean(binary, home, of, given, truth, ids)
                    joined = clean(binary, home, of, given, truth, ids, "--out-of-fold")[1]
                    kinds = ("left out", "left out"), ("nothing", "adds nothing"), ("", "joined")
                    did = next(name for word, name in kinds if word in use)
                    figures = " | ".join(f"{x:.3f}" for x in (alone, f1, joined))
                    print(f"| {noise:.0%} | {model}, {how} | {'yes' if has else 'no'} | {did} | {figures} |",
                          flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
