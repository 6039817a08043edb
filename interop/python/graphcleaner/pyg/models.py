"""Networks whose forward takes x [n, d] (dense or sparse), the graph, and returns logits [n, c].

The graph is a torch.sparse_csr adjacency for GCN and GIN, so that no message is ever materialised, and an
edge_index for GraphUNet.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch_geometric.nn import MLP, GCNConv, GINConv
from torch_geometric.nn import GraphUNet as PooledUNet


class GCN(torch.nn.Module):
    """Graph convolutions (Kipf and Welling, arXiv:1609.02907) with ReLU and dropout between them.

    input_dropout is the share of inputs set to zero in training.
    """

    def __init__(self, inputs: int, hidden: int, classes: int, layers: int, dropout: float, input_dropout: float = 0):
        super().__init__()
        widths = [inputs] + [hidden] * (layers - 1) + [classes]
        self.convs = torch.nn.ModuleList(GCNConv(a, b, cached=True) for a, b in zip(widths, widths[1:]))
        self.dropout, self.input_dropout = dropout, input_dropout

    def forward(self, x, graph):
        if self.input_dropout:
            x = _drop(x, self.input_dropout, self.training)
        for conv in self.convs[:-1]:
            x = F.dropout(F.relu(conv(x, graph)), self.dropout, self.training)
        return self.convs[-1](x, graph)


class GIN(torch.nn.Module):
    """Graph isomorphism convolutions (Xu et al., arXiv:1810.00826) with ReLU and dropout between them.

    Each has a network of one hidden layer, batch-normalized.
    """

    def __init__(self, inputs: int, hidden: int, classes: int, layers: int, dropout: float):
        super().__init__()
        widths = [inputs] + [hidden] * (layers - 1) + [classes]
        self.convs = torch.nn.ModuleList(
            GINConv(MLP([a, b, b], norm="batch_norm")) for a, b in zip(widths, widths[1:])
        )
        self.dropout = dropout

    def forward(self, x, graph):
        for conv in self.convs[:-1]:
            x = F.dropout(F.relu(conv(x, graph)), self.dropout, self.training)
        return self.convs[-1](x, graph)


class GraphUNet(PooledUNet):
    """Graph U-Nets (Gao and Ji, arXiv:1905.05178) of depth 1.

    At this depth the graph of paths of two edges, from which half of the nodes are kept, depends on no parameter,
    so it is computed once.
    """

    def __init__(self, inputs: int, hidden: int, classes: int):
        super().__init__(inputs, hidden, classes, depth=1)
        self._augmented = None

    def augment_adj(self, edge_index, edge_weight, num_nodes):
        if self._augmented is None:
            self._augmented = super().augment_adj(edge_index, edge_weight, num_nodes)
        return self._augmented


def _drop(x, share: float, training: bool):
    """Dropout of a dense tensor, or of the stored entries of a sparse one."""
    if not x.is_sparse:
        return F.dropout(x, share, training)
    values = F.dropout(x.values(), share, training)
    return torch.sparse_coo_tensor(x.indices(), values, x.shape, is_coalesced=True)
