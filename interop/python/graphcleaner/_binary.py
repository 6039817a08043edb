"""The program graphcleaner: where it is, and how it is run."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ._messages import of_python
from .errors import GraphcleanerError, reading

_NAME = "graphcleaner.exe" if os.name == "nt" else "graphcleaner"
log = logging.getLogger("graphcleaner")

_LEVELS = {"INFO": logging.INFO, "WARN": logging.WARNING, "ERROR": logging.ERROR}  # of the program


def path() -> str:
    """The program: GRAPHCLEANER_BINARY, else that of the wheel, else the one in PATH."""
    if given := os.environ.get("GRAPHCLEANER_BINARY"):
        return given
    packed = Path(__file__).parent / "bin" / _NAME
    if packed.is_file():
        return str(packed)
    # The script of this package has the same name, and would find itself.
    scripts = os.path.realpath(sysconfig.get_path("scripts"))
    folders = [folder for folder in os.get_exec_path() if os.path.realpath(folder) != scripts]
    if found := shutil.which(_NAME, path=os.pathsep.join(folders)):
        return found
    raise GraphcleanerError("there is no program graphcleaner: install a wheel of this package, or name the program "
                            "in GRAPHCLEANER_BINARY")


@contextmanager
def running(arguments: Sequence[str], statements: str = "", *, said: list[tuple[int, str]]
            | None = None) -> Iterator[IO[bytes]]:
    """Runs the program while its standard output is read. A failure is a GraphcleanerError, also where the reader
    failed first.

    What the program says is logged. `said` gets the levels and the messages.
    """
    with tempfile.TemporaryFile() as heard, tempfile.TemporaryFile() as asked:
        found = path()
        try:
            with reading("arguments"):
                asked.write(statements.encode())
                asked.seek(0)
                environment = {**os.environ, "GRAPHCLEANER_PARENT": str(os.getpid())}  # with which it ends
                program = subprocess.Popen(["graphcleaner", "--log=json", *arguments], executable=found, stdin=asked,
                                           stdout=subprocess.PIPE,
                                           stderr=heard, env=environment)
        except OSError as error:
            named = " of GRAPHCLEANER_BINARY" if os.environ.get("GRAPHCLEANER_BINARY") == found else ""
            raise GraphcleanerError(f"{found}: the program{named} does not start: {error.strerror}") from error
        assert program.stdout is not None
        try:
            try:
                yield program.stdout
            except Exception:
                _end(program, _text(heard, program), arguments)  # why the output was not what the reader expected
                raise
            messages = _end(program, _text(heard, program), arguments)
            if said is not None:
                said += messages
        finally:
            program.stdout.close()
            if program.poll() is None:
                program.terminate()
                program.wait()


def run(arguments: Sequence[str], *, said: list[tuple[int, str]] | None = None) -> str:
    """Runs the program, and returns what it printed."""
    with running(arguments, said=said) as out:
        return out.read().decode()


def _text(heard: IO[bytes], program: subprocess.Popen[bytes]) -> str:
    """Waits for the program, and returns what it said to people."""
    assert program.stdout is not None
    program.stdout.close()
    program.wait()
    heard.seek(0)
    return heard.read().decode(errors="replace").strip()


def _end(program: subprocess.Popen[bytes], heard: str, arguments: Sequence[str]) -> list[tuple[int, str]]:
    """Logs what the program said, and returns it with its levels. A failure is a GraphcleanerError that has the
    errors.
    """
    said = []
    for line in filter(None, heard.split("\n")):
        try:
            # What is no message is of a fault of the program, or of the system.
            message = json.loads(line) if line.startswith("{") else {"level": "ERROR", "msg": line}
        except ValueError:  # a kill cut it off
            continue
        if "stage" not in message:  # which is progress
            said.append((_LEVELS[message["level"]], of_python(message["msg"], arguments)))
    errors = "\n".join(text for level, text in said if level == logging.ERROR)
    for level, text in said:
        if program.returncode == 0 or level != logging.ERROR:
            log.log(level, "%s", text)
    if program.returncode != 0:
        raise GraphcleanerError(errors or f"graphcleaner ended with {program.returncode}", code=program.returncode)
    return said


def main() -> int:
    """The command graphcleaner."""
    try:
        program = path()
    except GraphcleanerError as error:
        print(f"graphcleaner: {error}", file=sys.stderr)
        return 1
    if os.name == "nt":
        return subprocess.run([program, *sys.argv[1:]]).returncode
    os.execv(program, ["graphcleaner", *sys.argv[1:]])
