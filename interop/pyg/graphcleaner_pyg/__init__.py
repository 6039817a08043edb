"""Base classifiers of PyTorch Geometric for graphcleaner.

n is the number of nodes, c of classes, m of edges, d of features. Rows are nodes in the order of the node file,
columns classes in the order of graphcleaner: as numbers where all are numbers, else by bytes.
"""

from .files import Graph, read_graph, read_labels, read_splits, write_predictions
from .training import RECIPES, Recipe, predict

__all__ = [
    "RECIPES",
    "Graph",
    "Recipe",
    "predict",
    "read_graph",
    "read_labels",
    "read_splits",
    "write_predictions",
]
