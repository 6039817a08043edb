import random
from argparse import ArgumentTypeError

import pytest
from pyspark.sql import functions as F

from graphcleaner_spark.__main__ import size
from graphcleaner_spark.errors import GraphcleanerError
from graphcleaner_spark.frames import GREATEST_PAYLOAD
from graphcleaner_spark.graph import triples
from graphcleaner_spark.plan import chunk_bases, cut, make_plan


def degrees_of(seed):
    draw = random.Random(seed)
    return sorted((int(draw.paretovariate(1.1)) - 1 for _ in range(draw.randint(1, 400))), reverse=True)


def bins_of(degrees):
    return [(degrees.count(d), d) for d in sorted(set(degrees), reverse=True)]


@pytest.mark.parametrize("seed", range(20))
def test_ranges_keep_to_their_bounds(seed):
    degrees = degrees_of(seed)
    max_nodes, max_arcs = 1 + seed * 3, 10 + seed * 7
    starts = cut(bins_of(degrees), max_nodes, max_arcs)
    assert starts[0] == 0 and starts[-1] == len(degrees) and sorted(set(starts)) == starts
    for first, end in zip(starts, starts[1:]):
        arcs = sum(degrees[first:end])
        assert end - first <= max_nodes
        assert arcs <= max_arcs or end - first == 1
        # No range could take the next node in.
        if end < len(degrees):
            assert end - first == max_nodes or arcs + degrees[end] > max_arcs


def test_nodes_without_edges_count_as_nodes():
    assert cut([(10, 0)], 4, 1) == [0, 4, 8, 10]
    assert cut([], 4, 1) == [0]


def test_chunk_bases_count_chunks():
    assert chunk_bases([0, 5, 6, 14], 4) == [0, 2, 3, 5]


def plan(nodes, edges, classes, **more):
    return make_plan(nodes, edges, classes, **{
        "hops": 3, "cores": 1, "memory": 1 << 30, "blocks": None, "drawn": False, **more})


def test_less_memory_makes_smaller_ranges():
    four, two, one = (plan(10**8, 10**9, 47, memory=size << 30) for size in (4, 2, 1))
    assert four.max_nodes > two.max_nodes > one.max_nodes and four.max_arcs > two.max_arcs > one.max_arcs


def test_blocks_are_ranges_aimed_at():
    of = plan(1000, 5000, 3, blocks=4)
    assert (of.max_nodes, of.max_arcs) == (250, 2500)
    assert cut([(1000, 10)], of.max_nodes, of.max_arcs) == [0, 250, 500, 750, 1000]


@pytest.mark.parametrize("classes", [2, 7, 47, 1000, 3_000_000])
def test_chunks_are_powers_of_two_and_frames_small(classes):
    chunk = plan(10**6, 10**6, classes).chunk
    assert chunk & (chunk - 1) == 0
    assert chunk == 1 or 4 * classes * chunk <= 4 << 20


def test_small_graphs_are_not_cut():
    assert plan(2708, 5429, 7, cores=64).max_nodes == 2708


def test_graphs_that_are_too_large_are_refused():
    with pytest.raises(GraphcleanerError, match="10,000,000,000 nodes are too many to clean: want fewer than "
                                                "4,294,967,296"):
        plan(10**10, 5 * 10**11, 100, memory=1 << 40)


@pytest.mark.parametrize("drawn, need", [(False, 6_250_000_000), (True, 10_250_000_000)])
def test_too_little_memory_for_all_labels_is_refused(drawn, need):
    plan(10**9, 10**10, 100, memory=need, drawn=drawn)
    with pytest.raises(GraphcleanerError, match=f"memory: got {need - 1:,} bytes of a worker, want {need:,} or more: "
                                                f"the stage census"):
        plan(10**9, 10**10, 100, memory=need - 1, drawn=drawn)


def test_triangles_fit_into_the_memory():
    """Of blocks that are four times as full as the mean, of ranges of as many nodes as there may be."""
    for nodes, edges in ((10**8, 10**10), (10**8, 10**8)):
        of = plan(nodes, edges, 2)
        assert of.max_nodes * (3 * 24 + 57) <= 1 << 29
        mean = min(of.max_arcs * of.max_arcs / of.arcs, of.max_arcs)
        assert 4 * mean * (3 * 4 + 16) <= 1.01 * (1 << 29)


def test_a_row_is_one_frame():
    """A neighbour takes a byte; gaps of 128 nodes take a byte more."""
    of = plan(10**9, 10**10, 2, hops=2, memory=64 << 30)
    assert 0.8 * GREATEST_PAYLOAD < of.max_nodes * (1 + 1 / 64) <= GREATEST_PAYLOAD


@pytest.mark.parametrize("text, want",
                         [("1g", 1 << 30), ("512m", 512 << 20), ("2GiB", 2 << 30), ("1.5k", 1536), ("77", 77),
                          ("3tb", 3 << 40)])
def test_sizes(text, want):
    assert size(text) == want


@pytest.mark.parametrize("text", ["", "g", "1x", "1gg", "two"])
def test_sizes_that_are_none(text):
    with pytest.raises(ArgumentTypeError, match="want a size"):
        size(text)


@pytest.mark.parametrize("ranges", [1, 2, 3, 5])
def test_triples_get_their_blocks_and_ranges_once(spark, ranges):
    of_block, of_range, place = triples(ranges)
    blocks = spark.createDataFrame([(row, col) for row in range(ranges) for col in range(row + 1)],
                                   "row bigint, col bigint")
    rows = spark.range(ranges).select(F.col("id").alias("row"), F.lit(None).cast("bigint").alias("col"))
    sent = (
        blocks.withColumn("triple", F.explode(of_block)).unionByName(rows.withColumn("triple", F.explode(of_range)))
        .withColumn("place", place).collect()
    )
    groups = {}
    for row in sent:
        groups.setdefault((*row["triple"], row["place"]), []).append((row["row"], row["col"]))
    want = [(i, j, k) for i in range(ranges) for j in range(i + 1) for k in range(j + 1)]
    assert sorted(groups) == [(*triple, at) for at, triple in enumerate(want)]
    for (i, j, k, _), got in groups.items():
        assert len(got) == len(set(got)) and set(got) == {(i, None), (j, None), (k, None), (i, j), (i, k), (j, k)}
