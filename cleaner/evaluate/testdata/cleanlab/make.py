"""Writes cases.json: what cleanlab flags on random labels and predictions.

    python -m venv venv && venv/bin/pip install cleanlab==2.9.0
    venv/bin/python make.py > cases.json
"""

import json
import warnings

import cleanlab
import numpy as np
from cleanlab.filter import find_label_issues

warnings.simplefilter("ignore")  # of classes with too few nodes


def case(seed):
    random = np.random.default_rng(seed)
    nodes, classes = int(random.integers(10, 100)), int(random.integers(2, 13))
    weights = random.dirichlet(np.full(classes, 0.7))  # some classes are rare, or have no node
    truth = random.choice(classes, nodes, p=weights)
    labels = np.where(random.random(nodes) < random.uniform(0, 0.5), random.choice(classes, nodes, p=weights), truth)
    logits = random.normal(size=(nodes, classes)) * random.uniform(0.3, 2)
    logits[np.arange(nodes), truth] += random.uniform(0, 4)
    p = np.exp(logits)
    p = np.round(p / p.sum(axis=1, keepdims=True), 6).astype(np.float32)
    flagged = find_label_issues(labels, p.astype(np.float64), n_jobs=1)
    return {
        "seed": seed, "classes": classes, "labels": labels.tolist(),
        "predictions": [[round(float(x), 6) for x in row] for row in p],
        "flagged": np.flatnonzero(flagged).tolist(),
    }


print(json.dumps({"cleanlab": cleanlab.__version__, "numpy": np.__version__, "cases": [case(s) for s in range(40)]},
                 separators=(",", ":")))
