"""Brings the binary and this package to the machines of the executors."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import zipfile
from pathlib import Path

from pyspark import SparkContext

_shipped: set[str] = set()  # sessions that have the package


def ship(context: SparkContext, binary: str) -> str:
    """Sends this package to the executors, and the binary if it is a path. Returns what they call the binary."""
    if context.applicationId not in _shipped:
        _send_package(context)
        _shipped.add(context.applicationId)
    if os.sep not in binary:
        return binary
    context.addFile(binary)
    return os.path.basename(binary)


def _send_package(context: SparkContext) -> None:
    import graphcleaner

    packages = [Path(__file__).resolve().parent, Path(graphcleaner.__file__).resolve().parent]
    if not all(package.is_dir() for package in packages):  # it came in a zip file, which tasks have
        return
    # The tasks fetch it whenever they begin, so it must be there until the end.
    folder = tempfile.mkdtemp(prefix="graphcleaner-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    archive = f"{folder}/graphcleaner-package.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for package in packages:
            for source in sorted(package.rglob("*.py")):
                packed.write(source, f"{package.name}/{source.relative_to(package)}")
    context.addPyFile(archive)
