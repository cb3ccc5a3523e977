"""A cluster of Spark's own kind on this machine: a master and workers at addresses of their own, as on other machines.

Each worker has a temporary directory of its own, so that lanes of one cannot be found by the others, and does not see
what others have in the directory `hidden`.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyspark

from .crashes import Process, started_with, wait_until

_CLASSES = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
_HIDING = 'mount -t tmpfs none "$1" && shift && exec "$@"'
_ADDRESS = re.compile(r"spark://[\d.]+:\d+")


@dataclass(frozen=True)
class Worker:
    """A machine of the cluster."""

    address: str
    process: subprocess.Popen[bytes]
    #: Its temporary directory.
    directory: Path

    def kill_executors(self) -> int:
        """Kill the executors of this machine; answers how many there were."""
        url = f"Worker@{self.address}:".encode()
        found = 0
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    command = (entry / "cmdline").read_bytes()
                    if b"CoarseGrainedExecutorBackend" in command and url in command:
                        os.kill(int(entry.name), signal.SIGKILL)
                        found += 1
        return found

    def processes(self) -> list[Process]:
        """What runs on this machine beside Spark's worker: executors, their Python workers, lanes."""
        return [p for p in started_with("TMPDIR", str(self.directory)) if p.pid != self.process.pid]

    def is_registered(self) -> bool:
        """Whether the master knows it."""
        return "Successfully registered" in (self.directory / "worker.log").read_text()

    def lanes(self) -> list[str]:
        """The sockets of the lanes that batches have here."""
        return sorted(path.name for path in self.directory.glob("millstream*/*/lane-*") if not path.suffix)

    def runs(self) -> list[Path]:
        """What applications have left in its temporary directory: sockets and logs of lanes, files of stores."""
        return left_below(self.directory)


@dataclass(frozen=True)
class Cluster:
    """A master and its workers."""

    master: str
    workers: list[Worker]
    #: Where workers do not see what others have.
    hidden: Path
    #: Has another machine join.
    join: Callable[[], Worker]


def left_below(temporary: Path) -> list[Path]:
    """What applications have left in a temporary directory; the user's own directory of runs stays, empty."""
    return [*temporary.glob("millstream-*/*"), *temporary.glob("millstream/*")]


def can_hide() -> bool:
    """Whether this machine allows directories that only some processes see."""
    return subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode == 0  # noqa: S607


@contextlib.contextmanager
def standalone(workers: int = 2) -> Iterator[Cluster]:
    """A cluster with one core per worker."""
    with contextlib.ExitStack() as started:
        # Sockets of lanes want a short path.
        base = started.enter_context(tempfile.TemporaryDirectory(prefix="ms-", dir="/tmp", ignore_cleanup_errors=True))
        directory = Path(base)
        hidden = directory / "hidden"
        hidden.mkdir()
        log = directory / "master.log"
        command = [_CLASSES, "org.apache.spark.deploy.master.Master"]
        command += ["--host", "127.0.0.2", "--port", "0", "--webui-port", "0"]
        started.enter_context(_started(log, directory, command))
        wait_until(lambda: _ADDRESS.search(log.read_text()), "the address of the master")
        found = _ADDRESS.search(log.read_text())
        assert found is not None
        machines: list[Worker] = []

        def join() -> Worker:
            number = len(machines)
            address, own = f"127.0.0.{3 + number}", directory / f"w{number}"
            own.mkdir()
            command = ["unshare", "--mount", "sh", "-c", _HIDING, "sh", str(hidden)]
            command += [_CLASSES, "org.apache.spark.deploy.worker.Worker", "--host", address, "--cores", "1"]
            command += ["--memory", "1g", "--work-dir", str(own / "work"), "--webui-port", "0", found[0]]
            process = started.enter_context(_started(own / "worker.log", own, command))
            machines.append(Worker(address, process, own))
            return machines[-1]

        for _ in range(workers):
            join()
        for machine in machines:
            wait_until(machine.is_registered, "a worker that is registered")
        yield Cluster(found[0], machines, hidden, join)


@contextlib.contextmanager
def _started(log: Path, temporary: Path, command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "TMPDIR": str(temporary), "SPARK_LOCAL_DIRS": str(temporary)}
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - Spark's own script
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
