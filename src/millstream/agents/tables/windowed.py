"""Windowed tables: a value for each key and window."""

from __future__ import annotations

import operator
from collections.abc import Callable
from copy import copy
from typing import Any, Self

from millstream.agents.body.current import CURRENT
from millstream.agents.body.events import Event, event_of
from millstream.agents.tables.base import TableBase
from millstream.agents.times import Seconds, moment_ms, to_milliseconds
from millstream.state import StoreBuilder, StoreKind, StoreSupplier
from millstream.windows import TimeWindows


class WindowedTable(TableBase):
    """A table with a value for each window. `table[key]` stands for all windows of a key: see `WindowSet`.

    Which windows are meant follows from a time: that of the record (`relative_to_stream`, the default), of a field of
    its value (`relative_to_field`), or the wall clock (`relative_to_now`).
    """

    def __init__(self, table: TableBase, size_ms: int, step_ms: int, expires_ms: int) -> None:
        self.__dict__.update(vars(table))  # the same table, otherwise
        self.windows = TimeWindows(size_ms, step_ms, 0)
        self.expires_ms = expires_ms
        self._relative: Callable[[Event], Any] | None = None
        self._by_clock = False

    # --- which time counts

    def relative_to_stream(self) -> Self:
        """By the record's timestamp."""
        return self._relating(None, False)

    def relative_to_now(self) -> Self:
        """By the wall clock."""
        return self._relating(None, True)

    def relative_to_field(self, field: Callable[[Any], Any]) -> Self:
        """By a field of the value: seconds, a datetime or ISO text. `field` is `Order.at`, or a function."""
        return self._relating(lambda event: field(event.value), False)

    def _relating(self, relative: Callable[[Event], Any] | None, by_clock: bool) -> Self:
        other = copy(self)
        other._relative, other._by_clock = relative, by_clock
        return other

    # --- use

    def __getitem__(self, key: Any) -> WindowSet:
        return WindowSet(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(value, WindowSet):  # `table[key] += 1` has been done by then
            WindowSet(self, key).apply(lambda old, new: new, value)

    def __delitem__(self, key: Any) -> None:
        WindowSet(self, key).apply(lambda old, new: None, None)

    def time_of(self, event: Event | None) -> int:
        """The time that counts for an event, in milliseconds; without one, the wall clock."""
        if event is None or self._by_clock:
            return self.clock()
        return event.timestamp_ms if self._relative is None else moment_ms(self._relative(event))

    def clock(self) -> int:
        """The wall clock, in milliseconds."""
        current = CURRENT.get()
        return self._surroundings.outside("tell the time").now() if current is None else current.now()

    def read(self, key: Any, at: int) -> Any:
        """The value of the newest window that holds a time; the default if there is none."""
        start = at - at % self.windows.advance_ms
        current = CURRENT.get()
        if current is None:
            found = self._surroundings.outside(f"read table {self.name}").read_window(self.name, key, start)
        else:
            row = self._current()[1].read(key, start)
            found = None if row is None else row[0]
        return self._missing(key) if found is None else found

    def change(self, key: Any, at: int, change: Callable[[Any], Any]) -> None:
        """Change the value of every window that holds a time."""
        current, access = self._current()
        for window in self.windows.windows_for(at):
            row = access.read(key, window.start)
            old = (self.default() if self.default is not None else None) if row is None else row[0]
            access.write(key, window.start, change(old), current.timestamp)

    def store(self) -> StoreBuilder:
        supplier = StoreSupplier(
            self.name,
            persistent=self.persistent,
            retention_ms=self.windows.size_ms + self.expires_ms,
            window_size_ms=self.windows.size_ms,
        )
        builder = StoreBuilder(self.name, StoreKind.TIMESTAMPED_WINDOW, supplier, self.key_serde, self.value_serde)
        return builder.with_caching()

    def __repr__(self) -> str:
        return f"<WindowedTable {self.name}>"


class WindowSet:
    """The windows of a key. `+=` and its like change every window that holds the time that counts."""

    def __init__(self, table: WindowedTable, key: Any) -> None:
        self._table = table
        self._key = key

    def apply(self, function: Callable[[Any, Any], Any], value: Any) -> Self:
        """Change every window that holds the time that counts to `function(old, value)`."""
        self._table.change(self._key, self._table.time_of(_event()), lambda old: function(old, value))
        return self

    def value(self, event: Event | None = None) -> Any:
        """The value by the table's own rule."""
        return self._table.read(self._key, self._table.time_of(event or _event()))

    def current(self, event: Event | None = None) -> Any:
        """The value in the window of the event's timestamp."""
        event = event or _event()
        return self._table.read(self._key, self._table.clock() if event is None else event.timestamp_ms)

    def now(self) -> Any:
        """The value in the window of the wall clock."""
        return self._table.read(self._key, self._table.clock())

    def delta(self, duration: Seconds, event: Event | None = None) -> Any:
        """The value in the window that lies so long before the time that counts."""
        at = self._table.time_of(event or _event())
        return self._table.read(self._key, at - to_milliseconds(duration, "duration"))

    def __getitem__(self, event: Event) -> Any:
        return self.value(event)

    def __iadd__(self, other: Any) -> Self:
        return self.apply(operator.add, other)

    def __isub__(self, other: Any) -> Self:
        return self.apply(operator.sub, other)

    def __imul__(self, other: Any) -> Self:
        return self.apply(operator.mul, other)

    def __itruediv__(self, other: Any) -> Self:
        return self.apply(operator.truediv, other)

    def __iand__(self, other: Any) -> Self:
        return self.apply(operator.and_, other)

    def __ior__(self, other: Any) -> Self:
        return self.apply(operator.or_, other)

    def __repr__(self) -> str:
        return f"<windows of {self._key!r} in {self._table.name}>"


def _event() -> Event | None:
    current = CURRENT.get()
    return None if current is None else event_of(current)
