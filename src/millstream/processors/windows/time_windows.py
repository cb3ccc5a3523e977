"""Aggregation per key and time window: tumbling, hopping and unlimited windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.processors.windows.base import Aggregator, Initializer, WindowedAggregate
from millstream.records import MAX_TIMESTAMP, Headers, Window, Windowed
from millstream.state.store import WindowFold
from millstream.windows import TimeWindows, UnlimitedWindows

# `Windowed(key, Window(start, end))` without the two Python calls of named tuples; it is made for every update.
_new = tuple.__new__


class TimeWindowAggregate(WindowedAggregate):
    """Aggregates records per key and window, on a timestamped window store.

    Records without a key are dropped. A null value is passed to the aggregator. The result's timestamp is the greatest
    of the window's records, its headers are the record's.

    Args:
        store: the name of a timestamped window store.
        windows: the windows.
        initializer: gives the aggregate a window starts with.
        aggregator: `(key, value, aggregate) -> aggregate`.
        send_old: whether updates carry the aggregate they replace.
        emit_on_close: forward only final results.
    """

    def __init__(
        self,
        store: str,
        windows: TimeWindows | UnlimitedWindows,
        initializer: Initializer,
        aggregator: Aggregator,
        send_old: bool,
        emit_on_close: bool,
    ) -> None:
        super().__init__(store, send_old, emit_on_close)
        self._windows = windows
        self._initializer = initializer
        self._aggregator = aggregator
        self._grace = windows.grace_ms
        # Chosen here, not in `init`: the parent may already have taken `process`.
        if isinstance(windows, UnlimitedWindows):
            self._start = windows.start_ms
            self._size = MAX_TIMESTAMP
            self.process = self._process_unlimited  # type: ignore[method-assign]
        else:
            self._size = windows.size_ms
            self._advance = windows.advance_ms
            if windows.advance_ms == windows.size_ms:
                #: Start and end of the window of the last record, which is nearly always that of the next one too.
                self._window = 0, 0
                self.process = self._process_tumbling  # type: ignore[method-assign]
            else:
                self.process = self._process_hopping  # type: ignore[method-assign]

    def _bind(self, store: Any) -> None:
        self._store = store
        self._read: Callable[..., tuple[Any, int] | None] = store.read
        self._write: Callable[..., Any] = store.write
        # A cache has its own way to bring a value into the aggregate of a window.
        self._fold: WindowFold = store.folding(self._initializer, self._aggregator) if store.cached else self._update

    def _process_tumbling(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        if key is None:
            self.drop("the key is null")
            return
        if timestamp > self._stream_time:
            self._stream_time = timestamp
        close_time = self._stream_time - self._grace
        start, end = self._window
        if not start <= timestamp < end:
            start = timestamp - timestamp % self._size
            end = start + self._size
            self._window = start, end
        if end > close_time:
            self._fold(key, start, value, timestamp, headers)
        else:
            self._drop_expired(start, end)
        if self._emit_on_close:
            self._emit_closed(close_time, headers)

    def _process_hopping(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        if key is None:
            self.drop("the key is null")
            return
        if timestamp > self._stream_time:
            self._stream_time = timestamp
        close_time = self._stream_time - self._grace
        size = self._size
        advance = self._advance
        first = timestamp - size + advance
        first = first - first % advance if first > 0 else 0
        for start in range(first, timestamp + 1, advance):
            end = start + size
            if end > close_time:
                self._fold(key, start, value, timestamp, headers)
            else:
                self._drop_expired(start, end)
        if self._emit_on_close:
            self._emit_closed(close_time, headers)

    def _process_unlimited(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        if key is None:
            self.drop("the key is null")
        elif timestamp >= self._start:
            self._fold(key, self._start, value, timestamp, headers)

    def _update(self, key: Any, start: int, value: Any, timestamp: int, headers: Headers | None) -> None:
        entry = self._read(key, start)
        if entry is None:
            aggregate = self._initializer()
            time = timestamp
        else:
            aggregate, time = entry
            if timestamp > time:
                time = timestamp
        result = self._aggregator(key, value, aggregate)
        self._write(key, start, result, timestamp if result is None else time, headers)
        if self._forward_updates:
            end = min(start + self._size, MAX_TIMESTAMP)
            self.forward(
                _new(Windowed, (key, _new(Window, (start, end)))),
                (result, aggregate if self._send_old else None, True),
                time,
                headers,
            )

    def _drop_expired(self, start: int, end: int) -> None:
        self.drop(f"the window [{start},{end}) is closed: stream time is {self._stream_time}, grace {self._grace}")

    @property
    def _forward_flushed(self) -> Callable[..., None]:
        forward = self.forward
        size = self._size

        def listener(key: Any, start: int, new: Any, old: Any, timestamp: int, headers: Headers | None) -> None:
            window = Window(start, min(start + size, MAX_TIMESTAMP))
            forward(Windowed(key, window), (new, old, True), timestamp, headers)

        return listener

    def _emit_until(self, close_time: int, headers: Headers | None) -> bool:
        latest = close_time - self._size
        if latest < 0:
            return False
        earliest = 0
        if self._last_close is not None:
            before = max(0, self._last_close - self._size)
            if self._windows.windows_for(latest) == self._windows.windows_for(before):
                return False
            earliest = before + 1
        for windowed, (value, timestamp, *_) in self._store.fetch_all(
            earliest, latest
        ):  # of a store with headers these too
            self.forward(windowed, (value, None, True), timestamp, headers)
        return True
