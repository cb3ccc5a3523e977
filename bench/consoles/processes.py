"""The CPU time of a process and all that it has started, by what they are."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

#: What the command of a process has in it, and what it is then called; the first that fits.
_KINDS = (
    ("chrom", "Chromium"),
    ("consoles/asking.py", "who asks"),
    ("millstream.spark.lanes", "lanes"),
    ("kafka.Kafka", "broker"),
    ("SparkSubmit", "Spark's JVM"),
)
DRIVER, OTHERS = "driver", "Spark's workers"
#: Those of an application, and all that is paid for it in Kafka.
APPLICATION = (DRIVER, "lanes", "Spark's JVM", OTHERS, "broker")
_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> dict[str, float]:
    """The CPU seconds so far of this process and of those that it has started and that still run, by kind."""
    root = os.getpid()
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            parents[int(entry.name)] = int(fields[1])
            seconds[int(entry.name)] = sum(map(int, fields[11:13])) / _TICKS
    found: dict[str, float] = defaultdict(float)
    for process in seconds:
        if process == root:
            found[DRIVER] += seconds[process]
        elif kind := _kind(process, root, parents):
            found[kind] += seconds[process]
    return found


def _kind(process: int, root: int, parents: dict[int, int]) -> str | None:
    """What a process is; None if it is none of ours. A lane may outlive who started it, and names its driver."""
    try:
        command = Path(f"/proc/{process}/cmdline").read_text(errors="replace")
    except OSError:
        return None
    kind = next((name for part, name in _KINDS if part in command), OTHERS)
    is_ours = _is_below(process, root, parents) or (kind == "lanes" and str(root) in command.split("\0"))
    return kind if is_ours else None


def _is_below(process: int, root: int, parents: dict[int, int]) -> bool:
    while process in parents and process != root:
        process = parents[process]
    return process == root
