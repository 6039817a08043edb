"""What can go wrong."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

_Call = TypeVar("_Call", bound=Callable[..., Any])


class GraphcleanerError(Exception):
    """An error whose text says where, what was found, and what was wanted.

    `code` is the exit code of the program where it failed: 1 failed, 2 wrong usage, 3 the verdict of a gate. Else it is
    None.
    """

    def __init__(self, *args: object, code: int | None = None) -> None:
        super().__init__(*args)
        self.code = code


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Whatever Arrow, numpy and pandas say of values that they cannot take is a GraphcleanerError about `what`."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        says = str(error.args[0] if error.args else error)
        if not re.match(r"Expected bytes, got|Could not convert .* with type .*: tried to convert", says, re.DOTALL):
            raise GraphcleanerError(f"{what}: {error}") from error
        # as Arrow says of a frame of pandas
        column = re.search(r"failed for column (.*) with type", str(error.args[-1]), re.DOTALL)
        where = f"{what}: column {column[1]!r}" if column else what
        raise GraphcleanerError(f"{where}: got values of several types, want one, such as text or integers "
                                f"({says})") from error


def short(call: _Call) -> _Call:
    """The errors of a function as a GraphcleanerError without its frames: what its caller can mend is in the text."""
    signature = inspect.signature(call)

    @wraps(call)
    def called(*arguments: Any, **named: Any) -> Any:
        signature.bind(*arguments, **named)
        try:
            return call(*arguments, **named)
        except GraphcleanerError as error:
            failed = error.with_traceback(None)
        # of an odd value
        except (ArithmeticError, AttributeError, NotImplementedError, TypeError, ValueError) as error:
            raise GraphcleanerError(f"{call.__name__}: {error}") from error
        raise failed from None

    return cast(_Call, called)
