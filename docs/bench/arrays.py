"""Times graphcleaner.clean beside cleanlab's find_label_issues, on the same arrays.

    python3 -m venv bench && bench/bin/pip install "$(interop/python/wheels)" cleanlab==2.9.0
    bench/bin/python docs/bench/arrays.py --nodes 100000 --classes 10

The arrays are made up: labels of which a tenth is wrong, probabilities of a classifier, and edges that mostly join
nodes of one class. Both programs report the same number of issues: as many as cleanlab finds, which are the highest
scores of graphcleaner. The time is that of the call, with all that it writes and reads. The table has the medians, and
how many of the issues are wrong labels.
"""

from __future__ import annotations

import argparse
import statistics
import time


def arrays(nodes: int, classes: int, degree: int, seed: int) -> tuple:
    """Labels [n], which of them are wrong [n], probabilities [n, c] and edges [2, m]."""
    import numpy as np

    random = np.random.default_rng(seed)
    truth = random.integers(0, classes, nodes)
    wrong = random.random(nodes) < 0.1
    labels = np.where(wrong, (truth + random.integers(1, classes, nodes)) % classes, truth)
    # A classifier that is right about four times of five.
    logits = random.normal(size=(nodes, classes))
    logits[np.arange(nodes), truth] += 2.5
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    # The end of three edges of five is a node of the class of the start.
    order = np.argsort(truth, kind="stable")
    begin = np.searchsorted(truth[order], np.arange(classes + 1))
    src = np.repeat(np.arange(nodes), degree // 2)
    first, count = begin[truth[src]], np.diff(begin)[truth[src]]
    alike = order[first + (random.random(len(src)) * count).astype(np.int64)]
    dst = np.where(random.random(len(src)) < 0.6, alike, random.integers(0, nodes, len(src)))
    return labels, wrong, p, np.stack([src, dst])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--degree", type=int, default=10, help="edges of a node, about (%(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="of each program, by turns (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="of each program (%(default)s)")
    measure(parser.parse_args())


def measure(asked: argparse.Namespace) -> None:
    import cleanlab
    import graphcleaner
    import numpy as np
    from cleanlab.filter import find_label_issues

    labels, wrong, p, edges = arrays(asked.nodes, asked.classes, asked.degree, seed=7)

    def theirs() -> np.ndarray:
        return find_label_issues(labels, p, return_indices_ranked_by="normalized_margin", n_jobs=asked.threads)

    def ours(**options: bool) -> np.ndarray:
        found = graphcleaner.clean(labels, edges, p, range(asked.classes), threads=asked.threads, **options)
        return np.argsort(-np.asarray(found["score"]), kind="stable")

    programs = {
        f"cleanlab {cleanlab.__version__}, find_label_issues": theirs,
        "graphcleaner, clean(as_given=True)": lambda: ours(as_given=True),
        "graphcleaner, clean(), which trains a classifier too": ours,
    }
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    ranked = {}
    for _ in range(asked.repeats):
        for name, program in programs.items():
            began = time.perf_counter()
            ranked[name] = program()
            seconds[name].append(time.perf_counter() - began)
    issues = len(next(iter(ranked.values())))
    print(f"{asked.nodes} nodes, {edges.shape[1]} edges, {asked.classes} classes, {wrong.sum()} wrong labels, "
          f"{asked.threads} threads, "
          f"{asked.repeats} repeats: the first {issues} issues of each.\n")
    print("| program | seconds | issues that are wrong labels |\n|---|---|---|")
    for name, rank in ranked.items():
        print(f"| {name} | {statistics.median(seconds[name]):.2f} | {wrong[rank[:issues]].sum()} "
              f"({wrong[rank[:issues]].mean():.1%}) |")


if __name__ == "__main__":
    main()
