"""Runs one command line of several programs in turns, such as of two commits, and prints the medians as a markdown
table.

In the arguments behind --, {store} stands for the store, and {scratch} for a directory that is new for each run. The
ratio is that of the seconds to those of the first program.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def seconds_of(stages, path):
    """The seconds of some stages of a file of --stats."""
    with open(path, encoding="utf-8") as file:
        return sum(stage["seconds"] for stage in json.load(file)["stages"] if stage["name"] in stages)


def run(program, store, args):
    """The seconds, the processor seconds, the most resident MiB and the seconds of the stages of one run."""
    with tempfile.TemporaryDirectory(dir=args.scratch) as scratch:
        if args.copy:
            store = shutil.copytree(store, f"{scratch}/store")
        if args.cold:
            subprocess.run([args.cold, "evict", store, shutil.which(program)], check=True)
        command = [program] + [word.replace("{store}", store).replace("{scratch}", scratch) for word in args.arguments]
        if args.stages:
            command += ["--stats", f"{scratch}/stages.json"]
        began = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"turns.py: {' '.join(command)} ended with "
                             f"{process.returncode}:\n{said.decode(errors='replace')}")
        stages = seconds_of(args.stages.split(","), f"{scratch}/stages.json") if args.stages else None
        return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, stages


def say(values):
    """The median of seconds, and how far they reach."""
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    parser.add_argument("--store", action="append", default=[], metavar="DB",
                        help="of all programs, or one of each in their order")
    parser.add_argument("--copy", action="store_true", help="each run has a copy of the store")
    parser.add_argument("--cold", metavar="BENCH", help="this program, of docs/bench, takes the store and the program "
                                                        "out of the page cache before each run")
    parser.add_argument("--stages", metavar="A,B", help="the seconds of these stages too, by --stats")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="runs of each program (5)")
    parser.add_argument("--scratch", metavar="DIR", help="where copies and results of runs lie (that of temporary "
                                                         "files)")
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    args = parser.parse_args(words[:end])
    if end == len(words):
        parser.error("want -- before the arguments of the programs")
    args.arguments = words[end + 1:]
    if len(args.store) not in (0, 1, len(args.programs)):
        parser.error("want one --store, or one of each program")
    if (args.copy or args.cold) and not args.store:
        parser.error("--copy and --cold want --store")
    stores = args.store if len(args.store) == len(args.programs) else (args.store or [""]) * len(args.programs)
    took = [[] for _ in args.programs]
    for _ in range(args.repeats):
        for program, store, runs in zip(args.programs, stores, took):
            runs.append(run(program, store, args))
    print(f"| program | seconds | of the processor | MiB at most |{' ' + args.stages + ' |' if args.stages else ''} "
          f"ratio |")
    print(f"|---|---|---|---|{'---|' if args.stages else ''}---|")
    first = statistics.median(seconds for seconds, *_ in took[0])
    for program, runs in zip(args.programs, took):
        wall, processor, peak, stages = zip(*runs)
        of_stages = f" {say(stages)} |" if args.stages else ""
        print(f"| {program} | {say(wall)} | {say(processor)} | {statistics.median(peak):.0f} |{of_stages} "
              f"{statistics.median(wall) / first:.2f} |")


if __name__ == "__main__":
    main()
