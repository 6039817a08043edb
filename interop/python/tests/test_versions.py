"""The versions of wheels, by those of the program."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

from packaging.version import Version

import graphcleaner

WHEELS = Path(__file__).parents[1] / "wheels"
version_of = runpy.run_path(str(WHEELS))["version_of"]
PARTS = "0123456789ab"


def test_versions():
    ascending = {
        "v0.0.0-20261124164100-3af9cdf75c0a": "0.0.0.dev20261124164100+g3af9cdf75c0a",
        "v0.0.0-20261125164100-3af9cdf75c0a+dirty": "0.0.0.dev20261125164100+g3af9cdf75c0a.dirty.s0123456789ab",
        "v1.3.0-beta.2": "1.3.0b2",
        "v1.3.0-rc.1": "1.3.0rc1",
        "v1.3.0-rc.1.0.20261126164100-3af9cdf75c0a": "1.3.0rc2.dev20261126164100+g3af9cdf75c0a",
        "v1.3.0": "1.3.0",
        "v1.3.0+dirty": "1.3.0+dirty.s0123456789ab",
        "v1.3.1-0.20261127164100-3af9cdf75c0a": "1.3.1.dev20261127164100+g3af9cdf75c0a",
        "v1.3.1": "1.3.1",
    }
    for program, version in ascending.items():
        assert version_of(program, PARTS) == version == str(Version(version))
    assert sorted(ascending.values(), key=Version) == list(ascending.values())
    assert version_of("(devel)", PARTS) == "0.0.0.dev0+s0123456789ab"


def test_the_package_has_its_version():
    assert str(Version(graphcleaner.__version__)) == graphcleaner.__version__


def test_wheels_say_that_they_compile(tmp_path):
    """With a go that fails: what comes before it is said."""
    (tmp_path / "go").write_text("#!/bin/sh\n[ $1 = env ] && echo linux && echo amd64\n")
    (tmp_path / "go").chmod(0o755)
    done = subprocess.run([sys.executable, WHEELS],
                          env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
                          capture_output=True, text=True)
    assert done.returncode != 0 and done.stdout == ""
    assert done.stderr.startswith("wheels: compiling graphcleaner for linux/amd64: minutes the first time, seconds "
                                  "later\n")
