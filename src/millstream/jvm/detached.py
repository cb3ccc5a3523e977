"""Processes that live on after the command that started them: one of a kind per user.

What is known of each is in a file in the user's state directory.
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
from typing import Generic, TypeVar

from millstream.directories import state_directory
from millstream.jvm.errors import JvmError

_STOP_SECONDS = 20.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class DetachedProcess:
    """A process that runs by itself.

    Args:
        pid: its process.
        port: its port for clients.
        directory: where its data and its log are.
    """

    pid: int
    port: int
    directory: str


T = TypeVar("T", bound=DetachedProcess)


class DetachedNote(Generic[T]):
    """What is known of the one process of its kind.

    Args:
        name: of the kind; the file is named after it.
        kind: what is noted.
        settings: the file, in the process's directory, that its command names: how it is told from another process
            that got its number.
    """

    def __init__(self, name: str, kind: type[T], settings: str) -> None:
        self._name = name
        self._kind = kind
        self._settings = settings

    def find(self) -> T | None:
        """The process that runs, or None."""
        try:
            found = self._kind(**json.loads(self._file().read_bytes()))
        except (OSError, ValueError, TypeError):
            return None
        return found if self._lives(found) else None

    def write(self, started: T) -> None:
        """Note a process."""
        file = self._file()
        unfinished = file.with_suffix(".new")
        unfinished.write_text(json.dumps(asdict(started)), encoding="utf-8")
        unfinished.replace(file)

    def stop(self) -> T | None:
        """End the process properly.

        Returns:
            The process that was stopped, or None if none ran.
        """
        with self.locked():
            found = self.find()
            if found is not None:
                self._end(found)
            self._file().unlink(missing_ok=True)
            return found

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else starts or stops one meanwhile."""
        state_directory().mkdir(parents=True, exist_ok=True)
        with self._file().with_suffix(".lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _end(self, process: T) -> None:
        for by in (signal.SIGTERM, signal.SIGKILL):
            os.kill(process.pid, by)
            deadline = time.monotonic() + _STOP_SECONDS
            while time.monotonic() < deadline:
                if not self._lives(process):
                    return
                time.sleep(_POLL_SECONDS)
        raise JvmError(f"{self._name} does not end", detail=f"its process is {process.pid}")

    def _lives(self, process: T) -> bool:
        return str(Path(process.directory, self._settings)) in _command(process.pid)

    def _file(self) -> Path:
        return state_directory() / f"{self._name}.json"


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
