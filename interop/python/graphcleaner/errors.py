"""What can go wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class GraphcleanerError(Exception):
    """An error whose text says where, what was found, and what was wanted.

    `code` is the exit code of the program where it failed: 1 failed, 2 wrong usage, 3 the verdict of a gate. Else it is None.
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
        raise GraphcleanerError(f"{what}: {error}") from error
