"""What the program says, as it reads in Python: of frames, not of their files, and of arguments, not of flags."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

# What somebody wrote; or a flag, and its value where that is no word of the sentence: it is in quotes, has a comma, or begins as no word
# does.
_FLAG = re.compile(r'"(?:[^"\\]|\\.)*"' r"|(?<![\w-])--([a-z]+(?:-[a-z]+)*)"
                   r"(?:[ =]('[^']*'|[^\s;:()]+,[^\s;:()]*[^\s;:(),.?]|(?!--)[A-Z0-9?#\\-](?:[^\s;:()]*[^\s;:(),.?])?))?(?![\w-])")
_SWITCHES = ("as-given", "directed", "logits", "multi-label", "replace", "safe-csv", "without-suspects", "yes")
_VALUES = ("diagonal", "direction", "edges", "expect", "features", "hops", "memory", "nodes", "predictions", "preset", "report", "seed",
           "stats", "threads", "threshold", "wait", "who")
_LISTS = {"classes": "classes", "prediction-classes": "classes", "unlabelled": "unlabelled"}
_FRAME = re.compile(r"(nodes|edges|predictions|features|ids)\.(?:parquet|npy|npz)")


def of_python(said: str, arguments: Sequence[str]) -> str:
    """A message of the program, which got the arguments. Rows count from 0, as in frames; flags that Python has not stay."""
    for path in arguments:
        if (frame := _FRAME.fullmatch(os.path.basename(path))) and path in said:
            said = re.sub(re.escape(path) + r":(\d+)", lambda at, of=frame[1]: f"{of}, row {int(at[1]) - 1}", said)
            said = said.replace(path, frame[1])
            said = re.sub(r"\bline (\d+)", lambda at: f"row {int(at[1]) - 1}", said)
    said = re.sub(r'^((?:nodes|edges|predictions|features|ids)(?:, row \d+)?): column "((?:[^"\\]|\\.)*)"', r"\1, column '\2'", said)
    said = re.sub(r"^predictions: row (\d+) \((node .*?)\):", r"predictions, row \1: \2:", said)
    said = re.sub(r"\brows (\d+) to (\d+) \(nodes", lambda at: f"rows {int(at[1]) - 1} to {int(at[2]) - 1} (nodes", said)
    said = re.sub(r"rows of the nodes file: row (\d+)", lambda at: f"rows of the nodes: row {int(at[1]) - 1}", said)
    said = said.replace("sort the nodes file by id", "sort the nodes by id, or give a frame with the ids")
    said = re.sub(r"the nodes file, row 1 for (.*) and row 2 for", r"nodes, row 0 for \1 and row 1 for", said)
    said = said.replace("clean with the option as-given", "pass as_given=True")
    said = said.replace("that of the statement classes", "the sorted one")
    said = said.replace("give that, or the order that is right", "pass that, or classes=model.classes_")
    said = said.replace("(--prediction-classes names the columns of the file)", "(classes=model.classes_ names the columns of an array)")
    said = said.replace("want one statement with --format arrow", "want one statement in a call").replace("an Arrow stream", "a frame")
    said = said.replace("give them to the command, as in: shell DB --who ann -c undo", "pass them to open, as in: open(path, who='ann')")
    said = re.sub(r"want ids that nodes has( \(the first is .*\))?; --edge-nodes makes such ids nodes without a label",
                  r"want ids of the nodes\1; edge_nodes=True makes such ids nodes without a label", said)
    said = re.sub(r"\brepeat this with (?:--replace --yes )?--", "call this again with --", said)
    said = said.replace("correct the file and append it again", "correct the frame and append it again; the class stays")
    said = re.sub(r"(want another)(?: name)?: such as --columns \S+", r"\1 name", said)  # a frame is renamed
    return _FLAG.sub(_argument, said)


def _argument(flag: re.Match[str]) -> str:
    name, value = flag[1], flag[2]  # None, in quotes
    if name in _SWITCHES:
        return name.replace("-", "_") + "=True" + (f" {value}" if value else "")
    if name in _LISTS and value:
        names = [re.sub(r"\\(.)", r"\1", part) for part in re.findall(r"(?:[^,\\]|\\.)+", value.strip("'"))]
        return f"{_LISTS[name]}={names}"
    if name in (*_VALUES, *_LISTS):
        return _LISTS.get(name, name) + (f"={value}" if value else "")
    return flag[0]
