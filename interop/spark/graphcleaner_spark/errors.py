"""What can go wrong, each with one sentence for a person."""

from __future__ import annotations

import re

from graphcleaner.errors import GraphcleanerError


class FrameError(GraphcleanerError):
    """Bytes are no frame, or a frame is damaged."""


class WorkerError(GraphcleanerError):
    """A process `graphcleaner worker` failed, or died."""


class InputError(GraphcleanerError):
    """The nodes, edges, predictions or decisions are not as they must be."""


_KINDS = {kind.__name__: kind for kind in (GraphcleanerError, FrameError, WorkerError, InputError)}
_RAISED = re.compile(rf"^\S*\b({'|'.join(_KINDS)}): (.+)$", re.MULTILINE)


def raised_in_task(error: BaseException) -> GraphcleanerError | None:
    """The error that a Python task raised, from the text that Spark makes of it. None if it was another one."""
    found = _RAISED.search(str(error))
    return _KINDS[found[1]](found[2].strip()) if found else None
