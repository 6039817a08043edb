import random
from pathlib import Path

import pytest

from graphcleaner.spark import plan
from graphcleaner.spark.errors import GraphcleanerError
from graphcleaner.spark.frames import GREATEST_PAYLOAD
from graphcleaner.spark.plan import chunk_bases, cut, cut_into, make_plan, parse_bytes, show_bytes, show_hours


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


@pytest.mark.parametrize("seed", range(20))
def test_cut_into_makes_no_more_ranges_than_wanted(seed):
    bins = bins_of(degrees_of(seed))
    for ranges in (1, 2, 5, 17):
        starts = cut_into(bins, ranges)
        assert 1 <= len(starts) - 1 <= ranges and starts[-1] == sum(n for n, _ in bins)


def test_even_graphs_are_cut_evenly():
    assert cut_into([(100, 4)], 4) == [0, 25, 50, 75, 100]


def test_chunk_bases_count_chunks():
    assert chunk_bases([0, 5, 6, 14], 4) == [0, 2, 3, 5]


def test_less_memory_makes_more_ranges():
    plans = [make_plan(10**8, 10**9, 47, cores=200, memory=size << 30) for size in (4, 2, 1)]
    assert plans[0].ranges < plans[1].ranges < plans[2].ranges
    for plan in plans:
        stages = {stage.name: stage for stage in plan.stages()}
        for name in ("sums1", "sums2", "sums3", "triangles", "hop1"):
            assert stages[name].memory <= plan.memory


def test_more_ranges_send_more():
    few, many = (make_plan(10**8, 10**9, 47, blocks=blocks) for blocks in (10, 100))
    assert few.ranges == 10 and many.ranges == 100
    assert sum(s.shuffled for s in few.stages()) < sum(s.shuffled for s in many.stages())


def test_stages_are_those_of_the_hops():
    names = [[stage.name for stage in make_plan(1000, 5000, 3, hops=hops).stages()] for hops in (1, 2, 3)]
    assert "hop2" not in names[0] and "hop2" in names[1] and "triangles" not in names[1] and "triangles" in names[2]
    assert "hop3 of predictions" in make_plan(1000, 5000, 3, features=True).table()


@pytest.mark.parametrize("classes", [2, 7, 47, 1000, 3_000_000])
def test_chunks_are_powers_of_two_and_frames_small(classes):
    chunk = make_plan(10**6, 10**6, classes).chunk
    assert chunk & (chunk - 1) == 0
    assert chunk == 1 or 4 * classes * chunk <= 4 << 20


def test_small_graphs_are_not_cut():
    assert make_plan(2708, 5429, 7, cores=64).ranges == 1


def test_too_many_nodes_are_said_on_paper():
    assert "too many to clean" in make_plan(10**10, 5 * 10**11, 100, cores=4000, memory=4 << 30).table()
    assert "too many" not in make_plan(10**9, 10**10, 100).table()


@pytest.mark.parametrize("drawn, need", [(False, 6_250_000_000), (True, 10_250_000_000)])
def test_too_little_memory_for_all_labels_is_said_on_paper(drawn, need):
    def said(memory):
        return make_plan(10**9, 10**10, 100, memory=memory, drawn=drawn).table().splitlines()[-1]

    assert f"memory: got {need - 1:,} bytes of a worker, want {need:,} or more: the stage census of 1,000,000,000 nodes" in said(need - 1)
    assert " hours on 1 processors" in said(need)


@pytest.mark.parametrize("arguments, says", [
    ({"hops": 4}, "hops: got 4, want 1 to 3 on Spark"),
    ({"nodes": 0}, "nodes: got 0"),
    ({"edges": -5}, "edges: got -5, want at least 0"),
    ({"memory": 1000}, "memory: got 1000 bytes"),
    ({"blocks": 0}, "blocks: got 0"),
])
def test_arguments_out_of_bounds(arguments, says):
    with pytest.raises(GraphcleanerError, match=says):
        make_plan(**{"nodes": 10, "edges": 10, "classes": 2, **arguments})


@pytest.mark.parametrize("text, size", [("1g", 1 << 30), ("512m", 512 << 20), ("2GiB", 2 << 30), ("1.5k", 1536), ("77", 77), ("3tb", 3 << 40)])
def test_sizes(text, size):
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "g", "1x", "1gg", "two"])
def test_sizes_that_are_none(text):
    with pytest.raises(ValueError, match="want a size"):
        parse_bytes(text)


def test_sizes_are_shown():
    assert [show_bytes(x) for x in (0, 1023, 1536, 10 << 20, 5 << 60)] == ["0 B", "1023 B", "1.5 KiB", "10 MiB", "5,120.0 PiB"]


@pytest.mark.parametrize("ranges, stretch_bytes", [(1, 1), (4, 1), (5, 1 << 30), (6, 60_000)])
def test_stretches_of_triangles_are_counted(monkeypatch, ranges, stretch_bytes):
    monkeypatch.setattr(plan, "_STRETCH_BYTES", stretch_bytes)
    of = make_plan(10_000, 100_000, 3, blocks=ranges)
    starts = {(i, j, k if i == j else k // of.stretch) for i in range(ranges) for j in range(i + 1) for k in range(j + 1)}
    assert of.stretches == len(starts)
    assert (of.stretch == 1) == (stretch_bytes == 1) or ranges == 1
    if stretch_bytes == 60_000:
        assert 1 < of.stretch < ranges


def test_nodes_leave_room_for_triangles():
    """A range of nodes without arcs, of as many as there may be, must not fill the memory of a worker."""
    for hops, greatest in ((2, (512 << 20) // 36), (3, (512 << 20) // 129)):
        of = make_plan(10**9, 10**9, 2, hops=hops)
        assert of.max_nodes <= greatest < 1.01 * of.max_nodes


def test_a_row_is_one_frame():
    """A neighbour takes a byte and its weight 8; gaps of 128 nodes take a byte more."""
    for weighted, each in ((True, 9), (False, 1)):
        of = make_plan(10**9, 10**10, 2, hops=2, memory=64 << 30, weighted=weighted)
        assert 0.9 * GREATEST_PAYLOAD < of.max_nodes * (each + 1 / 64) <= GREATEST_PAYLOAD


def test_merge_takes_half_of_the_memory_and_a_frame():
    of = make_plan(10**8, 10**10, 10)
    assert (512 << 20) < of.merge_memory <= of.memory
    assert make_plan(1000, 5000, 3).merge_memory == 40 * 10_000


# The table of sizes in docs/spark.md: nodes, edges, bytes shuffled, seconds.
@pytest.mark.parametrize("nodes, edges, shuffled, seconds", [(1 << 20, 15_000_000, 0.98e9, 207), (1 << 22, 63_000_000, 5.8e9, 469)])
def test_hours_are_those_of_the_sizes_that_were_measured(nodes, edges, shuffled, seconds):
    of = make_plan(nodes, edges, 8, cores=2)
    planned = sum(stage.shuffled for stage in of.stages())
    measured = of.hours * 3600 - (planned - shuffled) * plan.SECONDS_OF_BYTE / 2
    assert seconds / 1.2 < measured < seconds * 1.2


def test_the_page_has_the_plan_on_paper():
    text = (Path(__file__).parents[3] / "docs" / "spark.md").read_text().split("### On paper")[1]
    rows = {cells[1].strip(): [cell.strip() for cell in cells[2:-1]] for line in text.splitlines() if len(cells := line.split("|")) > 3}
    for column, (nodes, edges) in enumerate([(10**9, 10**11), (10**10, 10**12)]):
        two, three = (make_plan(nodes, edges, 40, hops=hops, cores=4800, memory=6 << 30) for hops in (2, 3))
        for name, value in [
            ("ranges (blocks)", f"{three.ranges} ({three.ranges**2:,})"),
            ("shuffled with 2 hops, 3 hops", ", ".join(show_bytes(sum(s.shuffled for s in of.stages())) for of in (two, three))),
            ("tasks of the largest stage", f"{max(s.tasks for s in three.stages()):,}"),
            ("time with 2 hops, 3 hops", ", ".join(show_hours(of.hours) for of in (two, three))),
        ]:
            assert rows[name][column] == value
            assert name != "time with 2 hops, 3 hops" or value.split(", ")[1] in three.table()
        assert (three.too_large() is None) == (column == 0)


def test_degrees_make_the_plan_smaller():
    even = make_plan(1000, 5000, 3, blocks=4)
    skewed = even.of_degrees([(10, 910), (100, 9), (890, 0)], 4)
    assert even.with_arcs(1) == 1000 and skewed.with_arcs(1) == 110
    assert 40 <= skewed.with_arcs(4) - 100 * 4 * (1 - 0.75**9) <= 40 + 1e-9
    assert sum(s.shuffled for s in skewed.stages()) < sum(s.shuffled for s in even.stages())


def test_triangles_of_great_graphs_send_strengths_once_a_stretch():
    of = make_plan(10**10, 10**12, 40, cores=1000, memory=6 << 30)
    assert of.stretch > 1
    blocks = of.ranges * of.arc_bytes / 3
    assert blocks < of.triangle_bytes < 2 * blocks
