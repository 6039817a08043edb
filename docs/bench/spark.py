"""What a clean on Spark takes: seconds, bytes shuffled and spilled, memory of executors and workers.

Reads the event log of Spark, and watches the processes. Prints one json object, and a table to standard error.
"""

import argparse
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time


def processes():
    """Pid, parent, resident bytes and command of every process."""
    for path in glob.glob("/proc/[0-9]*"):
        try:
            with open(f"{path}/stat", encoding="utf-8", errors="replace") as f:
                stat = f.read()
            with open(f"{path}/cmdline", "rb") as f:
                command = f.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        fields = stat.rpartition(")")[2].split()
        yield int(path[6:]), int(fields[1]), int(fields[21]) * os.sysconf("SC_PAGE_SIZE"), command


class Watcher(threading.Thread):
    """The most memory that the processes of a run have taken, by kind, and all together."""

    def __init__(self, binary):
        super().__init__(daemon=True)
        self.binary, self.peak, self.done = os.path.basename(binary), {"worker": 0, "executor": 0, "python": 0,
                                                                       "all": 0}, False

    def run(self):
        while not self.done:
            total = 0
            for _, _, rss, command in processes():
                kind = None
                if f"{self.binary} worker" in command:
                    kind = "worker"
                elif "CoarseGrainedExecutorBackend" in command or "SparkSubmit" in command and "java" in command.split(" ")[0]:
                    kind = "executor"
                elif "pyspark" in command and "daemon" in command:
                    kind = "python"
                if kind:
                    self.peak[kind] = max(self.peak[kind], rss)
                    total += rss
            self.peak["all"] = max(self.peak["all"], total)
            time.sleep(0.1)


def logged(folder):
    """Bytes shuffled and spilled, and tasks, by stage of the run."""
    names, of_stage, sums = {}, {}, {}
    # A log that rolls is a folder of files; their names count up.
    files = sorted(f for f in glob.glob(f"{folder}/**", recursive=True) if os.path.isfile(f) and "appstatus" not in f)
    for path in files:
        with open(path, encoding="utf-8") as f:
            for line in f:
                event = json.loads(line)
                if event["Event"] == "SparkListenerJobStart":
                    name = (event.get("Properties") or {}).get("spark.job.description") or "other"
                    for stage in event["Stage IDs"]:
                        names[stage] = name.removeprefix("graphcleaner: ")
                elif event["Event"] == "SparkListenerTaskEnd" and "Task Metrics" in event:
                    of_stage.setdefault(event["Stage ID"], []).append(event["Task Metrics"])
    for stage, tasks in of_stage.items():
        s = sums.setdefault(names.get(stage, "other"), {"tasks": 0, "shuffled": 0, "spilled": 0, "task_seconds": 0})
        for task in tasks:
            s["tasks"] += 1
            s["shuffled"] += task["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            s["spilled"] += task["Disk Bytes Spilled"]
            s["task_seconds"] += task["Executor Run Time"] / 1000
    return sums


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder with nodes.parquet, edges.parquet and "
                                                      "predictions.parquet")
    parser.add_argument("--out", required=True)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--executor-memory", default="4g")
    parser.add_argument("arguments", nargs="*", help="for graphcleaner.spark")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as events:
        conf = {
            "spark.master": args.master, "spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file:{events}",
            "spark.eventLog.compress": "false", "spark.executor.memory": args.executor_memory,
            "spark.driver.memory": args.executor_memory, "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
        command = [sys.executable, "-m", "graphcleaner.spark"]
        for name in ("nodes", "edges", "predictions"):
            command += [f"--{name}", f"{args.data}/{name}.parquet"]
        command += ["--out", args.out, "--binary", args.binary, *args.arguments]
        submit = " ".join(f"--conf {k}={v}" for k, v in conf.items()) + " pyspark-shell"
        environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": submit, "PYSPARK_PYTHON": sys.executable,
                       "SPARK_LOCAL_IP": "127.0.0.1"}
        watcher = Watcher(args.binary)
        watcher.start()
        began = time.monotonic()
        run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        lines, seconds = [], {}
        try:
            for line in run.stdout:
                lines.append(line.rstrip("\n"))
                print(lines[-1], file=sys.stderr, flush=True)
                stage = re.fullmatch(r"([\w-]+): ([\d.]+) s", lines[-1])
                if stage:
                    seconds[stage[1]] = float(stage[2])
        except KeyboardInterrupt:
            run.send_signal(signal.SIGINT)
        if run.wait():
            sys.exit(run.returncode)
        wall, watcher.done = time.monotonic() - began, True
        watcher.join()
        measured = logged(events)
    stages = {}
    for name, took in seconds.items():
        m = measured.get(name, {"tasks": 0, "shuffled": 0, "spilled": 0, "task_seconds": 0})
        stages[name] = {"seconds": took, **m}
        print(f"{name:<18}{took:8.1f} s {m['shuffled'] / 1e6:10.1f} MB shuffled, {m['spilled'] / 1e6:8.1f} MB spilled",
              file=sys.stderr)
    print(json.dumps({
        "wall_seconds": wall, "shuffled": sum(s["shuffled"] for s in stages.values()),
        "spilled": sum(s["spilled"] for s in stages.values()), "peak_bytes": watcher.peak,
        "stages": stages, "summary": lines[-2:],
    }))


if __name__ == "__main__":
    main()
