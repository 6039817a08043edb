"""Base classifiers of PyTorch Geometric: the extra `graphcleaner[pyg]`.

`predict` trains a network on a graph, and gives the predictions of every node. `from_pyg` and `to_pyg` of the package
`graphcleaner` go between its graphs and yours.
"""

try:
    import torch_geometric  # noqa: F401
    from scipy import sparse  # noqa: F401
except ImportError as error:
    raise ImportError(f"graphcleaner.pyg wants {error.name}: pip install 'graphcleaner[pyg]'") from error

from .files import read_graph, read_labels, read_splits, write_predictions
from .training import RECIPES, Recipe, predict

__all__ = ["RECIPES", "Recipe", "predict", "read_graph", "read_labels", "read_splits", "write_predictions"]
