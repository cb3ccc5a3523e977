"""A lane's own directory, which the next lane of the machine removes if this one is killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_PREFIX = "millstream-lane-"
_LOCK = ".lock"


class Scratch:
    """A directory that is there as long as its lane: whoever can lock it knows that its lane is gone.

    Args:
        base: where it is made; by default where temporary files are.
    """

    def __init__(self, base: Path | None = None) -> None:
        base = Path(tempfile.gettempdir()) if base is None else base
        base.mkdir(parents=True, exist_ok=True)
        _remove_those_of_dead_lanes(base)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        self._lock = os.open(self.path / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """The lane ends."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _remove_those_of_dead_lanes(base: Path) -> None:
    for path in base.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another lane's, somebody else's, or just being made or removed
            if path.is_symlink() or path.stat().st_uid != os.getuid():
                continue
            lock = os.open(path / _LOCK, os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)
