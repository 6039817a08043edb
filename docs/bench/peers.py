"""The other programs' side of compare.sh: Kùzu, DuckDB, scipy and cleanlab on the files that graphcleaner gets.

Every command writes one json object to --result. Reading files and building matrices is never in its seconds.
"""

import argparse
import json
import os
import sys
import time


def write_result(path, **values):
    with open(path, "w", encoding="utf-8") as out:
        json.dump(values, out)


def write_load(args, began, nodes, edges, version):
    """The result of a load that began, had its nodes and had its edges at these times, and whose database was closed
    now.
    """
    closed = time.perf_counter()
    write_result(
        args.result,
        seconds=closed - began,
        nodes_seconds=nodes - began,
        edges_seconds=edges - nodes,
        close_seconds=closed - edges,
        disk_bytes=disk_bytes(args.db),
        version=version,
    )


def kuzu_copy(args):
    """COPY of nodes and edges into a fresh database, up to the checkpoint that closing makes."""
    import kuzu

    if os.path.exists(args.db):
        sys.exit(f"{args.db}: is there already")
    database = kuzu.Database(args.db, buffer_pool_size=args.memory)
    connection = kuzu.Connection(database, num_threads=args.threads)
    connection.execute("CREATE NODE TABLE Node(id INT64, label INT64, PRIMARY KEY(id))")
    connection.execute("CREATE REL TABLE Edge(FROM Node TO Node)")
    began = time.perf_counter()
    connection.execute(f"COPY Node FROM '{args.nodes}' (header=true)")
    nodes = time.perf_counter()
    connection.execute(f"COPY Edge FROM '{args.edges}' (header=true)")
    edges = time.perf_counter()
    connection.close()
    database.close()
    write_load(args, began, nodes, edges, kuzu.__version__)


def duckdb_sort(args):
    """The nodes, and each edge once from either end, sorted by it, in tables of a fresh database, up to its closing."""
    import duckdb

    if os.path.exists(args.db):
        sys.exit(f"{args.db}: is there already")
    connection = duckdb.connect(args.db, config={"threads": args.threads} if args.threads else {})
    began = time.perf_counter()
    connection.execute("CREATE TABLE node AS SELECT id, label FROM read_csv(?)", [args.nodes])
    nodes = time.perf_counter()
    connection.execute(
        "CREATE TABLE adjacency AS"
        " WITH edge AS (SELECT #1 AS u, #2 AS v FROM read_csv(?) WHERE #1 <> #2)"
        " SELECT u, v FROM (SELECT u, v FROM edge UNION SELECT v, u FROM edge) ORDER BY u, v",
        [args.edges],
    )
    edges = time.perf_counter()
    connection.close()
    write_load(args, began, nodes, edges, duckdb.__version__)


def disk_bytes(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(path) for f in files)


def read_labels(path):
    """The ids and labels of a nodes file, in its order."""
    import numpy as np
    import pandas as pd

    nodes = pd.read_csv(path, dtype=np.int64)
    return nodes["id"].to_numpy(), nodes["label"].to_numpy()


def prepare(args):
    """Builds Ã = D^(-1/2) A D^(-1/2) [n×n] as CSR of float32 and X = [Y|P] [n×2c], and keeps their arrays in --out."""
    import numpy as np
    import pandas as pd
    import scipy.sparse as sp

    os.makedirs(args.out, exist_ok=True)
    ids, labels = read_labels(args.nodes)
    n = len(ids)
    row = np.empty(n, dtype=np.int32)
    row[ids] = np.arange(n, dtype=np.int32)
    edges = pd.read_csv(args.edges, dtype=np.int32).to_numpy()
    u, v = row[edges[:, 0]], row[edges[:, 1]]
    del edges
    u, v = u[u != v], v[u != v]
    ones = np.ones(2 * len(u), dtype=np.float32)
    a = sp.coo_matrix((ones, (np.concatenate([u, v]), np.concatenate([v, u]))), shape=(n, n)).tocsr()
    del u, v, ones
    a.sort_indices()
    degree = np.diff(a.indptr)
    scale = np.zeros(n, dtype=np.float64)
    np.divide(1, np.sqrt(degree), out=scale, where=degree > 0)
    a.data[:] = np.repeat(scale, degree) * scale[a.indices]
    p = np.load(args.predictions)
    x = np.zeros((n, 2 * p.shape[1]), dtype=np.float32)
    x[np.arange(n), labels] = 1
    x[:, p.shape[1]:] = p
    for name, array in (("data", a.data), ("indices", a.indices), ("indptr", a.indptr), ("x", x)):
        np.save(os.path.join(args.out, name + ".npy"), array)
    write_result(args.result, nodes=n, entries=int(a.nnz), columns=x.shape[1])


def load_prepared(directory):
    import numpy as np
    import scipy.sparse as sp

    data, indices, indptr, x = (np.load(os.path.join(directory, f + ".npy"))
                                for f in ("data", "indices", "indptr", "x"))
    n = len(indptr) - 1
    return sp.csr_matrix((data, indices, indptr), shape=(n, n)), x


def products(args):
    """Hop after hop Ã·(Ã·(Ã·X)) in memory, after a product that is not counted. scipy uses one thread."""
    import scipy

    a, x = load_prepared(args.prepared)
    _ = a @ x
    seconds = []
    for _ in range(args.hops):
        began = time.perf_counter()
        x = a @ x
        seconds.append(time.perf_counter() - began)
    write_result(
        args.result,
        seconds=sum(seconds),
        hops=seconds,
        entries=int(a.nnz),
        columns=x.shape[1],
        version=scipy.__version__,
    )


def cleanlab(args):
    """Confident learning on the same predictions and labels."""
    import cleanlab as package
    import numpy as np
    from cleanlab.filter import find_label_issues

    _, labels = read_labels(args.nodes)
    p = np.load(args.predictions)
    began = time.perf_counter()
    issues = find_label_issues(labels=labels, pred_probs=p)
    seconds = time.perf_counter() - began
    write_result(args.result, seconds=seconds, issues=int(issues.sum()), version=package.__version__)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)

    def command(name, run, *flags):
        sub = commands.add_parser(name, help=run.__doc__)
        sub.set_defaults(run=run)
        for flag in (*flags, "--result"):
            sub.add_argument(flag, required=True)
        return sub

    copy = command("kuzu-copy", kuzu_copy, "--nodes", "--edges", "--db")
    copy.add_argument("--memory", type=int, default=0, help="bytes of the buffer pool; 0: Kùzu's own choice")
    copy.add_argument("--threads", type=int, default=0, help="0: Kùzu's own choice")
    sort = command("duckdb-sort", duckdb_sort, "--nodes", "--edges", "--db")
    sort.add_argument("--threads", type=int, default=0, help="0: DuckDB's own choice")
    command("prepare", prepare, "--nodes", "--edges", "--predictions", "--out")
    command("products", products, "--prepared").add_argument("--hops", type=int, default=3)
    command("cleanlab", cleanlab, "--nodes", "--predictions")
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
