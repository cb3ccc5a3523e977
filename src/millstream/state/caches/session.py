"""The write-back cache of session stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from millstream.records import Headers
from millstream.state.caches.timed import TimedCache

K = TypeVar("K")
T = TypeVar("T")


class SessionCache(TimedCache[K, T]):
    """Keeps the objects of a session store; a place is `(end, start)`."""

    def remove(self, key: K, end: int, start: int, headers: Headers | None) -> None:
        """Remove a session.

        One that the store below does not have leaves no trace. A session that grows with every record would else leave
        a deletion for each, and they would all be looked at again with the next record.
        """
        if self._rows.get(key, end, start) is None:
            self._discard(key, (end, start))
        else:
            self.put(key, (end, start), None, end, headers)

    def _row(self, place: Any) -> tuple[int, int]:
        return place  # type: ignore[no-any-return]

    def _place(self, time: int, number: int) -> Any:
        return time, number

    def _bound(self, time: int) -> Any:
        return (time,)

    def _tell(
        self,
        listener: Callable[..., None],
        key: K,
        place: Any,
        new: Any,
        old: Any,
        timestamp: int,
        headers: Headers | None,
    ) -> None:
        end, start = place
        listener(key, start, end, new, old, end, headers)
