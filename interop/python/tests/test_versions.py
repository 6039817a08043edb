"""The versions of wheels, by those of the program."""

import runpy
from pathlib import Path

from packaging.version import Version

import graphcleaner

version_of = runpy.run_path(str(Path(__file__).parents[1] / "wheels"))["version_of"]
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
