"""The files of a view: where copies are, whose they are, and up to which offset they are good.

    <state_dir>/<application_id>/views/.lock                  held by the process that uses the directory
                                      /.instance              the name of the instance
                                      /<task>/<store>/        RocksDB
                                      /<task>/.checkpoint     the offsets up to which the task's stores are on disk

Tasks on Spark keep their stores beside `views`, under the same names: the state of processing is not a copy of it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import time
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import msgspec

from millstream.config import StreamsConfig
from millstream.directories import state_directory
from millstream.errors import StateStoreError

_VERSION = 1


def views_directory(config: StreamsConfig) -> Path:
    """Where an application's views are."""
    base = Path(config.state_dir) if config.state_dir is not None else state_directory() / "applications"
    return base / config.application_id / "views"


def kept_instance_id(config: StreamsConfig) -> str:
    """The name of the instance that uses the state directory: made once, and kept there."""
    file = views_directory(config) / ".instance"
    try:
        return file.read_text().strip()
    except FileNotFoundError:
        name = f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}"
        file.parent.mkdir(parents=True, exist_ok=True)
        _write(file, name.encode())
        return file.read_text().strip()


class DirectoryLock:
    """Keeps a second process from using the same directory; given back when the process ends, however that is."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / ".lock"
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._file, 100).decode(errors="replace").strip() or "unknown"
            os.close(self._file)
            raise StateStoreError(
                "the state directory of the views is in use",
                detail=f"{directory}, by process {holder}",
                hint="give each instance of the application on this machine a state_dir of its own",
            ) from error
        os.truncate(self._file, 0)
        os.write(self._file, str(os.getpid()).encode())

    def release(self) -> None:
        """Give the directory back."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


@dataclass(frozen=True)
class CheckpointEntry:
    """Up to where a store is on disk.

    Args:
        topic: its changelog.
        topic_id: tells that topic from another of the same name; empty if the broker does not say.
        offset: records before it are in the store.
        clean: and none behind it are, as nothing was applied since.
    """

    topic: str
    topic_id: str
    offset: int
    clean: bool


class _File(msgspec.Struct, frozen=True):
    version: int
    stores: dict[str, CheckpointEntry]


class TaskDirectory:
    """The files of one task's copies."""

    def __init__(self, directory: Path) -> None:
        self.path = directory
        self._checkpoint = directory / ".checkpoint"

    def store(self, name: str) -> Path:
        """The directory of a store."""
        return self.path / name

    def wipe(self, store: str) -> None:
        """Remove what is there of a store."""
        shutil.rmtree(self.store(store), ignore_errors=True)

    def read_checkpoint(self) -> dict[str, CheckpointEntry]:
        """The checkpoint, by store; empty if there is none that can be read: then the copies are made anew."""
        try:
            found = msgspec.json.decode(self._checkpoint.read_bytes(), type=_File)
        except (FileNotFoundError, msgspec.MsgspecError):
            return {}
        return found.stores if found.version == _VERSION else {}

    def write_checkpoint(self, entries: dict[str, CheckpointEntry]) -> None:
        """Note how far stores are on disk, after everything that RocksDB has logged is."""
        self.path.mkdir(parents=True, exist_ok=True)
        for store in entries:
            # RocksDB syncs its tables itself. Its log has been handed to the system; this brings it to the disk.
            for log in self.store(store).glob("*.log"):
                _sync(log)
        _write(self._checkpoint, msgspec.json.encode(_File(_VERSION, entries)))


def remove_unused(directory: Path, used: Collection[str], seconds: float) -> list[str]:
    """Remove the files of tasks that are not used, and were not for so long; returns the tasks."""
    removed = []
    for checkpoint in directory.glob("*/.checkpoint"):
        task = checkpoint.parent.name
        if task not in used and time.time() - checkpoint.stat().st_mtime > seconds:
            shutil.rmtree(checkpoint.parent, ignore_errors=True)
            removed.append(task)
    return sorted(removed)


def _write(path: Path, content: bytes) -> None:
    """Replace a file as a whole, so that there is always the old or the new one."""
    new = path.with_name(path.name + ".new")
    with new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:  # RocksDB is done with this log
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
