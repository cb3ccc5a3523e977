"""Aggregation per key and sliding window.

A sliding window `[s, s + d]` holds the records of a key that are at most `d` apart. Only windows with distinct content
are kept: for a record at `t` its *left* window `[t - d, t]`, and, once a later record falls into it, its *right* window
`[t + 1, t + 1 + d]`. The timestamp stored with a window is that of its latest record; the algorithm reads from it where
the previous record was.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from millstream.processors.windows.base import Aggregator, Initializer, WindowedAggregate
from millstream.records import Headers, Window, Windowed, time_window
from millstream.windows import SlidingWindows

#: What a store holds of a window: the aggregate and the time of its latest record.
Entry = tuple[Any, int]
_ATOMIC = frozenset({int, float, str, bytes, bool, type(None)})


class SlidingWindowAggregate(WindowedAggregate):
    """Aggregates records per key and sliding window, on a timestamped window store.

    Records without a key or a value are dropped.

    Args:
        store: the name of a timestamped window store.
        windows: the time difference and the grace.
        initializer: gives the aggregate a window starts with.
        aggregator: `(key, value, aggregate) -> aggregate`.
        send_old: whether updates carry the aggregate they replace.
        emit_on_close: forward only final results.
    """

    def __init__(
        self,
        store: str,
        windows: SlidingWindows,
        initializer: Initializer,
        aggregator: Aggregator,
        send_old: bool,
        emit_on_close: bool,
    ) -> None:
        super().__init__(store, send_old, emit_on_close)
        self._difference = windows.difference_ms
        self._grace = windows.grace_ms
        self._initializer = initializer
        self._aggregator = aggregator
        self._close_time = 0

    def _bind(self, store: Any) -> None:
        self._store = store
        self._read_range: Callable[..., Any] = store.read_range
        self._write: Callable[..., Any] = store.write

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        if key is None or value is None:
            self.drop("the key or the value is null")
            return
        if timestamp > self._stream_time:
            self._stream_time = timestamp
        close_time = self._close_time = self._stream_time - self._grace
        difference = self._difference
        if timestamp + difference < close_time:
            self._drop_expired(timestamp - difference, timestamp)
        elif timestamp < difference:
            # No emission here: a window that closed would have to start before the epoch.
            self._process_early(key, value, timestamp, headers)
        else:
            self._process_usual(key, value, timestamp, headers)
            if self._emit_on_close:
                self._emit_closed(close_time, headers)

    def _process_usual(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        difference = self._difference
        starts = set()
        holding: list[tuple[int, Entry]] = []  # windows that contain the record's time, latest first
        left: Entry | None = None
        left_exists = right_exists = False
        previous: int | None = None  # the time of the record before this one, where it matters
        # Collected first and written after: the store must not change under its own iterator.
        for start, entry in self._read_range(key, max(0, timestamp - 2 * difference), timestamp + 1, reverse=True):
            starts.add(start)
            end = start + difference
            if start == timestamp + 1:
                right_exists = True
            elif end > timestamp:
                holding.append((start, entry))
            elif end == timestamp:
                left_exists = True
                holding.append((start, entry))
                if entry[1] >= timestamp:
                    # A record of the same time came before: all windows exist already.
                    self._update_all(key, value, timestamp, headers, holding)
                    return
                previous = entry[1]
            else:
                left = entry
                previous = entry[1]
                break

        right = None
        if not right_exists and holding and holding[0][0] + difference > timestamp and holding[0][1][1] > timestamp:
            right = _independent(holding[0][1])
        self._update_all(key, value, timestamp, headers, holding)
        if previous is not None and previous + 1 not in starts and previous + 1 + difference >= timestamp:
            self._update(key, value, timestamp, headers, previous + 1, (self._initializer(), timestamp))
        if not left_exists:
            if left is not None and left[1] >= timestamp - difference:
                base = _independent(left)[0]
            else:
                base = self._initializer()
            start = time_window(timestamp - difference, timestamp).start
            self._update(key, value, timestamp, headers, start, (base, timestamp))
        if right is not None:
            self._create_right(key, timestamp, headers, right)

    def _process_early(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        """A record less than a window's length after the epoch: `[0, d]` stands in for all left windows."""
        starts = set()
        holding: list[tuple[int, Entry]] = []
        combined: Entry | None = None
        right_exists = False
        for start, entry in self._read_range(key, 0, timestamp + 1):
            starts.add(start)
            if start == 0:
                combined = entry
            elif start <= timestamp:
                holding.append((start, entry))
            else:
                right_exists = True

        right = holding[-1][1] if holding else combined
        right = _independent(right) if not right_exists and right is not None and right[1] > timestamp else None
        self._update_all(key, value, timestamp, headers, holding)
        if right is not None:
            self._create_right(key, timestamp, headers, right)
        if combined is not None and combined[1] < timestamp and combined[1] + 1 not in starts:
            self._update(key, value, timestamp, headers, combined[1] + 1, (self._initializer(), timestamp))
        if combined is None:
            combined = (self._initializer(), timestamp)
        self._update(key, value, timestamp, headers, 0, combined)

    def _update_all(
        self, key: Any, value: Any, timestamp: int, headers: Headers | None, windows: list[tuple[int, Entry]]
    ) -> None:
        for start, entry in windows:
            self._update(key, value, timestamp, headers, start, entry)

    def _update(self, key: Any, value: Any, timestamp: int, headers: Headers | None, start: int, base: Entry) -> None:
        """Add the record to a window whose content so far is `base`."""
        end = start + self._difference
        if end < self._close_time:
            self._drop_expired(start, end)
            return
        aggregate, time = base
        if aggregate is None or timestamp > time:
            time = timestamp
        result = self._aggregator(key, value, aggregate)
        self._write(key, start, result, timestamp if result is None else time, headers)
        if self._forward_updates:
            old = aggregate if self._send_old else None
            self.forward(Windowed(key, Window(start, end)), (result, old, True), time, headers)

    def _create_right(self, key: Any, timestamp: int, headers: Headers | None, content: Entry) -> None:
        """Write the window right after the record: what was already there of later records."""
        value, time = content
        start = timestamp + 1
        self._write(key, start, value, time, headers)
        if self._forward_updates:
            self.forward(Windowed(key, Window(start, start + self._difference)), (value, None, True), time, headers)

    def _drop_expired(self, start: int, end: int) -> None:
        self.drop(f"the window [{start},{end}] is closed: stream time is {self._stream_time}, grace {self._grace}")

    @property
    def _forward_flushed(self) -> Callable[..., None]:
        forward = self.forward
        difference = self._difference

        def listener(key: Any, start: int, new: Any, old: Any, timestamp: int, headers: Headers | None) -> None:
            forward(Windowed(key, Window(start, start + difference)), (new, old, True), timestamp, headers)

        return listener

    def _emit_until(self, close_time: int, headers: Headers | None) -> bool:
        latest = close_time - self._difference - 1
        if latest < 0:
            return False
        earliest = 0 if self._last_close is None else max(0, self._last_close - self._difference)
        for windowed, (value, timestamp, *_) in self._store.fetch_all(
            earliest, latest
        ):  # of a store with headers these too
            self.forward(windowed, (value, None, True), timestamp, headers)
        return True


def _independent(entry: Entry) -> Entry:
    """The same content for another window: an aggregator may change what it is given in place."""
    value = entry[0]
    return entry if type(value) in _ATOMIC else (copy.deepcopy(value), entry[1])
