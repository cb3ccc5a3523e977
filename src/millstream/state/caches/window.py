"""The write-back cache of window stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from millstream.records import Headers
from millstream.state.caches.cache import Origin
from millstream.state.caches.timed import TimedCache
from millstream.state.store import WindowFold

K = TypeVar("K")
T = TypeVar("T")


class WindowCache(TimedCache[K, T]):
    """Keeps the objects of a window store; a place is a window's start."""

    def folding(self, initializer: Callable[[], Any], aggregator: Callable[[Any, Any, Any], Any]) -> WindowFold:
        """`fold(key, start, value, timestamp, headers)`: a `read`, the aggregator and a `put` in one."""
        # By window first: many records in a row are of one window, so that this is one lookup in a large dict, not two.
        at, entries, context, budget = self._indexed().at.get, self._entries, self._context, self._budget
        values, times, numbers = entries.values, entries.times, entries.numbers
        offsets, origins, written = entries.offsets, entries.origins, entries.written
        following, load, insert, overflow = self._following, self.load, self._insert, self._write_down
        serialize = None if self._rows.key.hashable else self._rows.key.serialize
        origin: Origin = None, -1, None
        topic, partition, kept = origin

        def fold(key: Any, start: int, value: Any, timestamp: int, headers: Headers | None) -> None:
            nonlocal origin, topic, partition, kept
            ident = key if serialize is None else serialize(key)
            slots = at(start)
            slot = None if slots is None else slots.get(ident)
            if slot is not None:
                old = values[slot]
                newest = times[slot]
            else:
                item: Any = load(key, start)
                old, newest = (None, timestamp) if item is None else item
            new = aggregator(key, value, initializer() if old is None else old)
            if slot is None:
                slot = insert(ident, key, start)
            values[slot] = new
            # A deletion is as old as the record that made it, a value as its newest record.
            times[slot] = timestamp if timestamp > newest or old is None or new is None else newest
            numbers[slot] = following()
            offsets[slot] = context.offset
            if headers is not kept or context.topic is not topic or context.partition != partition:
                origin = topic, partition, kept = context.topic, context.partition, headers
            before = origins[slot]
            if before is not origin:
                origins[slot] = origin
                if before is None:
                    written[slot] = None
                    if len(written) > budget.dirty:
                        overflow()

        return fold

    def _row(self, place: Any) -> tuple[int, int]:
        return place, 0

    def _place(self, time: int, number: int) -> Any:
        return time

    def _bound(self, time: int) -> Any:
        return time

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
        listener(key, place, new, old, timestamp, headers)
