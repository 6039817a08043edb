#!/usr/bin/env python
"""Runs a command beside a standalone cluster of Spark on this machine, and stops the cluster when the command ends.

The cluster is one master and two workers. All of it listens on 127.0.0.1, at ports that are free. It is that of the package
pyspark of this Python. The command gets the address of the master in MASTER, which spark-submit and pyspark read.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType

_HOST = "127.0.0.1"
_PATIENCE = 60.0  # seconds for a daemon to start
_FAREWELL = 15.0  # seconds for a process to end
_ADDRESS = re.compile(rf"Starting Spark master at (spark://{re.escape(_HOST)}:\d+)")


class Cluster:
    """A master and workers: a context, which stops them at its end.

    workers, cores, memory   how many workers, and what each of them has
    master                   the address of the master
    environment              that of a command that uses the cluster
    processes                the workers; the executors are their children

    What workers write lies in a folder that is removed at the end, or in SPARK_LOCAL_DIRS. RuntimeError if a daemon does not
    start.
    """

    def __init__(self, workers: int = 2, cores: int = 1, memory: str = "2g"):
        self._workers, self._cores, self._memory = workers, cores, memory
        self.processes: list[subprocess.Popen[bytes]] = []
        self.master = ""
        self.environment: dict[str, str] = {}

    def __enter__(self) -> Cluster:
        self._folder = Path(tempfile.mkdtemp(prefix="graphcleaner-cluster-"))
        self._daemons: list[subprocess.Popen[bytes]] = []
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for daemon in reversed(self._daemons):  # a worker ends its executors
            _end(daemon)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> None:
        for name in ("conf", "local", "work"):
            (self._folder / name).mkdir()
        bin_folder = str(Path(sys.executable).parent)
        self.environment = {
            **os.environ,
            "PATH": os.pathsep.join([bin_folder, os.environ.get("PATH", "")]),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": _HOST,
        }
        master_log = self._daemon("master.Master", "--host", _HOST, "--port", "0", "--webui-port", "0")
        self.master = self._wait(master_log, _ADDRESS, 1)[0]
        self.environment["MASTER"] = self.master
        for _ in range(self._workers):
            self._daemon(
                "worker.Worker", "--host", _HOST, "--port", "0", "--webui-port", "0", "--cores", str(self._cores),
                "--memory", self._memory, "--work-dir", str(self._folder / "work"), self.master)
        self.processes = self._daemons[1:]
        self._wait(master_log, re.compile("Registering worker"), self._workers)

    def _daemon(self, name: str, *arguments: str) -> Path:
        """Starts a daemon, and returns the file that it logs to."""
        import pyspark

        home = Path(pyspark.__file__).parent
        log = self._folder / f"{len(self._daemons)}.log"
        environment = {
            "SPARK_LOCAL_DIRS": str(self._folder / "local"),
            **self.environment,
            "SPARK_HOME": str(home),
            "SPARK_CONF_DIR": str(self._folder / "conf"),  # settings of this machine are for other clusters
            "SPARK_DAEMON_MEMORY": "512m",
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        }
        with open(log, "wb") as out:
            # A session of its own: a Ctrl-C at the terminal is for the command, which needs the cluster to end well.
            self._daemons.append(subprocess.Popen(
                [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, start_new_session=True))
        return log

    def _wait(self, log: Path, wanted: re.Pattern[str], times: int) -> list[str]:
        deadline = time.monotonic() + _PATIENCE
        while True:
            found = wanted.findall(log.read_text(errors="replace"))
            if len(found) >= times:
                return found
            ended = next((place for place, daemon in enumerate(self._daemons) if daemon.poll() is not None), None)
            if ended is not None or time.monotonic() > deadline:
                said = (self._folder / f"{ended or 0}.log").read_text(errors="replace").strip().splitlines()
                what = "ended" if ended is not None else f"is not ready after {_PATIENCE:.0f} s"
                name = f"worker {ended}" if ended else "the master"
                raise RuntimeError(f"{name} {what}: " + ("\n".join(said[-5:]) or "it said nothing"))
            time.sleep(0.1)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_FAREWELL)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class _Stopped(Exception):
    """A signal asks this program to end; its number is the argument."""


def _stop(number: int, _: FrameType | None) -> None:
    raise _Stopped(number)


def _size(text: str) -> str:
    """A size as Spark takes it. Below 1g its executors do not start."""
    if not re.fullmatch(r"[1-9][0-9]{3,}m|[1-9][0-9]*g", text) or text.endswith("m") and int(text[:-1]) < 1024:
        raise argparse.ArgumentTypeError(f"got {text}, want a size such as 1536m or 2g, at least 1g")
    return text


def main() -> int:
    """Runs the command line, and returns the exit code of the command."""
    parser = argparse.ArgumentParser(prog="standalone.py", description=__doc__.splitlines()[0])
    parser.add_argument("--cores", type=int, default=1, help="of each of the two workers (%(default)s)")
    parser.add_argument("--memory", type=_size, default="2g", help="of each worker, for its executors (%(default)s)")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND ...")
    args = parser.parse_args()
    if not args.command:
        parser.error("got no command, want one, such as spark-submit")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        with Cluster(cores=args.cores, memory=args.memory) as cluster:
            return _run(args.command, cluster.environment)
    except _Stopped as err:
        return 128 + int(err.args[0])
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except (RuntimeError, OSError) as err:
        print(f"standalone.py: {err}", file=sys.stderr)
        return 1


def _run(command: list[str], environment: dict[str, str]) -> int:
    path = shutil.which(command[0], path=environment["PATH"])
    process = subprocess.Popen([path or command[0], *command[1:]], env=environment)
    try:
        code = process.wait()
    except KeyboardInterrupt:  # the command has got it, too
        try:
            process.wait(_FAREWELL)
        except subprocess.TimeoutExpired:
            pass
        raise
    finally:
        _end(process)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
