"""Errors, options, values in statements, stores in the place of others, and the end of Python.

These run in the environment of a wheel, too: see test_wheel.py.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_client import clean, cleaned, frames, papers, program  # noqa: F401

import graphcleaner
from graphcleaner import GraphcleanerError, _statements, _store
from graphcleaner._messages import of_python


# Errors


@pytest.mark.parametrize("said, reads", [
    ('/t/a b/predictions.parquet:6: column "Case_Based": got "NaN", want a finite number',
     "predictions, row 5, column 'Case_Based': got \"NaN\", want a finite number"),
    ('/t/a b/nodes.parquet:10: column "id": got "p0" again, as in line 1', "nodes, row 9, column 'id': got \"p0\" "
                                                                           "again, as in row 0"),
    ("If they are out of fold, clean with the option out-of-fold.", "If they are out of fold, clean with "
                                                                    "out_of_fold=True."),
    ("add up to 3 (or say --logits)", "add up to 3 (or say logits=True)"),
    ("--hops 9: want 1 to 5", "hops=9: want 1 to 5"),
    ("clean with --expect R, or --threshold", "clean with expect=R, or threshold"),
    ("add --unlabelled=-- to that", "add unlabelled=['--'] to that"),
    ("add --unlabelled 'N/A,-1' to that", "add unlabelled=['N/A', '-1'] to that"),
    ("add --unlabelled -1.", "add unlabelled=['-1']."),
    (r"with --prediction-classes 'a b,c\, d': give that", "with classes=['a b', 'c, d']: give that"),
    ("with --prediction-classes c1,c0: give that", "with classes=['c1', 'c0']: give that"),
    ("/t/a b/predictions.npy: row 5 (node p5): class B is 3. If these are logits, add --logits",
     "predictions: row 5 (node p5): class B is 3. If these are logits, add logits=True"),
    ("each (--prediction-classes names the columns of the file)", "each (classes names the columns of the file)"),
    ("a Parquet file holds one answer: got more, want one statement with --format parquet",
     "a frame holds one answer: got more, want one statement in a call"),
    ("repeat this with --unlabelled NA", "call this again with unlabelled=['NA']"),
    ('1:6: got "--who", and a statement has no flags: give them to the command, as in: shell DB --who ann -c undo. A '
     'comment',
     '1:6: got "--who", and a statement has no flags: pass them to open, as in: open(path, who=\'ann\'). A comment'),
    ("correct the file and append it again.", "correct the frame and append it again."),
    ("repeat this with --replace --yes --columns label=party,my_label=label", "call this again with 'label': 'party' "
                                                                              "in columns"),
    ("add --edge-columns 'src=the end,dst=b'", "add 'src': 'the end', 'dst': 'b' in edge_columns"),
    ("say --columns id,label.", "say columns=['id', 'label']."),
    ("append without --predictions, and then import --predictions of all nodes",
     "append without predictions, and then import predictions of all nodes"),
    ("run predict, or clean --as-given, which scores", "run predict, or as_given=True, which scores"),
    ("take fewer --hops; wait for it (--wait), or end it", "take fewer hops; wait for it (wait), or end it"),
    ("graphcleaner check a.graph --repair repairs it: --hops", "graphcleaner check a.graph --repair repairs it: hops"),
    ("line 3 of /else/nodes.csv:3", "line 3 of /else/nodes.csv:3"),
    ('hops: got "2 --report=y", want', 'hops: got "2 --report=y", want'),
    ("a--as-given and --no-rescore", "a--as-given and no_rescore"),
])
def test_messages_are_of_python(said, reads):
    files = ["/t/a b/nodes.parquet", "/t/a b/predictions.parquet", "/t/a b/predictions.npy"]
    assert of_python(said, ["import", *files]) == reads


def test_errors_name_rows_and_columns_of_the_caller():
    nodes, edges, softmax, classes = frames()
    broken = softmax.copy()
    broken[5, 1] = np.nan
    for call, says in [
        (lambda: clean(nodes, edges, broken, classes), "^predictions, row 5, column 'Databases': got NaN, want"),
        (lambda: clean(nodes.replace({"paper_id": {"p9": "p0"}}), edges), "^nodes, row 9, column 'paper_id': got "
                                                                          "\"p0\" again, as in row 0"),
        (lambda: clean(nodes, edges.replace({"target": {"p9": None}})), "^edges, row [0-9]+, column 'target': got"),
        (lambda: clean(nodes, edges, features=nodes), "^features, row 0, column 'subject': got \"Theory\""),
    ]:
        with pytest.raises(GraphcleanerError, match=says) as failed:
            call()
        assert "parquet" not in str(failed.value) and os.sep not in str(failed.value)


def test_options_that_are_misspelt(papers):  # noqa: F811
    nodes, edges, _, _ = frames()
    store = graphcleaner.open(papers)
    for call, says in [
        (lambda: clean(nodes, edges, hop=3), "^hop=…: did you mean hops=…$"),
        (lambda: clean(nodes, edges, asgiven=True), "^asgiven=…: did you mean as_given=…$"),
        (lambda: clean(nodes, edges, feature=1), "^feature=…: did you mean features=…$"),
        (lambda: store.clean(hop=3), "^hop=…: did you mean hops=…$"),
        (lambda: store.export("labels", thread=2), "^thread=…: did you mean threads=…$"),
    ]:
        with pytest.raises(GraphcleanerError, match=says):
            call()


@pytest.mark.parametrize("command, options", [("clean", _store.CLEANING), ("export", _store._EXPORTING)])
def test_options_are_those_of_the_program(command, options):
    known = set(re.findall(r"^ +(?:-\w, )? *--([a-z-]+)", _binary_help(command), re.MULTILINE))
    own = {"help", "version", "quiet", "log", "format", "out"}
    assert {name.replace("-", "_") for name in known - own} == set(options)


def _binary_help(command):
    return graphcleaner._binary.run([command, "--help"])


def test_errors_are_short(papers):  # noqa: F811
    store = graphcleaner.open(papers)
    for call in (lambda: store.query("nodes where yeer > 1"), lambda: store.suspects("yeer > 1"),
                 lambda: clean(*frames(), hops=9), lambda: clean(5, 6)):
        with pytest.raises(GraphcleanerError) as failed:
            call()
        assert len(failed.traceback) <= 4 and failed.value.__suppress_context__ and failed.value.__cause__ is None


ODD = [[["a"], ["b"]], [{"a": 1}, {"a": 2}], [1 + 2j, 3j], [b"\xff", b"\xfe"], [object(), object()],
       [pd.Timedelta(1), pd.Timedelta(2)],
       [pd.Period("2020"), pd.Period("2021")], [np.float16(1), np.float16(2)], [pd.Interval(0, 1), pd.Interval(1, 2)],
       [(1, 2), (3, 4)], ["a", 1], [lambda: 1] * 2]

TAKEN = {("subject", "Period"), ("subject", "float16"), ("networkx", "float16"), ("value", "float16"), ("value", "str")}
ODD_NAMES = {"paper_id": "nodes[:,]", "subject": "nodes:", "softmax": "predictions:",
             "networkx": "(nodes: attribute 'label'|edges: attribute 'weight'):",
             "ids": "ids[:,]", "value": r"\$1:"}


@pytest.mark.parametrize("values", ODD, ids=lambda values: type(values[0]).__name__)
@pytest.mark.parametrize("column", ["paper_id", "subject", "softmax", "networkx", "ids", "value"])
def test_values_of_odd_types(values, column, cleaned):  # noqa: F811
    """They are taken, or refused by an error that names what they were given for."""
    nodes, edges, softmax, classes = frames()
    many = pd.Series([values[v % 2] for v in range(60)])
    store = graphcleaner.open(cleaned)
    ask = {
        "softmax": lambda: clean(nodes, edges, pd.DataFrame(dict.fromkeys(classes, many))),
        "networkx": lambda: _of_networkx(values),
        "ids": lambda: store.score(values),
        "value": lambda: store.query("nodes where id = $1", values[0]),
    }.get(column, lambda: clean(nodes.assign(**{column: many}), edges))
    if (column, type(values[0]).__name__) in TAKEN:
        answer = ask()
        assert len(answer) == 60 if column == "subject" else answer.num_nodes == 3 if column == "networkx" else answer.num_rows == 0
        return
    with pytest.raises(GraphcleanerError, match=f"^{ODD_NAMES[column]}"):
        ask()


@pytest.mark.parametrize("value", [5, [], np.zeros((2, 2)), pd.DataFrame(), pd.NA, object()],
                         ids=lambda value: type(value).__name__)
def test_arguments_of_odd_types(value, cleaned):  # noqa: F811
    store = graphcleaner.open(cleaned)
    for call in (store.query, store.export, store.neighborhood, store.suspects, graphcleaner.open,
                 graphcleaner.from_networkx, graphcleaner.read_ogb,
                 graphcleaner.read_dgl, lambda value: store.suspects(order_by=value),
                 lambda value: clean(*frames(), store=value)):
        with pytest.raises(GraphcleanerError):
            call(value)
    with pytest.raises(TypeError, match="missing a required argument"):
        graphcleaner.open()


def _of_networkx(values):
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph([(0, 1), (1, 2), (0, 2)])
    networkx.set_node_attributes(graph, {v: values[v % 2] for v in range(3)}, "label")
    networkx.set_edge_attributes(graph, {edge: values[0] for edge in graph.edges}, "weight")
    return graphcleaner.from_networkx(graph, weight="weight")


def test_graphs_of_other_libraries_are_named():
    networkx = pytest.importorskip("networkx")
    with pytest.raises(GraphcleanerError,
                       match=r"^nodes: got a graph of NetworkX, want graphcleaner.from_networkx\(G, label=…\)$"):
        graphcleaner.clean(networkx.Graph())


# Values in statements


@pytest.mark.parametrize("who", ["x' or label != 'y", "'", "''", "'; undo; --", "$1", "--", "\\", "a\nb", '"',
                                 "ü\u2028"])
def test_values_are_values(cleaned, who):  # noqa: F811
    store = graphcleaner.open(cleaned)
    assert store.suspects("label = $1", who).num_rows == 0
    assert store.query("count nodes where label != $1 and id != $2", who, who).to_pylist() == [{"count": 60}]
    assert store.query("nodes where label = '$1' or id = $1 -- it's $2", who).num_rows == 0


@pytest.mark.parametrize("statement, values, want", [
    ("label = $1 and score > $2", ("it's", 0.5), "label = 'it''s' and score > 0.5"),
    ("$1 $2 $3 $4", (True, np.int64(-3), np.float32(0.5), np.bool_(False)), "true -3 0.5 false"),
    ("$1 '$1' \"$1\" '''$1' $2", ("a", 2), "'a' '$1' \"$1\" '''$1' 2"),
    ("label like '%--%' and id = $1", ("x",), "label like '%--%' and id = 'x'"),
])
def test_values_in_a_statement(statement, values, want):
    assert _statements.bound(statement, values) == want


@pytest.mark.parametrize("ask, says", [
    (lambda s: s.query("nodes where id = $2", "x"), r"^the statement has \$2, but one value was given$"),
    (lambda s: s.query("nodes where id = $0", "x"), r"has \$0, but one value was given"),
    (lambda s: s.query("nodes where id = '$1'", "x"), "has none of .* outside of quotes, but one value was given"),
    (lambda s: s.query("nodes where id = $1", "x", "y"), r"has \$1, but 2 values were given"),
    (lambda s: s.query("nodes where id = $1", ["x"]), r"\$1: got list, want one value: for several, in \(\$1, \$2\)"),
    (lambda s: s.query("nodes where label = $1", pd.NaT), r"^\$1: got NaT, want a time$"),
    (lambda s: s.query("undo --who ann"), 'got "--who", and a statement has no flags: pass them to open'),
    (lambda s: s.query("nodes where id = 'x' and label = 'y $1", "x"), "is not closed"),
    (lambda s: s.query("nodes where id = $1", None), r"\$1: got None, want a text, a finite number"),
    (lambda s: s.query("nodes where score = $1", float("nan")), r"\$1: got nan, want a text"),
    (lambda s: s.suspects(order_by="score limit 1"), "order_by: got limit outside of quotes"),
    (lambda s: s.suspects("score > 0 limit 1 return id"), "where: got limit outside of quotes"),
    (lambda s: s.suspects("score > 0 Order\nby id"), "where: got Order outside of quotes"),
    (lambda s: s.suspects("score > 0; undo"), "where: got ; outside of quotes"),
    (lambda s: s.suspects("score > 0 --", order_by="id"), "where: got -- outside of quotes"),
    (lambda s: s.suspects("label = 'x", order_by="id' or 'y'"), "where: the quote ' is not closed"),
    (lambda s: s.suspects(limit=2.5), "^limit: got 2.5, want a whole number$"),
    (lambda s: s.export("label"), r"^export\('label'\): want scores, suspects, .*predictions, features or transition$"),
    (lambda s: s.decide(987654, "accept"), "^nothing is decided: the store has no node '987654'|^the store has no "
                                           "node '987654'$"),
    (lambda s: s.decide(pd.Series([True, False]), "accept"),
     r"^ids: got True and False, want ids themselves, such as frame.id\[mask\]$"),
    (lambda s: s.suspects(None, "x"), "where: got none, and values for it"),
    (lambda s: s.query("count nodes where at = $1", datetime(2022, 1, 1, 9, 30).time()),
     r"^\$1: got the time of day 09:30:00, want it as a text, .*: '09:30:00.000000' in a column"),
])
def test_statements_that_are_refused(cleaned, ask, says):  # noqa: F811
    with pytest.raises(GraphcleanerError, match=says):
        ask(graphcleaner.open(cleaned))


@pytest.mark.parametrize("unit, kind", [
    ("D", datetime.fromisoformat),
    ("ms", np.datetime64),
    ("us", lambda at: pd.Timestamp(at, tz="UTC").tz_convert("Asia/Tokyo")),
    ("ns", pd.Timestamp),
])
def test_times_are_compared_as_times(unit, kind, tmp_path):
    nodes, edges, softmax, classes = frames()
    when = np.datetime64("2022-01-01", "s") + np.arange(len(nodes)) * np.timedelta64(6, "h")
    nodes["when"] = when.astype("datetime64[D]").astype(object) if unit == "D" else when.astype(f"datetime64[{unit}]")
    clean(nodes, edges, softmax, classes, store=tmp_path / "s")
    store = graphcleaner.open(tmp_path / "s")
    values = when.astype("datetime64[D]") if unit == "D" else when
    for at in "2022-01-02T12:00:00", "2022-01-03T00:00:00", "2022-01-03T00:00:00.000001":
        for sign, compare in (">", np.greater), (">=", np.greater_equal), ("=",
                                                                           np.equal), ("<=",
                                                                                       np.less_equal), ("<", np.less):
            want = int(compare(values, np.datetime64(at)).sum())
            assert store.query(f"count nodes where when {sign} $1", kind(at))[0][0].as_py() == want, (sign, at)
        low, high = np.datetime64(at), np.datetime64(at) + np.timedelta64(6, "h")
        is_in = (values == low) | (values == high)
        for sign, want in ("", is_in.sum()), ("not ", (~is_in).sum()):
            assert store.query(f"count nodes where when {sign}in ($1, $2)", kind(at),
                               kind(str(high)))[0][0].as_py() == want, (sign, at)
    later = (values > np.datetime64("2022-01-02T12:00")).sum()
    assert store.query("count nodes where when > $1", "2022-01-02 12:00:00")["count"].to_pylist() == [later]


@pytest.mark.parametrize("now", [datetime(2040, 1, 1), np.datetime64("2040-01-01"),
                                 pd.Timestamp("2040-01-01", tz="Asia/Tokyo"), "2040-01-01 18:00"])
def test_times_of_a_history(papers, now):  # noqa: F811
    store = graphcleaner.open(papers)
    store.decide("p1", "relabel", "Databases")
    for statement, want in [
        ("count history where time < $1", 1), ("-- of all\nCount -- each\n history where time > $1", 0),
        ("count history where time in ($1)", 0),
        ("count history where time >= '2020-01-01' and time <= $1 group by decision return max(step)", 1),
    ]:
        assert store.query(statement, now)["count"].to_pylist() == [want][:want or "group" not in statement], statement
    assert store.query("history where time <= $1", now).num_rows == 1
    store.undo()


@pytest.mark.parametrize("kind", [bool])
def test_labels_that_are_true_or_false(kind, tmp_path):
    nodes, edges, _, _ = frames()
    nodes["subject"] = [kind(at % 2 == 0) for at in range(len(nodes))]
    clean(nodes, edges, store=tmp_path / "s")
    store = graphcleaner.open(tmp_path / "s")
    count = "count nodes where label"
    assert store.query(f"{count} = $1", True)["count"].to_pylist() == [30]
    assert store.query(f"{count} in ($1, $2) and label != $2", True, False)["count"].to_pylist() == [30]
    found = [store.suspects(f"score >= 0{more}", *values).num_rows for more,
             *values in (("",), (" and label = $1", False), (" and label = $1", True))]
    assert found[0] == found[1] + found[2] > 0
    store.decide("p0", "relabel", store.query("nodes where label = $1 limit 1", False)["label"][0].as_py())
    assert store.query(f"{count} = $1", True)["count"].to_pylist() == [29]


def test_words_of_clauses_in_quotes(papers):  # noqa: F811
    store = graphcleaner.open(papers)
    store.append({"id": ["p1"], "label": ["Databases"], "limit": [3]})
    assert store.suspects("\"limit\" = 3 and label != 'order by; --'", order_by='"limit"').num_rows == 0


def test_a_store_in_a_with_block(cleaned):  # noqa: F811
    with graphcleaner.open(cleaned) as store:
        picture = store.neighborhood("p1")
        assert store.query("count nodes").num_rows == 1
    assert repr(picture).startswith("<Neighborhood, a picture of ") and len(repr(picture)) < 100


# Stores in the place of others, and the end of Python


def test_a_store_is_replaced(papers, tmp_path):  # noqa: F811
    graphcleaner.open(papers).decide("p1", "reject")
    nodes, edges, _, _ = frames()
    with pytest.raises(GraphcleanerError, match='"p0" again'):
        clean(nodes.replace({"paper_id": {"p9": "p0"}}), edges, store=papers, replace=True)
    assert graphcleaner.open(papers).query("history").num_rows == 1
    clean(nodes, edges, store=papers, replace=True)
    assert graphcleaner.open(papers).query("history").num_rows == 0
    assert [path.name for path in papers.parent.iterdir()] == [papers.name]
    clean(nodes, edges, store=tmp_path / "new.graph", replace=True)
    assert graphcleaner.open(tmp_path / "new.graph").query("count nodes").num_rows == 1
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    with pytest.raises(GraphcleanerError, match="not a graphcleaner store"):
        clean(nodes, edges, store=tmp_path / "mine", replace=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "all of it"
    with pytest.raises(GraphcleanerError, match="replace: want a store with it"):
        clean(nodes, edges, replace=True)


def test_a_store_whose_cleaning_fails_stays(papers, tmp_path):  # noqa: F811
    graphcleaner.open(papers).decide("p1", "reject")
    for path in (papers, tmp_path / "it's new"):
        with pytest.raises(GraphcleanerError, match="^hops=9: want 1 to 5\n.* has the graph, but is not cleaned. "
                                                    "Clean it with graphcleaner.open") as failed:
            clean(*frames(), store=path, replace=path == papers, hops=9)
        advice = re.search(r"graphcleaner\.open\(.*\)\.clean\(…\)", str(failed.value))[0]
        assert "nodes scored" in eval(advice.replace("…", "hops=2, as_given=True"))
        assert graphcleaner.open(path).query("history").num_rows == 0 and graphcleaner.open(path).export("scores").num_rows == 60


def test_the_rest_of_a_killed_replacement_goes_with_the_next(papers):  # noqa: F811
    graphcleaner.open(papers).decide("p1", "relabel", "Databases")
    rest = papers.with_name("papers.graph.replacing") / "store"
    rest.mkdir(parents=True)
    (rest / "000001.sst").write_text("half")
    assert graphcleaner.open(papers).query("history").num_rows == 1
    clean(*frames(), store=papers, replace=True)
    assert graphcleaner.open(papers).query("history").num_rows == 0
    assert [path.name for path in papers.parent.iterdir()] == ["papers.graph"]


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_the_end_of_python_in_an_import_loses_no_store(papers, tmp_path, how):  # noqa: F811
    graphcleaner.open(papers).decide("p1", "reject")
    os.mkfifo(tmp_path / "edges.csv")
    code = f"""
from test_client import clean, frames
from graphcleaner import _tables
write = _tables.write
_tables.write = lambda table, path, what: {str(tmp_path / "edges.csv")!r} if what == "edges" else write(table, path, what)
clean(*frames(), store={str(papers)!r}, replace=True)
"""
    paths = os.pathsep.join(map(str, (Path(__file__).parent, Path(graphcleaner.__file__).parents[1])))
    python = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE,
                              env={**os.environ, "GRAPHCLEANER_BINARY": graphcleaner._binary.path(),
                                   "PYTHONPATH": paths})
    aside, deadline = papers.with_name("papers.graph.replacing"), time.monotonic() + 60
    while not aside.exists():  # then the import waits for edges
        assert time.monotonic() < deadline and python.poll() is None
        time.sleep(0.05)
    python.send_signal(how)
    python.communicate(timeout=60)
    assert graphcleaner.open(papers).query("history").num_rows == 1
    assert graphcleaner.open(papers).query("count nodes where score >= 0").to_pylist() == [{"count": 60}]


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_a_link_to_a_store_stays_one(papers, tmp_path):  # noqa: F811
    link = tmp_path / "link"
    link.symlink_to(papers)
    clean(*frames(), store=link, replace=True)
    assert link.is_symlink() and graphcleaner.open(papers).query("history").num_rows == 0


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_store_in_use_is_not_replaced(papers):  # noqa: F811
    holder = subprocess.Popen([graphcleaner._binary.path(), "serve", papers], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    try:
        holder.stdout.readline()  # it holds the store by now
        with pytest.raises(GraphcleanerError, match="only a store that nobody writes to can be replaced: .* is in use "
                                                    "by process"):
            clean(*frames(), store=papers, replace=True)
    finally:
        holder.terminate()
        holder.communicate()


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL", "SIGINT", "os._exit", "daemon"])
def test_the_end_of_python_ends_the_program(how, tmp_path):
    """Whatever ends Python ends the program that it runs. Only SIGKILL and os._exit leave files."""
    fifo, stores = tmp_path / "fifo.csv", tmp_path / "tmp"
    os.mkfifo(fifo)
    stores.mkdir()
    code = f"""
import os, signal, subprocess, sys, threading, time
from graphcleaner import _binary, _tables
started = subprocess.Popen
class Popen(started):
    def __init__(self, *words, **named):
        super().__init__(*words, **named)
        print(self.pid, flush=True)
subprocess.Popen = Popen
def run():
    with _tables.folder() as folder:
        _binary.run(["import", folder + "/store", "--nodes", {str(fifo)!r}, "--edges", {str(fifo)!r}])
if {how!r} == "daemon":
    threading.Thread(target=run, daemon=True).start()
    sys.stdin.readline()
elif {how!r} == "os._exit":
    threading.Thread(target=lambda: (sys.stdin.readline(), os._exit(3))).start()
    run()
else:
    run()
"""
    environment = {**os.environ, "TMPDIR": str(stores), "GRAPHCLEANER_BINARY": graphcleaner._binary.path(),
                   "PYTHONPATH": str(Path(graphcleaner.__file__).parents[1])}
    python = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=environment)
    child = int(python.stdout.readline())
    if how.startswith("SIG"):
        python.send_signal(getattr(signal, how))
    python.communicate(b"\n", timeout=60)
    assert python.returncode == {"SIGTERM": 143, "SIGKILL": -9, "SIGINT": -signal.SIGINT, "os._exit": 3,
                                 "daemon": 0}[how] or how == "SIGINT"
    deadline = time.monotonic() + 60
    while _runs(child):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert how in ("SIGKILL", "os._exit") or not list(stores.iterdir())


def _runs(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    except OSError:
        os.kill(pid, 0)
        return True


def test_a_handler_of_the_caller_stays(papers):  # noqa: F811
    before = signal.getsignal(signal.SIGTERM)
    graphcleaner.open(papers).score("p1")
    assert signal.getsignal(signal.SIGTERM) == before
    answers = []
    thread = threading.Thread(target=lambda: answers.append(graphcleaner.open(papers).score("p1").num_rows))
    thread.start()
    thread.join()
    assert answers == [1]
