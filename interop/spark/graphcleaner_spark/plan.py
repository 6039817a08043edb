"""How a graph is cut: pure functions.

Nodes have numbers in descending degree. They are cut in R ranges; the adjacency is cut in R×R blocks. More ranges need
less memory in a worker, and send more bytes around.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .errors import GraphcleanerError
from .frames import AIM_PAYLOAD

GREATEST_HOPS = 3
GREATEST_NODES = 1 << 32  # positions of nodes are 32 bits
_GREATEST_CHUNK = 1 << 16
_PARTITION_BYTES = 128 << 20
_SKEW = 4  # how much fuller than the mean a block may be
# What triangles hold of a neighbour, in three blocks, with what the search takes; and of a node of three ranges.
_TRIANGLE_ARC, _TRIANGLE_NODE = 3 * 4 + 16, 3 * (16 + 8) + 57
# of a block is one frame. A neighbour takes a byte there, and one more for each gap of 128 nodes
_GREATEST_ROW = 60_000_000


@dataclass(frozen=True)
class Plan:
    """How a graph is cut.

    nodes, arcs           the graph: an undirected edge is two arcs
    cores                 tasks at once
    max_nodes, max_arcs   of a range; a range of one node may have more arcs
    chunk                 rows of a frame of values of nodes
    """

    nodes: int
    arcs: int
    cores: int
    max_nodes: int
    max_arcs: int
    chunk: int

    def partitions(self, groups: int, size: int) -> int:
        """How many partitions so many groups of so many bytes are dealt to."""
        return max(1, min(groups, max(self.cores, -(-size // _PARTITION_BYTES))))

    def parts(self, ranges: int) -> int:
        """Into how many groups the blocks of a column are dealt, so that every core has some."""
        return max(1, min(ranges, -(-2 * self.cores // ranges)))

    @property
    def arc_bytes(self) -> int:
        """Bytes of all blocks, about."""
        return 2 * self.arcs

    def sums_rows(self, ranges: int) -> int:
        """Rows of partial sums, at most: of every node, as many as there are ranges with neighbours of it."""
        return min(self.nodes * ranges, self.arcs)


def check_shape(hops: int, memory: int, blocks: int | None) -> None:
    """GraphcleanerError if arguments of make_plan that no graph is needed for are out of their bounds."""
    if not 1 <= hops <= GREATEST_HOPS:
        raise GraphcleanerError(f"hops: got {hops}, want 1 to {GREATEST_HOPS} on Spark")
    if memory < 1 << 24:
        raise GraphcleanerError(f"memory: got {memory} bytes, want at least 16 MiB")
    if blocks is not None and blocks < 1:
        raise GraphcleanerError(f"blocks: got {blocks}, want at least 1")


def make_plan(
    nodes: int, edges: int, classes: int, *, hops: int, cores: int, memory: int, blocks: int | None, drawn: bool
) -> Plan:
    """Cuts a graph of so many nodes and rows of edges.

    memory is that of a worker in bytes. blocks is the number of ranges aimed at; None lets memory and cores decide.
    drawn says that no splits are given. GraphcleanerError if the graph is too large.
    """
    if nodes >= GREATEST_NODES:
        raise GraphcleanerError(f"{nodes:,} nodes are too many to clean: want fewer than {GREATEST_NODES:,}")
    census = (10 if drawn else 6) * nodes + nodes // 4  # as the worker reckons it
    if census > memory:
        raise GraphcleanerError(f"memory: got {memory:,} bytes of a worker, want {census:,} or more: the stage census "
                                f"of {nodes:,} nodes "
                                "is one task")
    arcs = 2 * edges
    if blocks is not None:
        max_nodes, max_arcs = -(-nodes // blocks), -(-arcs // blocks)
    else:
        # Half of the memory is for the nodes of a column, or for three blocks; the rest is for rows and frames.
        row = 4 * (classes + 3) + 16
        max_nodes = max(1, memory // 2 // (row if hops < 3 else max(row, _TRIANGLE_NODE)))
        block = memory // 2 // (_TRIANGLE_ARC * _SKEW)
        max_arcs = max(block, math.isqrt(max(arcs, 1) * block))
        # Small graphs are cut so that every core has a block, but not below what a task is worth.
        wanted = min(math.isqrt(2 * cores), max(1, (nodes + arcs) >> 17))
        max_nodes, max_arcs = min(max_nodes, -(-nodes // wanted)), min(max_arcs, -(-arcs // wanted))
        max_nodes = min(max_nodes, _GREATEST_ROW)
    chunk = 1 << max(0, min(AIM_PAYLOAD // (4 * classes), _GREATEST_CHUNK).bit_length() - 1)
    return Plan(nodes, arcs, cores, max_nodes, max(1, max_arcs), chunk)


def cut(bins: Iterable[tuple[int, int]], max_nodes: int, max_arcs: int) -> list[int]:
    """The starts of ranges, and last the number of nodes.

    bins are (nodes, greatest degree of them), by descending degree. Every node counts with the greatest degree of its
    bin, so no range has more arcs than max_arcs, unless it is one node.
    """
    starts, at, in_range, arcs = [0], 0, 0, 0
    for count, degree in bins:
        while count:
            room = max_nodes - in_range
            if degree:
                room = min(room, (max_arcs - arcs) // degree)
            if room <= 0 and in_range:
                starts.append(at)
                in_range = arcs = 0
                continue
            taken = min(count, max(room, 1))
            at, in_range, arcs, count = at + taken, in_range + taken, arcs + taken * degree, count - taken
    return [*starts, at] if at else [0]


def chunk_bases(starts: Sequence[int], chunk: int) -> list[int]:
    """The number of chunks before each range, and last the number of all."""
    bases = [0]
    for first, end in zip(starts, starts[1:], strict=False):
        bases.append(bases[-1] + -(-(end - first) // chunk))
    return bases
