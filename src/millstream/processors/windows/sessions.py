"""Aggregation per key and session: windows that grow with activity and merge when a record joins two of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.processors.windows.base import Aggregator, Initializer, Merger, WindowedAggregate
from millstream.records import Headers, Window, Windowed
from millstream.windows import SessionWindows


class SessionWindowAggregate(WindowedAggregate):
    """Aggregates records per key and session, on a session store.

    Records without a key are dropped. A null value is passed to the aggregator. A record replaces the sessions it
    touches by one: each of them is deleted (a tombstone is forwarded, even where the new session has the same bounds),
    then the new one is written. The result's timestamp is the end of the session. Without a cache results have no
    headers, as in Kafka Streams.

    Args:
        store: the name of a session store.
        windows: the inactivity gap and the grace.
        initializer: gives the aggregate a session starts with.
        aggregator: `(key, value, aggregate) -> aggregate`.
        merger: `(key, aggregate, aggregate) -> aggregate`; also called for the first session, with the initial value.
        send_old: whether tombstones carry the aggregate they delete.
        emit_on_close: forward only final results.
    """

    def __init__(
        self,
        store: str,
        windows: SessionWindows,
        initializer: Initializer,
        aggregator: Aggregator,
        merger: Merger,
        send_old: bool,
        emit_on_close: bool,
    ) -> None:
        super().__init__(store, send_old, emit_on_close)
        self._gap = windows.gap_ms
        self._close_delay = windows.gap_ms + windows.grace_ms
        self._initializer = initializer
        self._aggregator = aggregator
        self._merger = merger

    def _bind(self, store: Any) -> None:
        self._store = store = store.for_operators()
        self._find: Callable[..., Any] = store.find_sessions
        self._write: Callable[..., Any] = store.write

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        if key is None:
            self.drop("the key is null")
            return
        if timestamp > self._stream_time:
            self._stream_time = timestamp
        close_time = self._stream_time - self._close_delay
        gap = self._gap
        start = end = timestamp
        aggregate = self._initializer()
        touched: list[tuple[Windowed[Any], Any]] = list(self._find(key, max(0, timestamp - gap), timestamp + gap))
        for (_, (session_start, session_end)), session_value in touched:
            aggregate = self._merger(key, aggregate, session_value)
            if session_start < start:
                start = session_start
            if session_end > end:
                end = session_end
        if end < close_time:
            self.drop(f"the session [{start},{end}] is closed: stream time is {self._stream_time}")
        else:
            if start != end:
                self._replace(key, touched, headers)
            result = self._aggregator(key, value, aggregate)
            self._write(key, start, end, result, headers)
            if self._forward_updates:
                self.forward(Windowed(key, Window(start, end)), (result, None, True), end, None)
        if self._emit_on_close:
            self._emit_closed(close_time, headers)

    def _replace(self, key: Any, sessions: list[tuple[Windowed[Any], Any]], headers: Headers | None) -> None:
        """Delete the sessions that a new one takes in."""
        for windowed, value in sessions:
            start, end = windowed.window
            self._write(key, start, end, None, headers)
            if self._forward_updates:
                self.forward(windowed, (None, value if self._send_old else None, True), end, None)

    @property
    def _forward_flushed(self) -> Callable[..., None]:
        forward = self.forward

        def listener(
            key: Any, start: int, end: int, new: Any, old: Any, timestamp: int, headers: Headers | None
        ) -> None:
            forward(Windowed(key, Window(start, end)), (new, old, True), timestamp, headers)

        return listener

    def _emit_until(self, close_time: int, headers: Headers | None) -> bool:
        earliest = max(0, self._last_close or 0)
        latest = close_time - 1
        if latest < earliest:
            return False
        for windowed, value in self._store.find_sessions_ending(earliest, latest):
            self.forward(windowed, (value, None, True), windowed.window.end, headers)
        return True
