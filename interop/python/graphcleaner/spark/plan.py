"""How a graph is cut, and what that costs: pure functions.

Nodes have numbers in descending degree. They are cut in R ranges; the adjacency is cut in R×R blocks. More ranges need less
memory in a worker, and send more bytes around.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from .errors import GraphcleanerError
from .frames import AIM_PAYLOAD

GREATEST_HOPS = 3
GREATEST_NODES = 1 << 32  # positions of nodes are 32 bits
_GREATEST_CHUNK = 1 << 16
_PARTITION_BYTES = 128 << 20
GREATEST_RIVALS = 4  # labels that a label is tested against
_SPLIT_BYTES = 128 << 20  # of a file that a task reads
_STRETCH_BYTES = 512 << 20  # of the blocks of a task of triangles, about
_BROADCAST_BYTES = 10 << 20  # of a table that Spark sends to all tasks instead of shuffling
_TRIANGLE_BYTES = 4  # of a neighbour that is decoded
_SKEW = 4  # how much fuller than expected a block may be until triangles lie on the disk
_TRIANGLE_NODE_BYTES = 3 * (16 + 8) + 57  # of a node of three ranges, in memory
_GREATEST_RUN = 1 << 20  # arcs of a frame, unless a row has more
# A row of a block is one frame. A neighbour takes a byte there, and one more for each gap of 128 nodes; a weight of some edges takes 8.
_GREATEST_ROW, _GREATEST_WEIGHTED_ROW = 60_000_000, 7_000_000
# What Spark took on the cluster of docs/spark.md, with 1.0 and 4.2 million nodes: seconds of a processor for a byte shuffled, beside seconds
# of a stage.
SECONDS_OF_BYTE = 1.1e-7
SECONDS_OF_STAGE = 6.5


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
    drawn                        whether splits are drawn, as none are given
    width                        features of a node that the linear classifier learns from; 0: predictions are given
    cores                        tasks at once
    memory                       bytes of a worker
    max_nodes, max_arcs          of a range; a range of one node may have more arcs
    ranges                       how many those are; before the degrees are known, about
    chunk                        rows of a frame of values of nodes
    degrees                      (nodes, degree of each), of all nodes; before they are known, the mean of all
    """

    nodes: int
    arcs: int
    classes: int
    hops: int
    weighted: bool
    features: bool
    drawn: bool
    width: int
    cores: int
    memory: int
    max_nodes: int
    max_arcs: int
    ranges: int
    chunk: int
    degrees: tuple[tuple[int, float], ...]

    def of_degrees(self, bins: Iterable[tuple[int, int]], ranges: int) -> Plan:
        """The plan of the graph with these degrees, which is cut in so many ranges."""
        return replace(self, degrees=tuple(bins), ranges=ranges)

    def partitions(self, groups: int, size: int) -> int:
        """How many partitions so many groups of so many bytes are dealt to."""
        return max(1, min(groups, max(self.cores, -(-size // _PARTITION_BYTES))))

    def parts(self, ranges: int) -> int:
        """Into how many groups the blocks of a column are dealt, so that every core has some."""
        return max(1, min(ranges, -(-2 * self.cores // ranges)))

    def with_arcs(self, shares: float) -> float:
        """For how many of so many equal shares of the arcs each node has an arc in it, about, summed over all nodes."""
        return sum(nodes * shares * (1 - (1 - 1 / shares) ** degree) for nodes, degree in self.degrees)

    @property
    def arc_bytes(self) -> int:
        """Bytes of all blocks, about: a gap between neighbours takes its logarithm and 2 bits."""
        connected = max(1.0, self.with_arcs(1))
        gap = max(2.0, min(connected * connected / max(1, self.arcs), self.nodes / self.ranges))
        return int(self.arcs * ((math.log2(gap) + 2) / 8 + (4 if self.weighted else 0)))

    @property
    def sums_rows(self) -> int:
        """Rows of partial sums, about: of every node, as many as there are ranges with neighbours of it."""
        return int(self.with_arcs(self.ranges))

    @property
    def stretch(self) -> int:
        """How many ranges K follow each other in a task of triangles."""
        each = 2 * self.arc_bytes // self.ranges**2 + self.strength_bytes // self.ranges
        return max(1, min(self.ranges, _STRETCH_BYTES // max(1, each)))

    @property
    def triangle_bytes(self) -> int:
        """Bytes of arcs and strengths that are sent to find triangles, about."""
        r = self.ranges
        return (2 * self._triples + self.stretches) * self.arc_bytes // r**2 + (self._triples + 2 * self.stretches) * self.strength_bytes // r

    @property
    def _triples(self) -> int:
        return self.ranges * (self.ranges + 1) * (self.ranges + 2) // 6

    @property
    def stretches(self) -> int:
        """How many stretches there are: see Cleaning._triangles."""
        return sum((self.ranges - j - 1) * (j // self.stretch + 1) + j + 1 for j in range(self.ranges))

    @property
    def strength_bytes(self) -> int:
        """Bytes of the strengths of all nodes: whole numbers take less."""
        return self.nodes * (8 if self.weighted else 1)

    def stages(self) -> list[Stage]:
        """The cost of every stage, in their order."""
        n, arcs, c, r = self.nodes, self.arcs, self.classes, self.ranges
        blocks, chunks, parts = r * r, max(1, -(-n // self.chunk)), self.parts(r)
        connected, rows = int(self.with_arcs(1)), self.sums_rows
        width = (3 if self.weighted else 2) * c + 2
        # A partial row has a bit for each column, and 8 bytes for each value; numbers of neighbours shrink to 4. At hop 1 it has values of
        # the classes that are there.
        first = rows * (-(-width // 8) + 12) + int((8 + 4 * (width - 2) // c) * self.with_arcs(r * c))
        later = rows * (-(-c // 8) + 8 * c)
        range_nodes = min(n, self.max_nodes)
        chunk_rows = self.chunk * 8 * (max(width, self.width) + c)
        tested = min(c, 1 + GREATEST_RIVALS)

        def by_chunk(name: str, size: int, written: int) -> Stage:
            return Stage(name, self.partitions(chunks, size), size, chunk_rows, written)

        def by_column(name: str, of_node: int) -> Stage:
            size = self.arc_bytes + connected * parts * of_node
            return Stage(name, self.partitions(r * parts, size), size, range_nodes * of_node + chunk_rows, 0)

        splits = max(self.cores, -(-8 * self.arcs // 2 // _SPLIT_BYTES))  # tasks that read edges
        ids = n * 30 + min(arcs, splits * connected) * 12
        is_large = n * 9 > _BROADCAST_BYTES
        joined = arcs * 12 if is_large else 0
        runs = self.arc_bytes
        stages = [
            Stage("nodes", self.partitions(max(1, n >> 16), ids), ids, 0, n * 40),
            Stage("numbers", self.partitions(max(1, n >> 16), n * 18), n * 18, 0, n * 40),
            by_chunk("backbone", n * (8 * c + 44), n * (4 * c + 4)),
            Stage("census", 1, n * 12, self.census_bytes, n),
            by_chunk("splits", n * 8, n),
            by_chunk("noise", 2 * n * (4 * c + 5), 0),
            Stage("arcs", splits, joined, min(self.memory, 16 * arcs // splits), runs),
            Stage("merge", self.partitions(blocks, runs), runs, self.merge_memory, runs + 9 * rows),
            by_chunk("strength", 5 * rows, self.strength_bytes),
            by_column("sums1", 4 + self.strength_bytes // n),
            by_chunk("hop1", first + n * (4 * c + 5), n * (4 * c + 12 * c)),
        ]
        if self.width:
            d = self.width
            stages[-1:-1] = [
                Stage("linear moments", self.partitions(max(1, n >> 16), 4 * n * d), 0, 0, 16 * d * self.cores),
                by_chunk("linear inputs", n * (4 * d + 16), 4 * n * d),
                by_column("linear sums1", 4 * d + 8),
                by_chunk("linear smooth1", rows * 8 * d + 4 * n * d, 8 * n * d),
                by_column("linear sums2", 4 * d),
                by_chunk("linear smooth2", rows * 8 * d + 4 * n * d, 4 * n * d),
                by_chunk("linear fit", 12 * n * d, 0),
                by_chunk("linear predictions", 12 * n * d, 4 * n * c),
            ]
        if self.hops >= 2:
            stages += [by_column("sums2", 4 * c), by_chunk("hop2", later + 12 * n, n * 4 * c)]
        if self.hops >= 3:
            # A node has a sum from every two ranges with neighbours of it, at most; its own range is the third.
            pairs = sum(nodes * f * (f + 1) / 2 for nodes, f in ((m, r * (1 - (1 - 1 / r) ** d)) for m, d in self.degrees))
            vectors = self._triples + r * (r - 1) // 2
            returns = int(8 * pairs * vectors / (r * r * (r + 1) / 2)) + vectors * n // r // 8
            stages += [
                Stage("triangles", self.partitions(self.stretches, self.triangle_bytes), self.triangle_bytes, self.triangle_memory, 0),
                by_chunk("diagonal", returns + n * 9, n * 8),
                by_column("sums3", 4 * c),
                by_chunk("hop3", later + 20 * n, n * 4),
            ]
        if self.features:
            for k in range(1, self.hops + 1):
                stages += [
                    by_column(f"sums{k} of predictions", 4 * c + 8),
                    by_chunk(f"hop{k} of predictions", later + n * (4 * c + 20), n * 4 * c),
                ]
        scored = n * (4 * c + 4 * tested + 5) + 4 * tested * (self.hops + 1) * connected + 5 * int(self.with_arcs(c))
        return [*stages, by_chunk("score", scored, n * 12), Stage("scores", self.cores, n * 33 if is_large else 0, 0, n * 30)]

    @property
    def _full_block(self) -> int:
        """Arcs of a block that is fuller than most. There are fuller ones: they are sorted and searched on the disk."""
        return min(self.max_arcs, _SKEW * self.max_arcs * self.max_arcs // max(self.arcs, 1) + 1, self.arcs)

    @property
    def merge_memory(self) -> int:
        """Bytes of the arcs of a block while they are sorted, and of those of a frame. What half of the memory does not hold is sorted on
        the disk."""
        key, of_frame = (16, 44) if self.weighted else (8, 24)
        sorting = min(self.memory // 2, 2 * key * self._full_block)
        return min(self.memory, sorting + of_frame * min(self._full_block, _GREATEST_RUN))

    @property
    def triangle_memory(self) -> int:
        """Bytes of three blocks and of what the search takes for one of them, or of the nodes of their ranges: ranges of many nodes have few
        arcs. What does not fit lies on the disk."""
        blocks = self._full_block * (3 * (_TRIANGLE_BYTES + (4 if self.weighted else 0)) + 4)
        return min(self.memory, max(blocks, min(self.nodes, self.max_nodes) * _TRIANGLE_NODE_BYTES))

    @property
    def hours(self) -> float:
        """From start to end, if all processors are at work: a bound, as shuffled is."""
        stages = self.stages()
        return (sum(s.shuffled for s in stages) * SECONDS_OF_BYTE / self.cores + len(stages) * SECONDS_OF_STAGE) / 3600

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
        lines.append(f"  {show_hours(self.hours)} on {self.cores:,} processors, at {SECONDS_OF_BYTE * 1e9:.0f} ns a byte shuffled and "
                     f"{SECONDS_OF_STAGE:g} s a stage")
        if (why := self.too_large()) is not None:
            lines.append(f"  {why}")
        return "\n".join(lines)

    def too_large(self) -> str | None:
        """Why a run would fail, whatever the cut is. None: it would not."""
        if self.nodes >= GREATEST_NODES:
            return f"{self.nodes:,} nodes are too many to clean: want fewer than {GREATEST_NODES:,}"
        if self.census_bytes > self.memory:
            return (f"memory: got {self.memory:,} bytes of a worker, want {self.census_bytes:,} or more: the stage census of "
                    f"{self.nodes:,} nodes is one task")
        return None

    @property
    def census_bytes(self) -> int:
        """Bytes of memory of the one worker that sees all labels, as it reckons them itself."""
        return (10 if self.drawn else 6) * self.nodes + self.nodes // 4


def check_shape(hops: int, memory: int, blocks: int | None) -> None:
    """GraphcleanerError if arguments of make_plan that no graph is needed for are out of their bounds."""
    if not 1 <= hops <= GREATEST_HOPS:
        raise GraphcleanerError(f"hops: got {hops}, want 1 to {GREATEST_HOPS} on Spark")
    if memory < 1 << 24:
        raise GraphcleanerError(f"memory: got {memory} bytes, want at least 16 MiB")
    if blocks is not None and blocks < 1:
        raise GraphcleanerError(f"blocks: got {blocks}, want at least 1")


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
    drawn: bool = False,
    width: int = 0,
) -> Plan:
    """Cuts a graph of so many nodes and rows of edges.

    memory is that of a worker in bytes. blocks is the number of ranges aimed at; None lets memory and cores decide.
    GraphcleanerError if the arguments are out of their bounds.
    """
    check_shape(hops, memory, blocks)
    for name, value, least in [("nodes", nodes, 1), ("edges", edges, 0), ("classes", classes, 1), ("cores", cores, 1)]:
        if value < least:
            raise GraphcleanerError(f"{name}: got {value}, want at least {least}")
    arcs = 2 * edges
    row = 4 * (max(classes, width) + 3) + 16
    if blocks is not None:
        max_nodes, max_arcs = -(-nodes // blocks), max(1, -(-arcs // blocks))
    else:
        # Half of the memory is for the nodes of a column, or for three blocks; the rest is for rows and frames.
        max_nodes = max(1, memory // 2 // (row if hops < 3 else max(row, _TRIANGLE_NODE_BYTES)))
        block = memory // 2 // (3 * (_TRIANGLE_BYTES + (4 if weighted else 0)) * _SKEW)
        max_arcs = max(1, block, math.isqrt(max(arcs, 1) * block))
        # Small graphs are cut so that every core has a block, but not below what a task is worth.
        wanted = min(math.isqrt(2 * cores), max(1, (nodes + arcs) >> 17))
        max_nodes, max_arcs = min(max_nodes, -(-nodes // wanted)), min(max_arcs, max(1, -(-arcs // wanted)))
        max_nodes = min(max_nodes, _GREATEST_WEIGHTED_ROW if weighted else _GREATEST_ROW)
    ranges = max(-(-nodes // max_nodes), -(-arcs // max_arcs), 1)
    chunk = 1 << max(0, min(AIM_PAYLOAD // (4 * max(classes, width)), _GREATEST_CHUNK).bit_length() - 1)
    return Plan(nodes, arcs, classes, hops, weighted, features, drawn, width, cores, memory, max_nodes, max_arcs, ranges, chunk,
                ((nodes, arcs / nodes),))


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


def show_hours(hours: float) -> str:
    """A time for people, such as 1.5 hours."""
    return f"{hours * 60:.0f} minutes" if hours < 1 else f"{hours:.1f} hours" if hours < 10 else f"{hours:,.0f} hours"


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
