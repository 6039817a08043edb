"""Flags label issues with cleanlab's find_label_issues and its defaults.

Usage: cleanlab_flags.py GIVEN PREDICTIONS OUT [GIVEN PREDICTIONS OUT …]
  GIVEN        csv id,row,label: row of PREDICTIONS and number of the class given
  PREDICTIONS  .npy [n, c]
  OUT          csv id,flagged
Prints the seconds of find_label_issues.
"""

import csv
import sys
import time

import numpy as np
from cleanlab.filter import find_label_issues


def flag(given: str, predictions: str, out: str) -> float:
    """Writes the flags and returns the seconds that they took."""
    with open(given, encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    labels = np.array([int(r["label"]) for r in rows])
    p = np.load(predictions, allow_pickle=False)[[int(r["row"]) for r in rows]].astype(np.float64)
    began = time.monotonic()
    flagged = find_label_issues(labels, p, n_jobs=1)
    seconds = time.monotonic() - began
    with open(out, "w", encoding="utf-8", newline="") as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["id", "flagged"])
        writer.writerows((r["id"], int(f)) for r, f in zip(rows, flagged))
    return seconds


def main() -> None:
    seconds = sum(flag(*sys.argv[i : i + 3]) for i in range(1, len(sys.argv), 3))
    print(seconds)


if __name__ == "__main__":
    main()
