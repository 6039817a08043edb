"""Statements of the query language with values in them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from .errors import GraphcleanerError, reading

# What stands in quotes; a quote that is never closed; a parameter; and what begins or ends a part of a statement.
_TOKENS = re.compile(
    r"""'[^']*'|"[^"]*"|(?P<open>['"])|\$(?P<number>\d+)"""
    r"""|(?P<more>(?<![^\s;])--[^\n]*|;|\b(?:where|sample|order|limit|offset|return)\b)""", re.IGNORECASE)


def bound(statement: str, values: Sequence[Any]) -> str:
    """A statement with values in the place of $1, $2 and so on, each as a literal that can be nothing else. Quotes keep theirs."""
    if not values:
        return statement
    literals, used = [_literal(value, f"${i}") for i, value in enumerate(values, 1)], set()

    def put(token: re.Match[str]) -> str:
        if token["open"]:
            raise GraphcleanerError(f"statement: the quote {token[0]} is not closed")
        if token["number"] is None:
            return token[0]
        number = int(token["number"])
        if not 0 < number <= len(literals):
            raise GraphcleanerError(f"statement: it has ${number}, and there are {len(literals)} values")
        used.add(number)
        return literals[number - 1]

    statement = _TOKENS.sub(put, statement)
    if len(used) < len(literals):
        raise GraphcleanerError(f"statement: it has {len(used)} of $1 to ${len(literals)}, want all of them, outside of quotes")
    return statement


def _literal(value: Any, what: str) -> str:
    if isinstance(value, str):
        return text(value)
    import pyarrow as pa

    with reading(what):
        value = pa.scalar(value).as_py()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) or isinstance(value, float) and math.isfinite(value):
        return repr(value)
    raise GraphcleanerError(f"{what}: got {value!r}, want a text, a finite number, True or False")


def clause(part: str, what: str) -> str:
    """A part of a statement, which must not begin another part."""
    for token in _TOKENS.finditer(part):
        if token["open"] or token["more"]:
            says = f"got {token[0]} outside of quotes" if token["more"] else f"the quote {token[0]} is not closed"
            raise GraphcleanerError(f"{what}: {says}")
    return part


def text(value: str) -> str:
    """A text in a statement."""
    return "'" + value.replace("'", "''") + "'"


def property_name(name: str) -> str:
    """A property in a statement."""
    return '"' + name.replace('"', '""') + '"'
