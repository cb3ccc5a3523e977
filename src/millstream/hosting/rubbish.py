"""When a lane's process looks for garbage.

Python looks after so many new objects, and a lane makes millions of records that are garbage in no cycle: with much
state it would do little else. So the lane says when: after a commit or a batch, when what it has made is gone again.
"""

from __future__ import annotations

import gc
import time

#: While there is work: young objects often enough that functions which make cycles do not fill the memory.
_YOUNG_SECONDS = 1.0
#: All of them only so often that it takes a small part of the time, however much state there is.
_ALL_SECONDS = 60.0
_ALL_PART = 50


class Rubbish:
    """Looks for garbage instead of Python, as long as it is used as a context."""

    def __init__(self) -> None:
        self._young_at = self._all_at = time.monotonic()
        self._pause = _ALL_SECONDS
        self._was_enabled = gc.isenabled()

    def __enter__(self) -> Rubbish:
        gc.collect()
        gc.freeze()  # what is loaded now stays
        gc.disable()
        return self

    def __exit__(self, *_: object) -> None:
        gc.unfreeze()
        if self._was_enabled:
            gc.enable()

    def clear(self) -> None:
        """Look for it, if it is time; called between two commits or batches."""
        now = time.monotonic()
        if now < self._young_at + _YOUNG_SECONDS:
            return
        self._young_at = now
        if now < self._all_at + self._pause:
            gc.collect(1)
            return
        gc.collect()
        self._all_at = time.monotonic()
        self._pause = max(_ALL_SECONDS, _ALL_PART * (self._all_at - now))
