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

from .errors import GraphcleanerError, reading

_NAME = "graphcleaner.exe" if os.name == "nt" else "graphcleaner"
_log = logging.getLogger("graphcleaner")

# How remarks begin that come with every run of a kind. The program does not say which of the others are warnings, so all of them are.
_ROUTINE = re.compile(r"no (predictions |features: |splits )|grey zone: |the kept classifier|Features of |waiting for |"
                      r"(?!.*(say nothing|left out)).* are joined with ")
_FLAG = re.compile(r"(?<!\S)--([a-z]+(?:-[a-z]+)*)(?=[\s:,;.]|$)")


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
def running(arguments: Sequence[str], statements: str = "", *, warns: bool = True) -> Iterator[IO[bytes]]:
    """Runs the program while its standard output is read. A failure is a GraphcleanerError, also where the reader failed first.

    What it remarks is logged: as warnings if `warns`, but for what it always says.
    """
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as asked:
        found = path()
        try:
            with reading("arguments"):
                asked.write(statements.encode())
                asked.seek(0)
                program = subprocess.Popen(["graphcleaner", *arguments], executable=found, stdin=asked, stdout=subprocess.PIPE, stderr=said)
        except OSError as error:
            named = " of GRAPHCLEANER_BINARY" if os.environ.get("GRAPHCLEANER_BINARY") == found else ""
            raise GraphcleanerError(f"{found}: the program{named} does not start: {error.strerror}") from error
        assert program.stdout is not None
        try:
            try:
                yield program.stdout
            except Exception:
                _end(program, _text(said, program), warns)  # why the output was not what the reader expected
                raise
            _end(program, _text(said, program), warns)
        finally:
            program.stdout.close()
            if program.poll() is None:
                program.terminate()
                program.wait()


def run(arguments: Sequence[str], *, warns: bool = True) -> str:
    """Runs the program, and returns what it printed."""
    with running(arguments, warns=warns) as out:
        return out.read().decode()


def _text(said: IO[bytes], program: subprocess.Popen[bytes]) -> str:
    """Waits for the program, and returns what it said to people."""
    assert program.stdout is not None
    program.stdout.close()
    program.wait()
    said.seek(0)
    return said.read().decode(errors="replace").strip()


def _end(program: subprocess.Popen[bytes], said: str, warns: bool) -> None:
    if program.returncode == 0:
        remarks = [line for line in said.splitlines() if not line.startswith("Next: ")]  # commands of a shell
        warnings = [line for line in remarks if warns and not _ROUTINE.match(line)]
        for level, lines in ((logging.INFO, [line for line in remarks if line not in warnings]), (logging.WARNING, warnings)):
            if lines:
                _log.log(level, "%s", "\n".join(lines))
        return
    lines = [line for line in said.splitlines() if not line.startswith("Run \"")]
    # The last line that begins with the name of the program begins the error.
    begins = [i for i, line in enumerate(lines) if line.startswith("graphcleaner: ")]
    message = "\n".join(lines[begins[-1]:]).removeprefix("graphcleaner: ") if begins else "\n".join(lines)
    # Flags are arguments here.
    message = _FLAG.sub(lambda flag: flag[1].replace("-", "_"), message.replace("--yes was", "yes=True was"))
    raise GraphcleanerError(message or f"graphcleaner ended with {program.returncode}", code=program.returncode)


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
