"""Statements of the query language with values in them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from datetime import date, time, timezone
from typing import Any

from .errors import GraphcleanerError, reading

# What stands in quotes; a quote that is never closed; a parameter; and what begins or ends a part of a statement.
_TOKENS = re.compile(
    r"""'[^']*'|"[^"]*"|(?P<open>['"])|\$(?P<number>\d+)"""
    r"""|(?P<more>(?<![^\s;])--(?![a-z])[^\n]*|;|\b(?:where|sample|order|limit|return)\b)""", re.IGNORECASE)


def bound(statement: str, values: Sequence[Any]) -> str:
    """A statement with values in the place of $1, $2 and so on, each as a literal that can be nothing else. Quotes keep
    theirs.
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
        return _literal(values[number - 1], f"${number}")

    made = _TOKENS.sub(put, statement)
    if len(used) < len(values):
        has = " and ".join(f"${number}" for number in sorted(used)) or "none of $1, $2… outside of quotes"
        raise GraphcleanerError(f"the statement has {has}, but {_given(values)}")
    return made


def _given(values: Sequence[Any]) -> str:
    return "one value was given" if len(values) == 1 else f"{len(values)} values were given"


def _literal(value: Any, what: str) -> str:
    import numpy as np

    if isinstance(value, (date, np.datetime64)):
        return text(_time(value, what))
    if isinstance(value, time):
        raise GraphcleanerError(f"{what}: got the time of day {value}, want it as a text, as the column writes it: "
                                f"{value.isoformat('microseconds')!r} in a column of datetime.time")
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        raise GraphcleanerError(f"{what}: got {type(value).__name__}, want one value: for several, in ($1, $2) and a "
                                f"value for each")
    import pyarrow as pa

    with reading(what):
        value = pa.scalar(value).as_py()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) or isinstance(value, float) and math.isfinite(value):
        return repr(value)
    raise GraphcleanerError(f"{what}: got {value!r}, want a text, a finite number, a time, True or False")


def _time(value: Any, what: str) -> str:
    """A time as RFC 3339. The program compares it in the form that the times of a column have."""
    import numpy as np

    with reading(what):
        if hasattr(value, "to_datetime64"):  # of pandas, in UTC
            value = value.to_datetime64()
        elif getattr(value, "tzinfo", None):
            value = value.astimezone(timezone.utc).replace(tzinfo=None)
        if np.isnat(value := np.datetime64(value)):
            raise GraphcleanerError(f"{what}: got NaT, want a time")
        return f"{np.datetime_as_string(value, unit='ns')}+00:00"


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
