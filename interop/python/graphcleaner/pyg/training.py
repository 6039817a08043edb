"""Training of base classifiers on a graph with given, maybe wrong, labels."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from scipy import sparse

from .._graph import Graph
from .._rules import SPLITS
from ..errors import GraphcleanerError
from .models import GCN, GIN, GraphUNet

_TRAIN, _VAL = SPLITS.index("train"), SPLITS.index("val")

# Below this share of entries that are not zero, the first product is faster with sparse inputs.
_SPARSE_BELOW = 0.05


@dataclass(frozen=True)
class Recipe:
    """How a network is made and trained: full batches, Adam, cross-entropy.

    network        GCN, GIN or GraphUNet
    keep           "last": the predictions after the last epoch; "loss", "accuracy": those of the epoch with the
                   best of it on the validation nodes
    patience       epochs without a better value of keep before training stops; None: never
    row_normalize  features of each node are divided by their sum
    """

    network: str
    layers: int = 3
    hidden: int = 256
    dropout: float = 0.5
    input_dropout: float = 0.0
    rate: float = 0.001
    decay: float = 5e-4
    epochs: int = 200
    keep: str = "last"
    patience: int | None = None
    row_normalize: bool = False


def _tuned() -> list[Recipe]:
    return [
        Recipe(
            "gcn",
            layers=2,
            hidden=hidden,
            dropout=dropout,
            input_dropout=dropout,
            rate=0.01,
            decay=decay,
            epochs=1000,
            keep="loss",
            patience=100,
            row_normalize=row_normalize,
        )
        for hidden, dropout, decay, row_normalize in [
            (64, 0.5, 5e-4, True),
            (64, 0.8, 5e-4, False),
            (256, 0.5, 5e-5, True),
            (256, 0.5, 0.0, False),
        ]
    ]


# RECIPES: gcn, gin and graphunet have the hyper-parameters of GraphCleaner's experiments (arXiv:2306.00015); of the
# candidates of gcn-tuned the one with the least validation loss is taken.
RECIPES: dict[str, Sequence[Recipe]] = {
    "gcn": [Recipe("gcn")],
    "gin": [Recipe("gin", layers=2)],
    "graphunet": [Recipe("graphunet", hidden=16)],
    "gcn-tuned": _tuned(),
}


def predict(
    graph: Graph,
    recipes: Sequence[Recipe],
    *,
    seed: int,
    train_on_rest: bool = False,
    threads: int = 1,
    progress: Callable[[str], None] = lambda _: None,
) -> np.ndarray:
    """Trains on the given labels of the training split and returns the predictions [n, c] float32 of every node.

    With train_on_rest the labelled nodes in no split are trained on as well. Of several recipes the one with the
    least validation loss gives the predictions. The same seed, threads and versions give the same bytes.
    """
    if graph.features is None:
        raise GraphcleanerError("no features, want some: these networks learn from nothing else")
    if graph.splits is None:
        raise GraphcleanerError("no splits, want a file with id,split or a column split of the nodes")
    labelled = graph.labels >= 0
    train = labelled & (graph.splits == _TRAIN)
    if train_on_rest:
        train |= labelled & (graph.splits == SPLITS.index("none"))
    val = labelled & (graph.splits == _VAL)
    for name, mask in (("training", train), ("validation", val)):
        if not mask.any():
            raise GraphcleanerError(f"no labelled node in the {name} split, want some")
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(threads)

    best, least = None, math.inf
    for i, recipe in enumerate(recipes):
        logits, loss = _train(graph, recipe, train, val, seed)
        progress(f"recipe {i + 1} of {len(recipes)}: validation loss {loss:.4f}: {recipe}")
        if best is None or loss < least:
            best, least = logits, loss
    return best.softmax(dim=1).numpy()


def _train(graph: Graph, recipe: Recipe, train: np.ndarray, val: np.ndarray, seed: int) -> tuple[torch.Tensor, float]:
    """The logits that recipe keeps, and their validation loss."""
    torch.manual_seed(seed)
    x, topology = _inputs(graph, recipe), _topology(graph, recipe)
    network = _network(recipe, x.shape[1], len(graph.classes))
    optimizer = torch.optim.Adam(network.parameters(), lr=recipe.rate, weight_decay=recipe.decay)
    y = torch.from_numpy(graph.labels)
    train_rows, val_rows = torch.from_numpy(np.flatnonzero(train)), torch.from_numpy(np.flatnonzero(val))

    kept, kept_loss, best, best_epoch = None, math.nan, math.inf, 0
    for epoch in range(recipe.epochs):
        network.train()
        optimizer.zero_grad()
        F.cross_entropy(network(x, topology)[train_rows], y[train_rows]).backward()
        optimizer.step()

        is_last = epoch == recipe.epochs - 1
        if recipe.keep == "last" and not is_last:
            continue
        network.eval()
        with torch.no_grad():
            logits = network(x, topology)
            loss = F.cross_entropy(logits[val_rows], y[val_rows]).item()
            wrong = (logits[val_rows].argmax(dim=1) != y[val_rows]).float().mean().item()
        value = {"last": -epoch, "loss": loss, "accuracy": wrong}[recipe.keep]
        if value < best:
            kept, kept_loss, best, best_epoch = logits, loss, value, epoch
        if recipe.patience is not None and epoch - best_epoch >= recipe.patience:
            break
    if kept is None or not torch.isfinite(kept).all():
        raise GraphcleanerError(f"training of {recipe} gave no finite predictions, want a lower rate")
    return kept, kept_loss


def _network(recipe: Recipe, inputs: int, classes: int) -> torch.nn.Module:
    match recipe.network:
        case "gcn":
            return GCN(inputs, recipe.hidden, classes, recipe.layers, recipe.dropout, recipe.input_dropout)
        case "gin":
            return GIN(inputs, recipe.hidden, classes, recipe.layers, recipe.dropout)
        case "graphunet":
            return GraphUNet(inputs, recipe.hidden, classes)
    raise GraphcleanerError(f"network {recipe.network}: want gcn, gin or graphunet")


def _inputs(graph: Graph, recipe: Recipe) -> torch.Tensor:
    x = sparse.csr_matrix(graph.features)
    if recipe.row_normalize:
        sums = np.asarray(np.abs(x).sum(axis=1)).ravel()
        x = sparse.diags(1 / np.where(sums > 0, sums, 1)) @ x
    x = x.astype(np.float32).tocoo()
    if recipe.network != "gcn" or x.nnz > _SPARSE_BELOW * x.shape[0] * x.shape[1]:
        return torch.from_numpy(x.toarray())
    indices = torch.from_numpy(np.stack([x.row, x.col]).astype(np.int64))
    return torch.sparse_coo_tensor(indices, torch.from_numpy(x.data), x.shape).coalesce()


def _topology(graph: Graph, recipe: Recipe) -> torch.Tensor:
    a = graph.adjacency()
    if recipe.network == "graphunet":
        a = a.tocoo()
        return torch.from_numpy(np.stack([a.row, a.col]).astype(np.int64))
    parts = (torch.from_numpy(part.astype(np.int64)) for part in (a.indptr, a.indices))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(*parts, torch.from_numpy(a.data), size=a.shape)
