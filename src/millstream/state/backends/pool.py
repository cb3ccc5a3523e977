"""How much memory the rows of persistent stores take: one bound for all stores of a process.

A store takes its part in steps, as long as there is some left. When there is none, stores that have more than their
fair part (the bound divided by the stores that are open) give the rest back at their next commit, and a store that has
less may take its own part at once: for that long, all together may take more than the bound.
"""

from __future__ import annotations

from functools import cache
from threading import Lock

_STEP = 1 << 20


class MemoryPool:
    """The memory that stores share.

    Args:
        max_bytes: the bound.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.step = max(1, min(_STEP, max_bytes // 8))
        self._taken = 0
        self._shares = 0
        self._lock = Lock()

    def share(self) -> MemoryShare:
        """The part of one more store."""
        with self._lock:
            self._shares += 1
        return MemoryShare(self)

    def take(self, has: int) -> int:
        """One step more for a store that has so much, or 0."""
        with self._lock:
            if self._taken + self.step <= self._max_bytes or has + self.step <= self._fair():
                self._taken += self.step
                return self.step
            return 0

    def settle(self, has: int, used: int) -> int:
        """What a store that has so much, and uses so much of it, may keep."""
        with self._lock:
            kept = min(has, (used // self.step + 1) * self.step)
            if self._taken > self._max_bytes:
                kept = min(kept, self._fair())
            self._taken -= has - kept
            return kept

    def leave(self, has: int) -> None:
        """A store is closed."""
        with self._lock:
            self._shares -= 1
            self._taken -= has

    def _fair(self) -> int:
        return max(self.step, self._max_bytes // max(1, self._shares))


class MemoryShare:
    """What one store may take. `limit` is how many bytes that is now."""

    __slots__ = ("_pool", "limit")

    def __init__(self, pool: MemoryPool) -> None:
        self._pool = pool
        self.limit = 0

    def covers(self, used: int) -> bool:
        """Whether there is room for so many bytes, taking more from the pool if need be."""
        while used > self.limit:
            more = self._pool.take(self.limit)
            if not more:
                return False
            self.limit += more
        return True

    def settle(self, used: int) -> None:
        """Give back what is not used, and what others have a right to."""
        self.limit = self._pool.settle(self.limit, used)

    def close(self) -> None:
        """Give everything back."""
        self._pool.leave(self.limit)
        self.limit = 0


@cache
def process_pool(max_bytes: int) -> MemoryPool:
    """The pool of this process's stores that are configured with this bound."""
    return MemoryPool(max_bytes)
