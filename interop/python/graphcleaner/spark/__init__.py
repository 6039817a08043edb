"""Cleans graphs that are too large for one machine: stages of Spark around the binary of graphcleaner.

`clean` is the call, `python -m graphcleaner.spark` the command line. Executors need pyarrow, numpy and the binary.
"""

from .errors import FrameError, GraphcleanerError, InputError, WorkerError
from .pipeline import Summary, clean

__all__ = ["FrameError", "GraphcleanerError", "InputError", "Summary", "WorkerError", "clean"]
