"""The files of a task: `state.dir/<application>/<task>/<store>`, a lock, and a checkpoint.

`.lock` is held by the process that has the task's stores open. `.checkpoint` says which version of each store is in the
files. It is a text:

    1                   version of this format
    2                   number of stores
    counts 17           store and version, one per line, sorted; names are percent-encoded
    totals 17

A checkpoint is true only while nobody writes. Whoever opens the stores to write takes it away first (`take_checkpoint`)
and writes a new one when the stores are flushed; a directory without one is rebuilt from the changes.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from urllib.parse import quote, unquote

from millstream.errors import StateStoreError

_FORMAT = "1"
_LOCK = ".lock"
_CHECKPOINT = ".checkpoint"


class TaskDirectory:
    """A task's directory, locked while it is open.

    Args:
        state_dir: the root of all applications' state.
        application_id: the application.
        task_id: the task, as `0_1`.

    Raises:
        StateStoreError: another process has it.
    """

    def __init__(self, state_dir: str | Path, application_id: str, task_id: str) -> None:
        self.path = Path(state_dir) / application_id / task_id
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock: int | None = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            self._lock = None
            raise StateStoreError(
                f"the state of task {task_id} is locked",
                detail=f"another process, or another part of this one, has {self.path} open",
                hint="stop the other instance, or give each instance its own state_dir",
            ) from None

    def store(self, name: str) -> Path:
        """The directory of a store's files."""
        return self.path / name

    def read_checkpoint(self) -> dict[str, int]:
        """The version of each store in the files; empty if there is no checkpoint."""
        try:
            text = (self.path / _CHECKPOINT).read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        lines = text.splitlines()
        try:
            form, count, *entries = lines
            if form != _FORMAT or int(count) != len(entries):
                raise ValueError
            pairs = [line.split(" ") for line in entries]
            return {unquote(name): int(version) for name, version in pairs}
        except ValueError:
            raise StateStoreError(
                "a checkpoint cannot be read",
                detail=str(self.path / _CHECKPOINT),
                hint="delete it: the stores are then rebuilt",
            ) from None

    def take_checkpoint(self) -> dict[str, int]:
        """Read the checkpoint and remove it: the stores are about to change."""
        versions = self.read_checkpoint()
        (self.path / _CHECKPOINT).unlink(missing_ok=True)
        return versions

    def write_checkpoint(self, versions: Mapping[str, int]) -> None:
        """Say which version of each store is in the files. The old checkpoint is there until the new one is whole."""
        lines = [_FORMAT, str(len(versions))]
        lines += [f"{quote(name, safe='')} {version}" for name, version in sorted(versions.items())]
        temporary = self.path / f"{_CHECKPOINT}.tmp"
        with temporary.open("w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path / _CHECKPOINT)

    def wipe(self) -> None:
        """Remove the checkpoint and all stores' files."""
        (self.path / _CHECKPOINT).unlink(missing_ok=True)
        for entry in self.path.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)

    def close(self) -> None:
        """Unlock."""
        if self._lock is not None:
            os.close(self._lock)  # closing drops the lock
            self._lock = None

    def __enter__(self) -> TaskDirectory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
