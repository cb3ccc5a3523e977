"""A directory for files that are of use to one process only, and while it lives."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path


class Scratch:
    """A directory below another one, made when it is asked for.

    Args:
        directory: where it is made. What processes that are no more have left there is removed.
    """

    def __init__(self, directory: str) -> None:
        self._parent = Path(directory)
        self._parent.mkdir(parents=True, exist_ok=True)
        self._own: str | None = None

    def path(self) -> str:
        """The directory, which is there."""
        if self._own is None:
            for left in self._parent.glob("*-scratch-*"):
                if not _alive(left.name.partition("-")[0]):
                    shutil.rmtree(left, ignore_errors=True)
            self._own = tempfile.mkdtemp(prefix=f"{os.getpid()}-scratch-", dir=self._parent)
        return self._own

    def remove(self) -> None:
        """Remove it with all that is in it."""
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)
            self._own = None


def _alive(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
