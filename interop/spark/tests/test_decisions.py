"""Decisions of people: the second run on Spark and the second clean of a store give the same."""

import csv
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_clean import EDGES, GIVEN, NODES, Graph, arguments, graphcleaner, write

from graphcleaner_spark import InputError, clean


def scores_of(binary, store, folder):
    graphcleaner(binary, "export", store, "scores", "--out", folder / "scores.csv")
    with open(folder / "scores.csv", newline="") as text:
        return {row["id"]: row for row in csv.DictReader(text)}


def compare(got, want):
    assert {str(v) for v in got} == set(want)
    for v, mine in got.items():
        row = want[str(v)]
        for name in ("given_label", "suggested_label"):
            assert mine[name] == (row[name] or None), row
        for name in ("score", "confidence"):
            assert (mine[name] is None) == (row[name] == ""), row
            assert row[name] == "" or abs(mine[name] - float(row[name])) <= 1e-5, (row, mine)


def decide(binary, store, folder):
    """Decides 30 suspects in the shell, in all ways that there are, and exports the verdicts."""
    graphcleaner(binary, "export", store, "suspects", "--out", folder / "suspects.csv")
    with open(folder / "suspects.csv", newline="") as text:
        suspects = list(csv.DictReader(text))[:30]
    assert len(suspects) == 30
    ways = ["accept '{id}'", "reject '{id}'", "relabel '{id}' '{given_label}'", "unlabel '{id}'"]
    graphcleaner(binary, "shell", store, "-c", "; ".join(ways[i % 4].format(**row) for i, row in enumerate(suspects)))
    verdicts = folder / "verdicts.csv"
    graphcleaner(binary, "export", store, "verdicts", "--out", verdicts)
    with open(verdicts, newline="") as text:
        assert len(list(csv.DictReader(text))) == 30
    return verdicts


def test_a_second_run_learns_from_decisions(spark, binary, tmp_path):
    graph = Graph(11, nodes=600, edges=2400, splits=False, integers=True, wrong=0.2)
    write(tmp_path, nodes=graph.nodes(), edges=graph.edges(), predictions=graph.predictions())
    nodes, edges, predictions = arguments(tmp_path)
    store, out, lines = tmp_path / "store", str(tmp_path / "out"), []
    graphcleaner(binary, "import", store, "--nodes", nodes, "--edges", edges, "--predictions", predictions)
    graphcleaner(binary, "clean", store, "--as-given", "--hops", 1)
    first = scores_of(binary, store, tmp_path)

    def run(**more):
        lines.clear()
        df = clean(spark, nodes, edges, predictions, out, hops=1, blocks=2, binary=binary, log=lines.append, **more)
        return {row["id"]: row.asDict() for row in df.collect()}

    compare(run(), first)
    verdicts = decide(binary, store, tmp_path)
    said = graphcleaner(binary, "clean", store, "--as-given", "--hops", 1)
    second = scores_of(binary, store, tmp_path)
    assert first != second
    compare(run(decisions=str(verdicts)), second)
    suspects = re.search(r"(\d+) suspects? above", said)[1]
    assert f"\n{suspects} suspects above" in lines[-1]
    there = {line.split(":")[0] for line in lines if line.endswith("is there")}
    assert there == {"nodes", "numbers", "given", "arcs", "strength"}  # none of them depends on decisions


def test_the_nodes_may_have_the_decisions_already(spark, tmp_path):
    from graphcleaner_spark.decisions import Decided, Decision, find, read, settle

    path = tmp_path / "verdicts.parquet"
    pq.write_table(pa.table({"id": [7, 3, 5], "label_before": [1, 1, 2], "label_now": [2, None, 2]}), path)
    decisions = read(spark, str(path), ["1", "2"])
    assert decisions == [Decision("7", 0, 1), Decision("3", 0, -1), Decision("5", 1, 1)]
    nodes = spark.createDataFrame([(7, 2, 0, 1), (3, 1, 1, -1), (5, 0, 2, 1)], "id bigint, number bigint, position "
                                                                               "bigint, label int")
    found = find(spark, decisions, nodes)
    want = [Decided(2, 0, decisions[0]), Decided(1, 1, decisions[1]), Decided(0, 2, decisions[2])]
    assert settle(str(path), "nodes", decisions, found, ["1", "2"]) == want


@pytest.mark.parametrize("row, says", [
    ("z,x,y", 'decisions.csv: got a decision about "z", want ids that '),
    ("a,q,y", 'decisions.csv: node "a": column "label_before": got "q", want one of the labels "x", "y"'),
    ("a,,y", 'decisions.csv: node "a": column "label_before": got "", want one of the labels "x", "y"'),
    ("a,x,q", 'decisions.csv: node "a": column "label_now": got "q", want one of the labels "x", "y"'),
    ("b,x,x", 'decisions.csv: node "b": column "label_before": got "x", want "y", its label in '),
    ("c,y,", 'decisions.csv: node "c": column "label_before": got "y", want "x", its label in '),
    ("a,x,y\na,x,x", 'decisions.csv: node "a": got a second decision, want one'),
    (",x,y", 'decisions.csv: column "id": got none, want an id'),
])
def test_decisions_that_are_refused(spark, binary, tmp_path, row, says):
    write(tmp_path, nodes=pa.table(NODES), edges=pa.table(EDGES), predictions=pa.table(GIVEN))
    decisions = tmp_path / "decisions.csv"
    decisions.write_text(f"id,label_before,label_now\n{row}\n")
    with pytest.raises(InputError) as err:
        clean(spark, *arguments(tmp_path), str(tmp_path / "out"), binary=binary, decisions=str(decisions),
              log=lambda text: None)
    assert says in str(err.value) and "\n" not in str(err.value)


def test_decisions_without_a_column(spark, binary, tmp_path):
    write(tmp_path, nodes=pa.table(NODES), edges=pa.table(EDGES), predictions=pa.table(GIVEN))
    decisions = tmp_path / "decisions.csv"
    decisions.write_text("id,label\na,x\n")
    with pytest.raises(InputError, match="no column label_before in id, label, want id, label_before, label_now"):
        clean(spark, *arguments(tmp_path), str(tmp_path / "out"), binary=binary, decisions=str(decisions),
              log=lambda text: None)
