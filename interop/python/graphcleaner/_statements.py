"""Statements of the query language with values in them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timezone
from typing import Any

from .errors import GraphcleanerError, reading

# What stands in quotes; a quote that is never closed; a parameter; and what begins or ends a part of a statement.
_TOKENS = re.compile(
    r"""'[^']*'|"[^"]*"|(?P<open>['"])|\$(?P<number>\d+)"""
    r"""|(?P<more>(?<![^\s;])--(?![a-z])[^\n]*|;|\b(?:where|sample|order|limit|offset|return)\b)""", re.IGNORECASE)


# A column and a comparison, before a value.
_VALUE = r"""(?:(?:'[^']*')+|[\w$.+-]+)\s*"""
_COMPARED = re.compile(r"""("(?:[^"]|"")+"|\w+)\s*(?:(?:[<>]=?|!?=|<>)|\b(?:not\s+)?(?:"""
                       rf"""between\s+(?:{_VALUE}and\s+)?|in\s*\(\s*(?:{_VALUE},\s*)*))\s*$""", re.IGNORECASE)
# Where the program understands any form of a time: in a history, and as a moment.
_BLANK = r"(?:\s|--(?![a-z])[^\n]*(?:\n|$))"
_HISTORY = re.compile(rf"{_BLANK}*(?:count{_BLANK}+)?history\b", re.IGNORECASE)
_MOMENT = re.compile(r"\bas\s+of\s+$", re.IGNORECASE)
# Times as the program writes them, from parquet; and as many others do.
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d\.(?:\d{9}|\d{6}|\d{3})Z)?")
_SPACED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d.*")


def bound(statement: str, values: Sequence[Any], example: Callable[[str], Any] = lambda name: None) -> str:
    """A statement with values in the place of $1, $2 and so on, each as a literal that can be nothing else. Quotes keep theirs.

    `example` returns a value of a column of the nodes, None if it has none. A time takes its form.
    """
    if not values:
        return statement
    used = set()

    def put(token: re.Match[str]) -> str:
        if token["open"]:
            raise GraphcleanerError(f"statement: the quote {token[0]} is not closed")
        if token["number"] is None:
            return token[0]
        number = int(token["number"])
        if not 0 < number <= len(values):
            raise GraphcleanerError(f"the statement has ${number}, but {_given(values)}")
        used.add(number)
        return _literal(values[number - 1], f"${number}", statement[:token.start()], example)

    made = _TOKENS.sub(put, statement)
    if len(used) < len(values):
        has = " and ".join(f"${number}" for number in sorted(used)) or "none of $1, $2… outside of quotes"
        raise GraphcleanerError(f"the statement has {has}, but {_given(values)}")
    return made


def _given(values: Sequence[Any]) -> str:
    return "one value was given" if len(values) == 1 else f"{len(values)} values were given"


def _literal(value: Any, what: str, before: str, example: Callable[[str], Any]) -> str:
    import numpy as np

    if isinstance(value, (date, np.datetime64)) or isinstance(value, str) and _SPACED.fullmatch(value):
        return text(_time(value, what, before, example))
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        raise GraphcleanerError(f"{what}: got {type(value).__name__}, want one value: for several, in ($1, $2) and a value for each")
    import pyarrow as pa

    with reading(what):
        value = pa.scalar(value).as_py()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) or isinstance(value, float) and math.isfinite(value):
        return repr(value)
    raise GraphcleanerError(f"{what}: got {value!r}, want a text, a finite number, a time, True or False")


def _time(value: Any, what: str, before: str, example: Callable[[str], Any]) -> str:
    """A time in the form of the column with which it is compared, since texts are compared there."""
    import numpy as np

    any_form = _HISTORY.match(before) or _MOMENT.search(before)
    compared = _COMPARED.search(before)
    has = example(compared[1]) if compared and not any_form else None
    is_time = isinstance(has, str) and _TIME.fullmatch(has) is not None
    if isinstance(value, str):
        if compared and is_time:
            raise GraphcleanerError(f"{what}: got {value!r}, and {compared[1]} has times such as {has!r}: want a datetime, or a text like it")
        return value
    if not any_form and (not compared or has is not None and not is_time):
        says = f"{compared[1]} has {has!r}, which is no time" if compared else "no column and comparison are before it"
        raise GraphcleanerError(f"{what}: got a time, and {says}: want a text in the form of the column, or such as when > $1")
    with reading(what):
        if hasattr(value, "to_datetime64"):  # of pandas, in UTC
            value = value.to_datetime64()
        elif getattr(value, "tzinfo", None):
            value = value.astimezone(timezone.utc).replace(tzinfo=None)
        if np.isnat(value := np.datetime64(value)):
            raise GraphcleanerError(f"{what}: got NaT, want a time")
        whole = str(np.datetime_as_string(value, unit="ns"))
    if any_form:
        return whole + "Z"
    size = len((has or whole).removesuffix("Z"))
    # What the column has no digits for comes after all that begins so, and before the next.
    return whole[:size] + "Z" * (size > len("2022-01-02")) + "~" * (whole[size:].strip("T0:.") != "")


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
