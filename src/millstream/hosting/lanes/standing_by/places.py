"""Where what a lane has in reserve lies on disk.

    <state_dir>/<application_id>/standbys/<task>/        see `millstream.store_files`
                                         /<task>.lock    held by the lane that uses the directory

So the next lane on the machine goes on with what one has left that ended or was killed. Without a `state_dir`, or if
another lane of the machine has the task in reserve, files are the lane's own, and go with it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from itertools import count
from pathlib import Path

from millstream.config import StreamsConfig
from millstream.store_files import TaskDirectory

_NUMBERS = count()


def standbys_directory(config: StreamsConfig) -> Path | None:
    """Where lanes of a machine leave what they had in reserve for each other."""
    return None if config.state_dir is None else Path(config.state_dir) / config.application_id / "standbys"


class Place:
    """A directory for the stores of a task, which nobody else uses as long as it is open.

    Args:
        config: the application's configuration.
        task: the task's name.
        own: the lane's own directory.
    """

    def __init__(self, config: StreamsConfig, task: str, own: Path) -> None:
        self._is_released = False
        self._lock = -1
        base = standbys_directory(config)
        if base is not None:
            base.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(base / f"{task}.lock")
        #: Whether the next process may find what is there.
        self.is_kept = base is not None and self._lock >= 0
        if base is None or not self.is_kept:
            base = own / config.application_id / f"standby-{next(_NUMBERS)}"
        self.path = base / task
        self.files = TaskDirectory(self.path)

    def release(self, *, keep: bool) -> None:
        """Let others have it; with what is there, or without. Safe to call again."""
        if self._is_released:
            return
        self._is_released = True
        if not (keep and self.is_kept):
            shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def remove_unused(config: StreamsConfig, seconds: float) -> None:
    """Remove what no lane of this machine uses, and none has used for so long."""
    base = standbys_directory(config)
    for directory in [] if base is None else base.glob("*/"):
        lock = _locked(directory.with_name(f"{directory.name}.lock"))
        if lock >= 0:
            if time.time() > TaskDirectory(directory).saved_at() + seconds:
                shutil.rmtree(directory, ignore_errors=True)
            os.close(lock)


def _locked(path: Path) -> int:
    """A file that is locked as long as it is open; -1 if another process has it."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return -1
    return file
