"""A development broker that lives on after the command that started it: `millstream broker`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from millstream.directories import state_directory
from millstream.jvm.detached import DetachedNote, DetachedProcess
from millstream.jvm.processes import HOST
from millstream.kafka.broker import SETTINGS_FILE, DevBroker

_started: list[DevBroker] = []  # kept: a process that is still running must not be garbage


@dataclass(frozen=True)
class DetachedBroker(DetachedProcess):
    """A broker that runs by itself."""

    @property
    def bootstrap_servers(self) -> str:
        """The address for clients."""
        return f"{HOST}:{self.port}"


_note = DetachedNote("broker", DetachedBroker, SETTINGS_FILE)


def start_detached(*, port: int | None = None, directory: Path | None = None) -> tuple[DetachedBroker, bool]:
    """Start a broker that lives on, or find the one that runs.

    Args:
        port: its port for clients; a free one unless given.
        directory: where it keeps its data; in the user's state directory unless given.

    Returns:
        The broker, and whether it was started by this call.
    """
    with _note.locked():
        running = find_detached()
        if running is not None:
            return running, False
        home = (directory or state_directory() / "broker").absolute()
        broker = DevBroker(home, port=port, detached=True)
        broker.start()
        _started.append(broker)
        started = DetachedBroker(broker.pid, broker.port, str(home))
        _note.write(started)
        return started, True


def find_detached() -> DetachedBroker | None:
    """The broker that runs, or None."""
    return _note.find()


def stop_detached() -> DetachedBroker | None:
    """Stop the broker properly. Its data stays.

    Returns:
        The broker that was stopped, or None if none ran.
    """
    return _note.stop()
