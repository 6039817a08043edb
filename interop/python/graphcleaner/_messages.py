"""What the program says, as it reads in Python: of frames, not of their files, and of arguments, not of flags."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

# What stays: what somebody wrote, and commands of a shell. Else a flag, and its value where that is no word of the
# sentence: it is in quotes, has a comma or a sign of equality, or begins as no word does.
_FLAG = re.compile(r'"(?:[^"\\]|\\.)*"' r"|\bgraphcleaner [a-z]+ [^;:]*"
                   r"|(?P<command>\b(?:import|clean) )?(?<![\w-])--(?P<name>[a-z]\w*(?:-\w+)*)"
                   r"(?:[ =](?P<value>'[^']*'|[^\s;:()]+[,=][^\s;:()]*[^\s;:(),.?]|(?!(?<= )--)[A-Z0-9?#\\-](?:[^\s;:()]*[^\s;:(),.?])?))?(?![\w-])")
_SWITCHES = ("as-given", "directed", "in-sample", "logits", "out-of-fold", "replace", "yes")
_LISTS = ("classes", "columns", "unlabelled")
_COLUMNS = ("id", "label", "split", "src", "dst", "weight")
_FRAME = re.compile(r"(nodes|edges|predictions|features|ids)\.(?:parquet|npy|npz)")


def of_python(said: str, arguments: Sequence[str]) -> str:
    """A message of the program, which got the arguments. Rows count from 0, as in frames."""
    for path in arguments:
        if (frame := _FRAME.fullmatch(os.path.basename(path))) and path in said:
            said = re.sub(re.escape(path) + r":(\d+)", lambda at, of=frame[1]: f"{of}, row {int(at[1]) - 1}", said)
            said = said.replace(path, frame[1])
            said = re.sub(r"\bline (\d+)", lambda at: f"row {int(at[1]) - 1}", said)
    said = re.sub(r'^((?:nodes|edges|predictions|features|ids)(?:, row \d+)?): column "((?:[^"\\]|\\.)*)"',
                  r"\1, column '\2'", said)
    said = said.replace("the nodes file", "the nodes").replace("want ids that nodes has",
                                                               "want ids of the nodes; edge_nodes=True makes such ids "
                                                               "nodes without a label")
    said = said.replace("correct the file and append", "correct the frame and append")
    said = re.sub(r"with the option (out-of-fold|in-sample)", r"with --\1", said)
    said = said.replace("want one statement with --format parquet",
                        "want one statement in a call").replace("a Parquet file", "a frame")
    said = said.replace("give them to the command, as in: shell DB --who ann -c undo",
                        "pass them to open, as in: open(path, who='ann')")
    said = re.sub(r"\brepeat this with (?:--replace --yes )?--", "call this again with --", said)
    # a frame is renamed
    said = re.sub(r"(want another)(?: name)?: (?:such as|if it is a property,) --columns \S+", r"\1 name", said)
    return _FLAG.sub(_argument, said)


def _argument(flag: re.Match[str]) -> str:
    command, name, value = flag["command"] or "", flag["name"], flag["value"]
    if name is None:
        return flag[0]
    argument = "classes" if name == "prediction-classes" else name.replace("-", "_")
    if name in _SWITCHES:
        return f"{argument}=True" + (f" {value}" if value else "")
    if value is None:
        return command + argument
    names = [re.sub(r"\\(.)", r"\1", part) for part in re.findall(r"(?:[^,\\]|\\.)+", value.strip("'"))]
    # Whether the caller gave some already is not known here.
    if pairs := {ours: theirs for ours, _, theirs in (pair.partition("=") for pair in names) if theirs
                 and ours in _COLUMNS}:
        return f"{command}{str(pairs)[1:-1]} in {argument}"
    return f"{command}{argument}={names if argument in _LISTS else value}"
