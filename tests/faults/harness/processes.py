"""The processes of a run, found by their environment, and the guard who ends them when their owner is gone."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

#: Names who started a process, and for which copy of an application. What the process starts inherits it.
OWNER, COPY = "MILLSTREAM_FAULTS_OWNER", "MILLSTREAM_FAULTS_COPY"


@dataclass(frozen=True)
class Process:
    """A process that was seen."""

    pid: int
    parent: int
    command: str

    def send(self, how: signal.Signals) -> None:
        """Send a signal; one that is gone needs none."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, how)


#: The kinds of processes of an application on Spark, but for the driver and its JVM.
KINDS: dict[str, Callable[[Process], bool]] = {
    # What runs Spark's tasks, and the process from which they are forked.
    "worker": lambda process: "pyspark.worker" in process.command and "java" not in process.command,
    # What tells the driver which offsets there are.
    "reader": lambda process: "python_streaming_source_runner" in process.command,
    "lane": lambda process: "spark.lanes.server" in process.command,
    "executor": lambda process: "CoarseGrainedExecutorBackend" in process.command and "java" in process.command,
}


def processes(variable: str, value: str) -> list[Process]:
    """The processes with a variable of that value in their environment."""
    wanted = f"{variable}={value}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    state, parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:2]
                    if state != "Z":
                        found.append(Process(int(entry.name), int(parent), command))
    return sorted(found, key=lambda process: process.pid)


def pick(found: list[Process], chance: random.Random) -> Process | None:
    """One of them."""
    return chance.choice(found) if found else None


def kill_all(owner: str) -> None:
    """End everything that somebody has started, stopped or not."""
    while found := processes(OWNER, owner):
        for process in found:
            process.send(signal.SIGKILL)
        time.sleep(0.05)


def unmount_below(directory: Path) -> None:
    """Take away the file systems that were mounted below a directory."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        place = line.split()[1]
        if Path(place).is_relative_to(directory):
            subprocess.run(["umount", "--lazy", place], check=False)  # noqa: S603, S607 - a path of ours


def start_guard(owner: str, directory: Path) -> subprocess.Popen[bytes]:
    """A process that ends all that an owner has started as soon as the owner is gone, in whatever way."""
    return subprocess.Popen(  # noqa: S603 - this file
        [sys.executable, __file__, owner, str(directory)], stdin=subprocess.PIPE, start_new_session=True
    )


if __name__ == "__main__":
    sys.stdin.read()
    kill_all(sys.argv[1])
    unmount_below(Path(sys.argv[2]))
