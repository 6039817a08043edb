"""The program that the tests run."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def binary(tmp_path_factory):
    """Path of graphcleaner: GRAPHCLEANER_BINARY, else built of this repository."""
    given = os.environ.get("GRAPHCLEANER_BINARY")
    if given:
        return given
    go = shutil.which("go")
    assert go, "want GRAPHCLEANER_BINARY, or go in PATH"
    path = tmp_path_factory.mktemp("bin") / "graphcleaner"
    subprocess.run(
        [go, "build", "-o", str(path), "."], cwd=Path(__file__).parents[3], check=True,
        env={**os.environ, "CGO_ENABLED": "0"}
    )
    return str(path)
