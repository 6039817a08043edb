"""Command line: trains a base classifier and writes its predictions."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

import numpy as np

from .._rules import SPLITS
from ..errors import GraphcleanerError
from .files import read_graph, write_predictions
from .training import RECIPES, predict


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m graphcleaner.pyg",
        description="Trains a base classifier on a graph and writes predictions for graphcleaner's --predictions.",
    )
    parser.add_argument("--nodes", required=True, help="id,label[,split]: csv, tsv or parquet")
    parser.add_argument("--edges", required=True, help="src,dst")
    parser.add_argument("--features", required=True, help=".npy, or a scipy CSR .npz")
    parser.add_argument("--labels", help="id,label: the labels to train on, in place of those of --nodes")
    parser.add_argument("--splits", help="id,split: train, val, test or none, in place of a column of --nodes")
    parser.add_argument("--model", choices=list(RECIPES), default="gcn-tuned", help="(%(default)s)")
    parser.add_argument("--keep", choices=["last", "loss", "accuracy"], help="epoch whose predictions are written")
    parser.add_argument("--train-on-rest", action="store_true", help="train on labelled nodes in no split, too")
    parser.add_argument("--seed", type=int, nargs="+", default=[1], help="one or several; --out has {seed} for it")
    parser.add_argument("--threads", type=int, default=1, help="(%(default)s)")
    parser.add_argument("--out", required=True, help="predictions [n, c], .npy")
    return parser


def main(argv: list[str] | None = None) -> int:
    parser = _parser()
    args = parser.parse_args(argv)
    if len(args.seed) > 1 and "{seed}" not in args.out:
        parser.error(f"--out {args.out}: want {{seed}} in it for {len(args.seed)} seeds")
    recipes = RECIPES[args.model]
    if args.keep:
        recipes = [replace(recipe, keep=args.keep) for recipe in recipes]
    try:
        graph = read_graph(args.nodes, args.edges, args.features, args.splits, args.labels)
        for seed in args.seed:
            predictions = predict(
                graph,
                recipes,
                seed=seed,
                train_on_rest=args.train_on_rest,
                threads=args.threads,
                progress=lambda text: print(text, file=sys.stderr),
            )
            write_predictions(args.out.replace("{seed}", str(seed)), predictions, graph)
            _report(graph, predictions, seed)
    except (OSError, GraphcleanerError) as err:
        print(f"graphcleaner.pyg: {err}", file=sys.stderr)
        return 1
    return 0


def _report(graph, predictions, seed: int) -> None:
    right = predictions.argmax(axis=1) == graph.labels
    parts = []
    for place, name in enumerate(SPLITS):
        mask = (graph.splits == place) & (graph.labels >= 0)
        if mask.any():
            parts.append(f"{name} {np.mean(right[mask]):.4f} of {mask.sum()}")
    print(f"seed {seed}: agrees with the given labels: {', '.join(parts)}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
