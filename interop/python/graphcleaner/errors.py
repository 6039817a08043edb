"""What can go wrong."""

from __future__ import annotations


class GraphcleanerError(Exception):
    """An error whose text says where, what was found, and what was wanted.

    `code` is the exit code of the program where it failed: 1 failed, 2 wrong usage, 3 the verdict of a gate. Else it is None.
    """

    def __init__(self, *args: object, code: int | None = None) -> None:
        super().__init__(*args)
        self.code = code
