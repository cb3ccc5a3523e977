"""A worker of Kafka Connect that lives on after the command that started it: `millstream connect`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from millstream.connect.worker import SETTINGS_FILE, ConnectWorker
from millstream.directories import state_directory
from millstream.jvm.detached import DetachedNote, DetachedProcess
from millstream.jvm.maven import Artifact
from millstream.jvm.processes import HOST

_started: list[ConnectWorker] = []  # kept: a process that is still running must not be garbage


@dataclass(frozen=True)
class DetachedWorker(DetachedProcess):
    """A worker that runs by itself.

    Args:
        bootstrap_servers: of the Kafka it was started with.
    """

    bootstrap_servers: str

    @property
    def url(self) -> str:
        """Where its REST API is."""
        return f"http://{HOST}:{self.port}"


_note = DetachedNote("connect", DetachedWorker, SETTINGS_FILE)


def start_worker(
    bootstrap_servers: str,
    *,
    port: int | None = None,
    directory: Path | None = None,
    plugins: Sequence[Artifact] = (),
    plugin_path: Sequence[Path] = (),
    properties: Mapping[str, str] | None = None,
) -> tuple[DetachedWorker, bool]:
    """Start a worker that lives on, or find the one that runs.

    Args:
        bootstrap_servers: see `ConnectWorker`.
        port: see `ConnectWorker`.
        directory: where its settings and its log are; in the user's state directory unless given.
        plugins: see `ConnectWorker`.
        plugin_path: see `ConnectWorker`.
        properties: see `ConnectWorker`.

    Returns:
        The worker, and whether it was started by this call.
    """
    with _note.locked():
        running = find_worker()
        if running is not None:
            return running, False
        home = (directory or state_directory() / "connect").absolute()
        worker = ConnectWorker(
            bootstrap_servers,
            directory=home,
            port=port,
            plugins=plugins,
            plugin_path=plugin_path,
            properties=properties,
            detached=True,
        )
        worker.start()
        _started.append(worker)
        started = DetachedWorker(worker.pid, worker.port, str(home), bootstrap_servers)
        _note.write(started)
        return started, True


def find_worker() -> DetachedWorker | None:
    """The worker that runs, or None."""
    return _note.find()


def stop_worker() -> DetachedWorker | None:
    """Stop the worker properly. Its connectors go on when one is started again.

    Returns:
        The worker that was stopped, or None if none ran.
    """
    return _note.stop()
