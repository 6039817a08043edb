"""The triples of ranges in which triangles are found."""

import pytest
from pyspark.sql import functions as F

from graphcleaner.spark.pipeline import triples
from graphcleaner.spark.plan import make_plan


@pytest.mark.parametrize("ranges, stretch", [(1, 1), (2, 2), (3, 1), (5, 2), (6, 3), (4, 9)])
def test_a_place_has_what_its_triples_need_once(spark, monkeypatch, ranges, stretch):
    of_block, of_range, place, places = triples(ranges, stretch)
    blocks = spark.createDataFrame([(row, col) for row in range(ranges) for col in range(row + 1)], "row bigint, col bigint")
    rows = spark.range(ranges).select(F.col("id").alias("row"), F.lit(None).cast("bigint").alias("col"))
    sent = (
        blocks.withColumn("triple", F.explode(of_block)).unionByName(rows.withColumn("triple", F.explode(of_range)))
        .withColumn("place", place).collect()
    )
    groups, where = {}, {}
    for row in sent:
        triple = tuple(row["triple"])
        groups.setdefault(triple, []).append((row["row"],) if row["col"] is None else (row["row"], row["col"]))
        assert where.setdefault(triple, row["place"]) == row["place"]
    assert set(where.values()) == set(range(places))

    # As the worker has it: the groups of a place follow each other; what the next group does not name is dropped.
    want = [(i, j, k) for i in range(ranges) for j in range(i + 1) for k in range(j + 1)]
    assert sorted(groups) == want
    at, held = None, set()
    for triple in want:
        i, j, k = triple
        held = {names for names in held if set(names) <= set(triple)} if where[triple] == at else set()
        at = where[triple]
        for names in groups[triple]:
            assert names not in held, (triple, names)
            held.add(names)
        assert held == {(i,), (j,), (k,), (i, j), (i, k), (j, k)}, triple
    monkeypatch.setattr("graphcleaner.spark.plan.Plan.stretch", stretch)
    assert make_plan(100, 1000, 2, blocks=ranges).stretches == places
