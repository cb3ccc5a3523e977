"""What the windowed aggregations share: their clock, and the emission of closed windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.processors.context import TaskContext
from millstream.processors.operator import Operator
from millstream.records import NO_TIMESTAMP, Headers

Initializer = Callable[[], Any]
Aggregator = Callable[[Any, Any, Any], Any]
Merger = Callable[[Any, Any, Any], Any]


class WindowedAggregate(Operator):
    """A windowed aggregation on one store.

    With `emit_on_close` updates are not forwarded; instead, after a record, the windows that its time has closed are.
    The store must not lose them before that: its retention is the caller's business.
    """

    def __init__(self, store: str, send_old: bool, emit_on_close: bool) -> None:
        self._store_name = store
        self._send_old = send_old
        self._emit_on_close = emit_on_close
        #: Updates are forwarded as they happen: neither at the close of the window nor by a cache.
        self._forward_updates = False
        #: The greatest timestamp this operator has seen. Windows close by it, not by the task's stream time.
        self._stream_time = NO_TIMESTAMP
        self._last_close: int | None = None
        self._next_emit = 0
        self._emit_interval = 0

    def init(self, context: TaskContext) -> None:
        super().init(context)
        store = context.store(self._store_name)
        self._bind(store)
        if self._emit_on_close:
            # A cache may still hold updates back from the store, but it must not forward any: no listener is set.
            self._emit_interval = int(context.config.get("emit_interval_ms_windowed_aggregation", 1000))
        elif store.cached:
            store.set_flush_listener(self._forward_flushed, self._send_old)
        else:
            self._forward_updates = True

    def _bind(self, store: Any) -> None:
        """Keep the store's methods that are called for each record."""
        raise NotImplementedError

    @property
    def _forward_flushed(self) -> Callable[..., None]:
        """What the cache calls for each window at a flush."""
        raise NotImplementedError

    def clock(self) -> list[int] | None:
        """Stream time, the close time up to which windows have been emitted, when to look for closed ones again."""
        return [self._stream_time, NO_TIMESTAMP if self._last_close is None else self._last_close, self._next_emit]

    def set_clock(self, values: list[int]) -> None:
        """Go on from there: no window is emitted again."""
        self._stream_time, last_close, self._next_emit = values
        self._last_close = None if last_close == NO_TIMESTAMP else last_close

    def _emit_closed(self, close_time: int, headers: Headers | None) -> None:
        """Forward the windows that have closed since the last time, unless that was a moment ago."""
        if self._emit_interval:
            now = self.context.now()
            if now < self._next_emit:
                return
            self._next_emit = now + self._emit_interval
        if self._last_close is not None and close_time <= self._last_close:
            return
        if self._emit_until(close_time, headers):
            self._last_close = close_time

    def _emit_until(self, close_time: int, headers: Headers | None) -> bool:
        """Forward the windows closed since `_last_close`; False when there cannot be any."""
        raise NotImplementedError
