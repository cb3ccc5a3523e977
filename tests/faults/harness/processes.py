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

from millstream.config import ProcessingMode

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


def _is_worker(process: Process) -> bool:
    """What runs Spark's tasks, and the process from which they are forked."""
    return "pyspark.worker" in process.command and "java" not in process.command


def _is_executor(process: Process) -> bool:
    return "CoarseGrainedExecutorBackend" in process.command and "java" in process.command


#: The kinds of processes of an application on Spark, but for the driver and its JVM: which of its processes are these.
KINDS: dict[ProcessingMode, dict[str, Callable[[list[Process]], list[Process]]]] = {
    "micro_batch": {
        "worker": lambda found: list(filter(_is_worker, found)),
        # What tells the driver which offsets there are.
        "reader": lambda found: [one for one in found if "python_streaming_source_runner" in one.command],
        "lane": lambda found: [one for one in found if "spark.lanes.server" in one.command],
        "executor": lambda found: list(filter(_is_executor, found)),
    },
    "continuous": {
        # From which lanes are forked.
        "worker": lambda found: [one for one in filter(_is_worker, found) if one not in _forked(found)],
        "lane": lambda found: _forked(found),
        "executor": lambda found: list(filter(_is_executor, found)),
    },
}


def _forked(found: list[Process]) -> list[Process]:
    """The workers that were forked from another."""
    workers = list(filter(_is_worker, found))
    return [one for one in workers if one.parent in {worker.pid for worker in workers}]


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
