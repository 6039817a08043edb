"""How a graph is cut, and what that costs: pure functions.

Nodes have numbers in descending degree. They are cut in R ranges; the adjacency is cut in R×R blocks. More ranges need less
memory in a worker, and send more bytes around.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .errors import GraphcleanerError
from .frames import AIM_PAYLOAD

GREATEST_HOPS = 3
GREATEST_NODES = 1 << 32  # positions of nodes are 32 bits
_GREATEST_CHUNK = 1 << 16
_PARTITION_BYTES = 128 << 20
_GAP_BYTES = 3  # of a neighbour in a list of a block, about
_TRIANGLE_BYTES = 4  # of a neighbour that is decoded
_SKEW = 4  # how much fuller than expected a block may be


class Stage(NamedTuple):
    """The cost of a stage: tasks, bytes shuffled, bytes of memory of a worker, bytes written to disk."""

    name: str
    tasks: int
    shuffled: int
    memory: int
    disk: int


@dataclass(frozen=True)
class Plan:
    """How a graph is cut.

    nodes, arcs, classes, hops   the graph: an undirected edge is two arcs
    weighted, features           whether edges have weights, and whether features of predictions are made
    width                        features of a node that the linear classifier learns from; 0: predictions are given
    cores                        tasks at once
    memory                       bytes of a worker
    max_nodes, max_arcs          of a range; a range of one node may have more arcs
    ranges                       about how many those are
    chunk                        rows of a frame of values of nodes
    """

    nodes: int
    arcs: int
    classes: int
    hops: int
    weighted: bool
    features: bool
    width: int
    cores: int
    memory: int
    max_nodes: int
    max_arcs: int
    ranges: int
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
        return self.arcs * (_GAP_BYTES + (4 if self.weighted else 0))

    @property
    def sums_rows(self) -> int:
        """Rows of partial sums, at most."""
        return min(self.ranges * self.nodes, self.arcs)

    def stages(self) -> list[Stage]:
        """The cost of every stage, in their order."""
        n, arcs, c, r = self.nodes, self.arcs, self.classes, self.ranges
        blocks, chunks, parts = r * r, max(1, -(-n // self.chunk)), self.parts(r)
        width = (3 if self.weighted else 2) * c + 2
        # A partial row has a bit for each column. At hop 1 it has no more values than arcs lead to it, twice.
        first = self.sums_rows * -(-width // 8) + 8 * min(self.sums_rows * width, 2 * arcs + 2 * self.sums_rows)
        later = self.sums_rows * (-(-c // 8) + 8 * c)
        single = self.sums_rows * 9
        range_nodes = min(n, self.max_nodes)
        chunk_rows = self.chunk * 8 * (max(width, self.width) + c)

        def by_chunk(name: str, size: int, written: int) -> Stage:
            return Stage(name, self.partitions(chunks, size), size, chunk_rows, written)

        def by_column(name: str, of_node: int) -> Stage:
            size = self.arc_bytes + n * parts * of_node
            return Stage(name, self.partitions(r * parts, size), size, range_nodes * of_node + chunk_rows, 0)

        ids = n * 40 + min(arcs, self.cores * n) * 24
        joined = arcs * 24
        runs = arcs * (_GAP_BYTES + 1 + (4 if self.weighted else 0))
        backbone = n * (4 * c + 32)
        stages = [
            Stage("nodes", self.partitions(max(1, n >> 16), ids), ids, 0, n * 40),
            Stage("numbers", self.partitions(max(1, n >> 16), n * 40), n * 40, 0, n * 40),
            by_chunk("backbone", backbone, n * (4 * c + 4)),
            Stage("census", 1, 2 * n * 8, n * 6, n),
            by_chunk("splits", n * 16, n),
            by_chunk("noise", 2 * n * (4 * c + 5), 0),
            Stage("arcs", self.partitions(max(1, arcs >> 16), joined), joined, self.memory, runs),
            Stage("merge", self.partitions(blocks, runs), runs, min(self.memory, runs), self.arc_bytes + single),
            by_chunk("strength", single, n * 8),
            by_column("sums1", 16),
            by_chunk("hop1", first + n * (4 * c + 13), n * (4 * c + 12 * c)),
        ]
        if self.width:
            d = self.width
            stages[-1:-1] = [
                Stage("linear moments", self.partitions(max(1, n >> 16), 4 * n * d), 0, 0, 16 * d * self.cores),
                by_chunk("linear inputs", n * (4 * d + 16), 4 * n * d),
                by_column("linear sums1", 4 * d + 8),
                by_chunk("linear smooth1", self.sums_rows * 8 * d + 4 * n * d, 8 * n * d),
                by_column("linear sums2", 4 * d),
                by_chunk("linear smooth2", self.sums_rows * 8 * d + 4 * n * d, 4 * n * d),
                by_chunk("linear fit", 12 * n * d, 0),
                by_chunk("linear predictions", 12 * n * d, 4 * n * c),
            ]
        if self.hops >= 2:
            stages += [by_column("sums2", 4 * c), by_chunk("hop2", later + 12 * n, n * 4 * c)]
        if self.hops >= 3:
            triples = r * (r + 1) * (r + 2) // 6
            # Each triple gets the strengths of its three ranges.
            sent = r * self.arc_bytes // 2 + r * (r + 1) // 2 * n * 8
            returns = min(3 * triples * min(n, self.max_nodes), r * arcs) * 9
            stages += [
                Stage(
                    "triangles",
                    self.partitions(triples, sent),
                    sent,
                    self.triangle_memory,
                    0,
                ),
                by_chunk("diagonal", returns, n * 8),
                by_column("sums3", 4 * c),
                by_chunk("hop3", later + 20 * n, n * 4),
            ]
        if self.features:
            for k in range(1, self.hops + 1):
                stages += [
                    by_column(f"sums{k} of predictions", 4 * c + 8),
                    by_chunk(f"hop{k} of predictions", later + n * (4 * c + 20), n * 4 * c),
                ]
        return [*stages, by_chunk("score", n * (4 * c + 12 * c + 20), n * 12)]

    @property
    def triangle_memory(self) -> int:
        """Bytes of three blocks that are as full as they may be, and of the rows of their ranges."""
        block = min(self.max_arcs, _SKEW * self.max_arcs * self.max_arcs // max(self.arcs, 1) + 1, self.arcs)
        return 3 * block * (_TRIANGLE_BYTES + (4 if self.weighted else 0)) + 3 * min(self.nodes, self.max_nodes) * 24

    def table(self) -> str:
        """The plan in words and numbers, a line each."""
        lines = [
            f"plan: {self.nodes:,} nodes, at most {self.arcs:,} arcs, {self.classes} classes, {self.hops} hops: "
            f"about {self.ranges} ranges of at most {self.max_nodes:,} nodes and {self.max_arcs:,} arcs, "
            f"chunks of {self.chunk:,} rows, {self.cores} tasks at once",
            f"  {'stage':<22}{'tasks':>9}{'shuffled':>12}{'worker':>12}{'disk':>12}",
        ]
        stages = self.stages()
        for name, tasks, *sizes in stages:
            lines.append(f"  {name:<22}{tasks:>9,}" + "".join(f"{show_bytes(size):>12}" for size in sizes))
        total = [sum(s.shuffled for s in stages), max(s.memory for s in stages), sum(s.disk for s in stages)]
        lines.append(f"  {'all':<22}{'':>9}" + "".join(f"{show_bytes(size):>12}" for size in total))
        if self.nodes >= GREATEST_NODES:
            lines.append(f"  {self.nodes:,} nodes are too many to clean: want fewer than {GREATEST_NODES:,}")
        return "\n".join(lines)


def make_plan(
    nodes: int,
    edges: int,
    classes: int,
    *,
    hops: int = 3,
    cores: int = 1,
    memory: int = 1 << 30,
    blocks: int | None = None,
    weighted: bool = False,
    features: bool = False,
    width: int = 0,
) -> Plan:
    """Cuts a graph of so many nodes and rows of edges.

    memory is that of a worker in bytes. blocks is the number of ranges aimed at; None lets memory and cores decide.
    GraphcleanerError if the arguments are out of their bounds.
    """
    if not 1 <= hops <= GREATEST_HOPS:
        raise GraphcleanerError(f"hops: got {hops}, want 1 to {GREATEST_HOPS} on Spark")
    for name, value in [("nodes", nodes), ("classes", classes), ("cores", cores)]:
        if value < 1:
            raise GraphcleanerError(f"{name}: got {value}, want at least 1")
    if memory < 1 << 24:
        raise GraphcleanerError(f"memory: got {memory} bytes, want at least 16 MiB")
    if blocks is not None and blocks < 1:
        raise GraphcleanerError(f"blocks: got {blocks}, want at least 1")
    arcs = 2 * edges
    row = 4 * (max(classes, width) + 3) + 16
    if blocks is not None:
        max_nodes, max_arcs = -(-nodes // blocks), max(1, -(-arcs // blocks))
    else:
        # Half of the memory is for the nodes of a column, or for three blocks; the rest is for rows and frames.
        max_nodes = max(1, memory // 2 // row)
        block = memory // 2 // (3 * (_TRIANGLE_BYTES + (4 if weighted else 0)) * _SKEW)
        max_arcs = max(1, block, math.isqrt(max(arcs, 1) * block))
        # Small graphs are cut so that every core has a block, but not below what a task is worth.
        wanted = min(math.isqrt(2 * cores), max(1, (nodes + arcs) >> 17))
        max_nodes, max_arcs = min(max_nodes, -(-nodes // wanted)), min(max_arcs, max(1, -(-arcs // wanted)))
    max_nodes = min(max_nodes, GREATEST_NODES - 1)
    ranges = max(-(-nodes // max_nodes), -(-arcs // max_arcs), 1)
    chunk = 1 << max(0, min(AIM_PAYLOAD // (4 * max(classes, width)), _GREATEST_CHUNK).bit_length() - 1)
    return Plan(nodes, arcs, classes, hops, weighted, features, width, cores, memory, max_nodes, max_arcs, ranges, chunk)


def cut(bins: Iterable[tuple[int, int]], max_nodes: int, max_arcs: int) -> list[int]:
    """The starts of ranges, and last the number of nodes.

    bins are (nodes, greatest degree of them), by descending degree. Every node counts with the greatest degree of its bin,
    so no range has more arcs than max_arcs, unless it is one node.
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


def cut_into(bins: Sequence[tuple[int, int]], ranges: int) -> list[int]:
    """The cut of at most so many ranges whose greatest range is smallest: starts, and last the number of nodes."""
    nodes, arcs = sum(n for n, _ in bins), sum(n * degree for n, degree in bins)
    low, high = 0, 1024  # in 1/256 of an even share beyond it
    while low < high:
        share = (low + high) // 2
        if len(_cut_share(bins, nodes, arcs, ranges, share)) - 1 <= ranges:
            high = share
        else:
            low = share + 1
    return _cut_share(bins, nodes, arcs, ranges, low)


def _cut_share(bins: Sequence[tuple[int, int]], nodes: int, arcs: int, ranges: int, share: int) -> list[int]:
    def part(whole: int) -> int:
        return max(1, -(-whole * (256 + share) // (256 * ranges)))

    return cut(bins, part(nodes), part(arcs))


def chunk_bases(starts: Sequence[int], chunk: int) -> list[int]:
    """The number of chunks before each range, and last the number of all."""
    bases = [0]
    for first, end in zip(starts, starts[1:], strict=False):
        bases.append(bases[-1] + -(-(end - first) // chunk))
    return bases


def show_bytes(size: int) -> str:
    """A size for people, such as 1.5 GiB."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:,.1f} PiB"


def parse_bytes(text: str) -> int:
    """A size such as 1g, 512m, 2GiB or a number of bytes. ValueError for others."""
    letters = text.strip().lower()
    digits = letters.rstrip("kmgtib")
    unit = letters[len(digits):].removesuffix("b").removesuffix("i")
    if unit not in ("", "k", "m", "g", "t"):
        raise ValueError(f"got {text}, want a size such as 512m or 2g")
    try:
        return int(float(digits) * 1024 ** " kmgt".index(unit or " "))
    except (ValueError, OverflowError):
        raise ValueError(f"got {text}, want a size such as 512m or 2g") from None
