"""Stores on disk that are made of changelogs: up to which offset of its changelog each of them is good.

    <directory of a task>/<store>/        RocksDB
                         /.checkpoint     the offsets up to which the task's stores are on disk

Copies of views are kept like this, and what lanes have in reserve for tasks of other lanes.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import msgspec

_VERSION = 1


@dataclass(frozen=True)
class CheckpointEntry:
    """Up to where a store is on disk.

    Args:
        topic: its changelog.
        topic_id: tells that topic from another of the same name; empty if the broker does not say.
        offset: records before it are in the store.
        clean: and none behind it are, as nothing was applied since.
        layout: how rows lie in the store, where whoever keeps it wants to compare that.
    """

    topic: str
    topic_id: str
    offset: int
    clean: bool
    layout: str = ""


class _File(msgspec.Struct, frozen=True):
    version: int
    stores: dict[str, CheckpointEntry]


class TaskDirectory:
    """The files of one task's stores."""

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
        """The checkpoint, by store; empty if there is none that can be read: then the stores are made anew."""
        try:
            found = msgspec.json.decode(self._checkpoint.read_bytes(), type=_File)
        except (FileNotFoundError, msgspec.MsgspecError):
            return {}
        return found.stores if found.version == _VERSION else {}

    def saved_at(self) -> float:
        """When the checkpoint was written, in seconds since 1970; 0 if there is none."""
        try:
            return self._checkpoint.stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def forget_checkpoint(self) -> None:
        """Have nobody believe what is there any more."""
        self._checkpoint.unlink(missing_ok=True)

    def write_checkpoint(self, entries: dict[str, CheckpointEntry]) -> None:
        """Note how far stores are on disk, after everything that RocksDB has logged is."""
        self.path.mkdir(parents=True, exist_ok=True)
        for store in entries:
            # RocksDB syncs its tables itself. Its log has been handed to the system; this brings it to the disk.
            for log in self.store(store).glob("*.log"):
                _sync(log)
        write_whole(self._checkpoint, msgspec.json.encode(_File(_VERSION, entries)))


def remove_unused(directory: Path, used: Collection[str], seconds: float) -> list[str]:
    """Remove the files of tasks that are not used, and were not for so long; returns the tasks."""
    removed = []
    for checkpoint in directory.glob("*/.checkpoint"):
        task = checkpoint.parent.name
        if task not in used and time.time() - checkpoint.stat().st_mtime > seconds:
            shutil.rmtree(checkpoint.parent, ignore_errors=True)
            removed.append(task)
    return sorted(removed)


def write_whole(path: Path, content: bytes) -> None:
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
