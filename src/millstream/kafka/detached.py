"""A development broker that lives on after the command that started it: `millstream broker`.

Its process, port and directory are in a file in the user's state directory. There is one per user.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from millstream.kafka.broker import HOST, DevBroker
from millstream.kafka.directories import state_directory
from millstream.kafka.errors import DevBrokerError

_STOP_SECONDS = 20.0
_POLL_SECONDS = 0.05

_started: list[DevBroker] = []  # kept: a process that is still running must not be garbage


@dataclass(frozen=True)
class DetachedBroker:
    """A broker that runs by itself.

    Args:
        pid: its process.
        port: its port for clients.
        directory: where its data and its log are.
    """

    pid: int
    port: int
    directory: str

    @property
    def bootstrap_servers(self) -> str:
        """The address for clients."""
        return f"{HOST}:{self.port}"


def start_detached(*, port: int | None = None, directory: Path | None = None) -> tuple[DetachedBroker, bool]:
    """Start a broker that lives on, or find the one that runs.

    Args:
        port: its port for clients; a free one unless given.
        directory: where it keeps its data; in the user's state directory unless given.

    Returns:
        The broker, and whether it was started by this call.
    """
    with _locked():
        running = find_detached()
        if running is not None:
            return running, False
        home = (directory or state_directory() / "broker").absolute()
        broker = DevBroker(home, port=port, detached=True)
        broker.start()
        _started.append(broker)
        started = DetachedBroker(broker.pid, broker.port, str(home))
        _write(started)
        return started, True


def find_detached() -> DetachedBroker | None:
    """The broker that runs, or None."""
    try:
        broker = DetachedBroker(**json.loads(_state_file().read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    return broker if _lives(broker) else None


def stop_detached() -> DetachedBroker | None:
    """Stop the broker properly. Its data stays.

    Returns:
        The broker that was stopped, or None if none ran.
    """
    with _locked():
        broker = find_detached()
        if broker is not None:
            _end(broker)
        _state_file().unlink(missing_ok=True)
        return broker


def _end(broker: DetachedBroker) -> None:
    for by in (signal.SIGTERM, signal.SIGKILL):
        os.kill(broker.pid, by)
        deadline = time.monotonic() + _STOP_SECONDS
        while time.monotonic() < deadline:
            if not _lives(broker):
                return
            time.sleep(_POLL_SECONDS)
    raise DevBrokerError("the broker does not end", detail=f"its process is {broker.pid}")


def _lives(broker: DetachedBroker) -> bool:
    """Whether the process is there and is this broker, not another one that got its number."""
    return str(Path(broker.directory, "server.properties")) in _command(broker.pid)


def _command(pid: int) -> str:
    if Path("/proc/self/cmdline").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
        except OSError:
            return ""
    ps = shutil.which("ps") or "/bin/ps"
    result = subprocess.run(  # noqa: S603 - only the number varies
        [ps, "-ww", "-p", str(pid), "-o", "command="], capture_output=True, text=True, check=False
    )
    return result.stdout


def _state_file() -> Path:
    return state_directory() / "broker.json"


def _write(broker: DetachedBroker) -> None:
    file = _state_file()
    unfinished = file.with_suffix(".new")
    unfinished.write_text(json.dumps(asdict(broker)), encoding="utf-8")
    unfinished.replace(file)


@contextmanager
def _locked() -> Iterator[None]:
    state_directory().mkdir(parents=True, exist_ok=True)
    with _state_file().with_suffix(".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
