"""Made graphs: contextual block models, by blockmodels.py of this directory's parent."""

from __future__ import annotations

import numpy as np

from datasets import Dataset, Files

NODES, WIDTH, SIGNAL = 3000, 32, 1.5
# Of graphs whose neighbours disagree: classes, homophily, mean degree, whether there are features.
BLOCK_MODELS = [(c, h, 10, x) for c in (2, 5) for h in (0.0, 0.1, 0.2, 0.3) for x in (True, False)]


def block_model(files: Files, classes: int, homophily: float, degree: float, features: bool) -> Dataset:
    """A graph of NODES nodes whose files are in the working directory."""
    import blockmodels

    name = f"blockmodel-{classes}-{homophily:g}-{degree:g}"
    folder = files.work / "made" / name
    if not folder.exists():
        random = np.random.default_rng([1, classes, round(1000 * homophily)])
        labels, edges = blockmodels.draw(classes, homophily, NODES, degree, random)
        x = blockmodels.features(labels, classes, WIDTH, SIGNAL, random)
        part = folder.with_name(f"{name}.part")
        blockmodels.write(part, labels, edges, x)
        part.replace(folder)
    return Dataset(name, name, features="features.npy" if features else None, made=True)
