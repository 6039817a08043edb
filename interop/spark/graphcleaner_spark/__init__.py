"""Cleans graphs that are too large for one machine: stages of Spark around the binary of graphcleaner.

`clean` and `pack` are the calls, `python -m graphcleaner.spark` the command line. Executors need pyarrow, numpy and the
binary.
"""

from .errors import FrameError, GraphcleanerError, InputError, WorkerError
from .packing import Packed, pack
from .pipeline import clean

__all__ = ["FrameError", "GraphcleanerError", "InputError", "Packed", "WorkerError", "clean", "pack"]
