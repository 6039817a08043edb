"""Runs a command and writes what it took as json: exit_code, seconds, cpu_seconds, peak_bytes.

Usage: measured.py OUT COMMAND …

It is a process of its own because the peak that Linux reports of a child is never below what its parent held.
"""

import json
import os
import subprocess
import sys
import time


def main(out: str, *command: str) -> None:
    began = time.monotonic()
    child = subprocess.Popen(command)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    took = {
        "exit_code": child.returncode,
        "seconds": time.monotonic() - began,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    }
    with open(out, "w", encoding="utf-8") as text:
        json.dump(took, text)


if __name__ == "__main__":
    main(*sys.argv[1:])
