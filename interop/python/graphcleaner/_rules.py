"""What `graphcleaner import` takes: the order of classes, names of splits, sums of predictions."""

from __future__ import annotations

import math
import re
from collections.abc import Collection

#: How far from 1 the predictions of a node may add up, as `graphcleaner import` has it.
SUM_TOLERANCE = 1e-3

#: Splits, by the numbers that arrays have for them, and the names that stand for them.
SPLITS = ("none", "train", "val", "test")
SPLIT_NAMES = {"": 0, "none": 0, "train": 1, "val": 2, "valid": 2, "validation": 2, "test": 3}

# What Go's strconv.ParseFloat takes, without NaN: graphcleaner orders classes as numbers where it takes all of them.
_DIGITS, _HEX = "[0-9](?:_?[0-9])*", "[0-9a-f](?:_?[0-9a-f])*"
_DECIMAL_NUMBER = re.compile(
    rf"[+-]?(?:(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:e[+-]?{_DIGITS})?|inf(?:inity)?)",
    re.IGNORECASE | re.ASCII,
)
_HEX_NUMBER = re.compile(
    rf"[+-]?0x(?:_?{_HEX}(?:\.(?:{_HEX})?)?|\.{_HEX})p[+-]?{_DIGITS}", re.IGNORECASE | re.ASCII
)


def class_order(names: Collection[str]) -> list[str]:
    """Class names in the order of graphcleaner: as numbers where all are numbers, else by bytes."""
    numbers = {name: _number(name) for name in names}
    if None in numbers.values():
        return sorted(names, key=str.encode)
    return sorted(names, key=lambda name: (numbers[name], name.encode()))


def _number(name: str) -> float | None:
    """The number that graphcleaner takes a class name for. One beyond the range of float64 is none."""
    if _HEX_NUMBER.fullmatch(name):
        try:
            return float.fromhex(name.replace("_", ""))
        except OverflowError:
            return None
    if not _DECIMAL_NUMBER.fullmatch(name):
        return None
    value = float(name.replace("_", ""))
    return None if math.isinf(value) and "n" not in name.lower() else value
