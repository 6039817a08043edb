"""Finds wrong labels of graphs: the Python side of graphcleaner.

`clean` goes from frames to suspects in one call. `open` asks a store that is there, in frames:

>>> import numpy, pandas, graphcleaner
>>> nodes = pandas.DataFrame({"paper_id": range(300), "subject": ["maths", "art", "law"] * 100})
>>> edges = pandas.DataFrame({"source": [*range(297), *range(291)], "target": [*range(3, 300), *range(9, 300)]})
>>> softmax = numpy.eye(3)[nodes.index % 3] * 0.7 + 0.1
>>> nodes.loc[19, "subject"] = "law"  # which is wrong: its neighbours are art, and so says the classifier
>>> found = graphcleaner.clean(nodes, edges, softmax, ["maths", "art", "law"],
...                            columns={"id": "paper_id", "label": "subject"},
...                            edge_columns={"src": "source", "dst": "target"})
>>> found[found.is_label_issue][["paper_id", "given_label", "suggested_label"]].to_dict("records")
[{'paper_id': 19, 'given_label': 'law', 'suggested_label': 'art'}]

The work is done by the program graphcleaner, which the wheel holds. Frames go to it and come from it as Parquet. Errors
are `GraphcleanerError`. Notes of the program go to the logger `graphcleaner`, as warnings where they may matter.

`from_networkx`, `from_pyg`, `read_ogb` and `read_dgl` make a `Graph`, which `clean` takes in place of nodes and edges.
`to_pyg` goes back. `graphcleaner.pyg` trains classifiers of PyTorch Geometric. `graphcleaner.spark` cleans graphs on
Apache Spark.
"""

from importlib.metadata import PackageNotFoundError, version

from ._clean import clean
from ._convert import from_networkx, from_pyg, to_pyg
from ._folders import read_dgl, read_ogb
from ._graph import Graph
from ._store import Audit, Neighborhood, Store, open
from .errors import GraphcleanerError

__all__ = ["Audit", "Graph", "GraphcleanerError", "Neighborhood", "Store", "clean", "from_networkx", "from_pyg", "open",
           "read_dgl", "read_ogb", "to_pyg"]

try:
    __version__ = version("graphcleaner")
except PackageNotFoundError:  # of sources that are not installed
    __version__ = "0.0.0"
