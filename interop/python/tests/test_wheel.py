"""The wheel of this machine, installed into a fresh environment. Needs Go and a Python package index."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.wheel

HERE = Path(__file__).parent
PACKAGE = HERE.parent


@pytest.fixture(scope="module")
def wheel():
    out = subprocess.run([sys.executable, PACKAGE / "wheels"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return Path(out.splitlines()[-1])


def test_contents(wheel):
    assert re.fullmatch(r"graphcleaner-[0-9a-z.+]+-py3-none-\S+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as packed:
        assert packed.testzip() is None
        names = packed.namelist()
        assert {"graphcleaner/__init__.py", "graphcleaner/py.typed", "graphcleaner/spark.py",
                "graphcleaner/pyg/__init__.py", "graphcleaner/bin/graphcleaner"} <= set(names)
        record = next(name for name in names if name.endswith("RECORD"))
        assert len(packed.read(record).splitlines()) == len(names)
    with zipfile.ZipFile(wheel.with_name(f"graphcleaner_spark-{wheel.name.split('-')[1]}-py3-none-any.whl")) as packed:
        assert packed.testzip() is None and "graphcleaner_spark/__main__.py" in packed.namelist()


def test_equal_sources_make_equal_bytes():
    """The wheels of all targets, built twice."""
    def built():
        out = subprocess.run([sys.executable, PACKAGE / "wheels", "all"], check=True, stdout=subprocess.PIPE,
                             text=True).stdout
        return {Path(line).name: hashlib.sha256(Path(line).read_bytes()).hexdigest() for line in out.splitlines()}

    first = built()
    assert len(first) == 6
    assert first == built()


def test_targets_are_known():
    ended = subprocess.run([sys.executable, PACKAGE / "wheels", "plan9/amd64"], capture_output=True, text=True)
    assert ended.returncode == 2 and "got target 'plan9/amd64', want all, linux/amd64" in ended.stderr


def test_fresh_environment(wheel, tmp_path):
    """The program, and all tests of the client, with nothing of this folder."""
    venv.create(tmp_path / "venv", with_pip=True)
    scripts = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("GRAPHCLEANER_BINARY", "PYTHONPATH")}
    subprocess.run([scripts / "python", "-m", "pip", "install", "--quiet", f"{wheel}[test]"], check=True,
                   env=environment)
    version = subprocess.run([scripts / "graphcleaner", "--version"], check=True, capture_output=True, text=True,
                             env=environment).stdout
    assert version.startswith("graphcleaner ")
    asked = "import graphcleaner; print(graphcleaner.__version__)"
    said = subprocess.run([scripts / "python", "-c", asked], check=True, capture_output=True, text=True,
                          env=environment, cwd=tmp_path).stdout.strip()
    assert wheel.name.split("-")[1] == said
    assert all(commit in version for commit in re.findall(r"\+g(\w+)", said))
    assert subprocess.run([scripts / "graphcleaner", "no-command"], capture_output=True,
                          env=environment).returncode == 2
    example, printed = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", (PACKAGE / "README.md").read_text(),
                                 re.DOTALL).groups()
    said = subprocess.run([scripts / "python", "-c", example], check=True, stdout=subprocess.PIPE, text=True,
                          env=environment, cwd=tmp_path).stdout
    assert said == printed
    tests = tmp_path / "tests"
    tests.mkdir()
    for name in ("test_client.py", "test_answers.py", "test_audit.py", "test_questions.py", "test_graphs.py",
                 "test_notebook.py"):
        shutil.copy(HERE / name, tests)
    shutil.copy(PACKAGE.parents[1] / "docs" / "notebook.ipynb", tests)
    subprocess.run([scripts / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tests, "-c",
                    os.devnull, tests],
                   check=True, cwd=tests, env=environment)
