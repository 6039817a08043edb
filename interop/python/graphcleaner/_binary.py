"""The program graphcleaner: where it is, and how it is run."""

from __future__ import annotations

import logging
import os
import re
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

# How remarks begin that come with every run of a kind. The program does not say which of the others are warnings, so all of them are.
_ROUTINE = re.compile(r"no (predictions |features: |splits )|grey zone: |the kept classifier|Features of |waiting for |"
                      r"(?!.*(add nothing|not used)).* are joined with ")


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
    raise GraphcleanerError("there is no program graphcleaner: install a wheel of this package, or name the program in GRAPHCLEANER_BINARY")


@contextmanager
def running(arguments: Sequence[str], statements: str = "", *, warns: bool = True,
            said: list[tuple[int, str]] | None = None) -> Iterator[IO[bytes]]:
    """Runs the program while its standard output is read. A failure is a GraphcleanerError, also where the reader failed first.

    What it remarks is logged: as warnings if `warns`, but for what it always says. `said` gets the levels and the lines.
    """
    with tempfile.TemporaryFile() as heard, tempfile.TemporaryFile() as asked:
        found = path()
        try:
            with reading("arguments"):
                asked.write(statements.encode())
                asked.seek(0)
                environment = {**os.environ, "GRAPHCLEANER_PARENT": str(os.getpid())}  # with which it ends
                program = subprocess.Popen(["graphcleaner", *arguments], executable=found, stdin=asked, stdout=subprocess.PIPE,
                                           stderr=heard, env=environment)
        except OSError as error:
            named = " of GRAPHCLEANER_BINARY" if os.environ.get("GRAPHCLEANER_BINARY") == found else ""
            raise GraphcleanerError(f"{found}: the program{named} does not start: {error.strerror}") from error
        assert program.stdout is not None
        try:
            try:
                yield program.stdout
            except Exception:
                _end(program, _text(heard, program), arguments, warns)  # why the output was not what the reader expected
                raise
            remarks = _end(program, _text(heard, program), arguments, warns)
            if said is not None:
                said += remarks
        finally:
            program.stdout.close()
            if program.poll() is None:
                program.terminate()
                program.wait()


def run(arguments: Sequence[str], *, warns: bool = True, said: list[tuple[int, str]] | None = None) -> str:
    """Runs the program, and returns what it printed."""
    with running(arguments, warns=warns, said=said) as out:
        return out.read().decode()


def _text(heard: IO[bytes], program: subprocess.Popen[bytes]) -> str:
    """Waits for the program, and returns what it said to people."""
    assert program.stdout is not None
    program.stdout.close()
    program.wait()
    heard.seek(0)
    return heard.read().decode(errors="replace").strip()


def _end(program: subprocess.Popen[bytes], heard: str, arguments: Sequence[str], warns: bool) -> list[tuple[int, str]]:
    """Logs what the program remarked, and returns it with its levels."""
    if program.returncode == 0:
        lines = [line for line in heard.splitlines() if not line.startswith("Next: ")]  # commands of a shell
        levels = [logging.WARNING if warns and not _ROUTINE.match(line) else logging.INFO for line in lines]
        said = [(level, of_python(line.removeprefix("Warning: "), arguments)) for level, line in zip(levels, lines)]
        for level in (logging.INFO, logging.WARNING):
            if of_level := [line for of, line in said if of == level]:
                log.log(level, "%s", "\n".join(of_level))
        return said
    lines = [line for line in heard.splitlines() if not line.startswith("Run \"")]
    # The last line that begins with the name of the program begins the error.
    begins = [i for i, line in enumerate(lines) if line.startswith("graphcleaner: ")]
    message = "\n".join(lines[begins[-1]:]).removeprefix("graphcleaner: ") if begins else "\n".join(lines)
    raise GraphcleanerError(of_python(message, arguments) or f"graphcleaner ended with {program.returncode}", code=program.returncode)


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
