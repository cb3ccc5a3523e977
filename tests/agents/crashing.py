"""Runs an application of agents as a process, kills parts of it, and checks its counts. Used by tests and by soak."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import Message

from millstream.kafka.admin import Admin
from millstream.kafka.topics import NewTopic

_APP = str(Path(__file__).with_name("counting_app.py"))
#: The two ways to run it.
WORKER = [_APP, "worker"]
RUN = ["-m", "millstream.cli", "run", "--quiet", f"{_APP}:app"]
PATIENCE = 120.0
USERS, VISITS = 7, 900


def wait_until(condition: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


class Running:
    """The application as a process."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str], log: Path) -> None:
        self.name = name
        self._command = command
        self._environment = environment
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        before = self.said()
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own script
                [sys.executable, *self._command],
                stdout=output,
                stderr=output,
                env=self._environment,
                cwd=self._log.parent,
                start_new_session=True,
            )
        wait_until(lambda: self.said() > before or self.has_ended, "the start of the application")
        assert not self.has_ended, self.tail()

    @property
    def has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def said(self) -> int:
        return self._log.read_text().splitlines().count("running") if self._log.exists() else 0

    def page(self, path: str) -> Any:
        url = [line for line in self._log.read_text().splitlines() if line.startswith("pages at ")][-1].split()[-1]
        with urllib.request.urlopen(url + path, timeout=PATIENCE) as answer:  # noqa: S310 - our own server
            return json.load(answer)

    def tail(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-60:])

    def kill_a_lane(self) -> None:
        """Kill one of the processes that Spark has forked for lanes."""

        def lanes() -> list[int]:
            workers = {pid: parent for pid, parent, command in self._family() if "pyspark.daemon" in command}
            return [pid for pid, parent in workers.items() if parent in workers]

        wait_until(lanes, "a lane")
        os.kill(lanes()[0], signal.SIGKILL)

    def kill(self) -> None:
        """Kill the driver with all its processes."""
        for pid, _, _ in self._family():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self._process is not None:
            self._process.wait()
        wait_until(lambda: not self._family(), "the end of all processes")

    def kill_the_driver(self) -> None:
        """Kill all of it, and start it again."""
        self.kill()
        self.start()

    def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        assert self._process.wait(PATIENCE) == 0, self.tail()

    def _family(self) -> list[tuple[int, int, str]]:
        """All processes with this application's environment that are no zombies: with their parents and commands."""
        mark = f"COUNTING_ID={self._environment['COUNTING_ID']}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError):
                    is_ours = mark in (entry / "environ").read_bytes().split(b"\0")
                    state, parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:2]
                    if is_ours and state != "Z":
                        command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                        found.append((int(entry.name), int(parent), command))
        return found


def check_counts(
    running: Running,
    admin: Admin,
    produce: Callable[..., None],
    consume: Callable[..., list[Message]],
    kills: list[Callable[[], None]],
) -> None:
    """Count visits while something is killed; every count must be there exactly once."""
    name = running.name
    admin.create_topics([NewTopic(f"{name}-visits", 2), NewTopic(f"{name}-counts", 2)])
    visits = [
        (f"u{number % USERS}", json.dumps({"user": f"u{number % USERS}", "number": number})) for number in range(VISITS)
    ]
    share = VISITS // (len(kills) + 1)
    produce(f"{name}-visits", visits[:share])
    running.start()
    for number, kill in enumerate(kills, 1):
        consume(f"{name}-counts", (number - 1) * share + 50, timeout=PATIENCE)
        kill()
        produce(f"{name}-visits", visits[number * share : (number + 1) * share])
    found = [json.loads(one.value() or b"") for one in consume(f"{name}-counts", VISITS, timeout=PATIENCE)]
    expected = len(range(0, VISITS, USERS))
    wait_until(lambda: running.page("/count/u0/") == {"count": expected}, "the count of u0 on a page")
    assert running.page("/double/21/") == {"answer": 42}
    running.stop()
    assert Counter((one["user"], one["count"]) for one in found) == Counter(
        (f"u{user}", count) for user in range(USERS) for count in range(1, len(range(user, VISITS, USERS)) + 1)
    )
    assert len(consume(f"{name}-counts")) == VISITS
    assert len(consume(f"{name}-ticks")) > 0


@contextlib.contextmanager
def application(bootstrap_servers: str, directory: Path, command: list[str]) -> Iterator[Running]:
    """An application with a name of its own; whatever of it is left at the end is killed."""
    name = f"counting-{uuid.uuid4().hex[:8]}"
    environment = {
        **os.environ,
        "COUNTING_ID": name,
        "COUNTING_BROKER": bootstrap_servers,
        "COUNTING_DIRECTORY": str(directory),
    }
    running = Running(name, command, environment, directory / "app.log")
    try:
        yield running
    finally:
        running.kill()
