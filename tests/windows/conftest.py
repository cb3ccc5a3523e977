"""A tiny task around one windowed operator: real operator, real context, stores made of dictionaries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millstream.processors.context import TaskContext
from millstream.processors.windows import WindowedAggregate
from millstream.records import Headers, ValueAndTimestamp, Window, Windowed

Output = tuple[str, int, int, Any, Any, int]


class DictStore:
    """What the two stores below share: a cache that holds back everything until `flush`."""

    def __init__(self, cached: bool = False) -> None:
        self.cached = cached
        self.rows: dict[Any, Any] = {}
        self.dirty: dict[Any, tuple[Any, Headers | None]] = {}
        self.listener: Any = None

    def set_flush_listener(self, listener: Any, send_old: bool) -> None:
        assert self.cached
        self.listener = listener
        self.send_old = send_old

    def visible(self) -> dict[Any, Any]:
        rows = {**self.rows, **{row: value for row, (value, _) in self.dirty.items()}}
        return {row: value for row, value in rows.items() if value is not None}

    def put(self, row: Any, value: Any, headers: Headers | None) -> None:
        self.dirty.pop(row, None)
        self.dirty[row] = (value, headers)
        if not self.cached:
            self.flush()

    def flush(self) -> None:
        dirty, self.dirty = self.dirty, {}
        for row, (value, headers) in dirty.items():
            old = self.rows.get(row)
            self.rows[row] = value
            if self.listener is not None and (value is not None or old is not None):
                self.notify(row, value, old if self.send_old else None, headers)

    def notify(self, row: Any, value: Any, old: Any, headers: Headers | None) -> None:
        raise NotImplementedError


class DictWindowStore(DictStore):
    """A timestamped window store that forgets nothing."""

    def __init__(self, size: int, cached: bool = False) -> None:
        super().__init__(cached)
        self.window_size_ms = size
        self.written_at: dict[Any, int] = {}

    def read(self, key: Any, start: int) -> Any:
        return self.visible().get((key, start))

    def write(self, key: Any, start: int, value: Any, timestamp: int, headers: Headers | None = None) -> None:
        self.written_at[key, start] = timestamp
        self.put((key, start), None if value is None else (value, timestamp), headers)

    def read_range(self, key: Any, earliest: int, latest: int, reverse: bool = False) -> Iterator[tuple[int, Any]]:
        rows = sorted((start, entry) for (k, start), entry in self.visible().items() if k == key)
        found = [row for row in rows if earliest <= row[0] <= latest]
        return iter(found[::-1] if reverse else found)

    def fetch_all(self, earliest: int, latest: int) -> Iterator[tuple[Windowed[Any], ValueAndTimestamp[Any]]]:
        rows = sorted((start, key, entry) for (key, start), entry in self.visible().items())
        for start, key, entry in rows:
            if earliest <= start <= latest:
                yield Windowed(key, Window(start, start + self.window_size_ms)), ValueAndTimestamp(*entry)

    def notify(self, row: Any, value: Any, old: Any, headers: Headers | None) -> None:
        self.listener(*row, value and value[0], old and old[0], self.written_at[row], headers)


class DictSessionStore(DictStore):
    """A session store that forgets nothing."""

    def write(self, key: Any, start: int, end: int, value: Any, headers: Headers | None = None) -> None:
        self.put((key, start, end), value, headers)

    def find_sessions(self, key: Any, earliest_end: int, latest_start: int) -> Iterator[tuple[Windowed[Any], Any]]:
        rows = sorted((end, start, v) for (k, start, end), v in self.visible().items() if k == key)
        return iter([(Windowed(key, Window(s, e)), v) for e, s, v in rows if e >= earliest_end and s <= latest_start])

    def find_sessions_ending(self, earliest: int, latest: int) -> Iterator[tuple[Windowed[Any], Any]]:
        rows = sorted((end, start, key, v) for (key, start, end), v in self.visible().items())
        return iter([(Windowed(k, Window(s, e)), v) for e, s, k, v in rows if earliest <= e <= latest])

    def fetch_session(self, key: Any, start: int, end: int) -> Any:
        return self.visible().get((key, start, end))

    def notify(self, row: Any, value: Any, old: Any, headers: Headers | None) -> None:
        self.listener(*row, value, old, row[2], headers)


class OneOperatorTask:
    """Runs one windowed operator; `feed` gives back what it forwarded as (key, start, end, new, old, timestamp)."""

    window_store = DictWindowStore
    session_store = DictSessionStore

    def __init__(self, operator: WindowedAggregate, store: Any, **config: Any) -> None:
        self.context = TaskContext(config={"emit_interval_ms_windowed_aggregation": 0, **config})
        self.clock = 0
        self.context.now = lambda: self.clock  # type: ignore[method-assign]
        self.context.stores["s"] = self.store = store
        self.operator = operator
        self.outputs: list[Output] = []
        self.headers: list[Headers | None] = []
        operator.name = "AGGREGATE"
        operator.forward = self._collect
        operator.init(self.context)

    def _collect(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        assert type(key) is Windowed
        assert type(key.window) is Window
        new, old, is_latest = value
        assert is_latest is True
        self.outputs.append((key.key, key.window.start, key.window.end, new, old, timestamp))
        self.headers.append(headers)

    def feed(self, key: Any, value: Any, timestamp: int, headers: Headers | None = None) -> list[Output]:
        self.outputs, self.headers = [], []
        self.operator.process(key, value, timestamp, headers)
        return self.outputs

    def flush(self) -> list[Output]:
        self.outputs, self.headers = [], []
        self.store.flush()
        return self.outputs

    @property
    def dropped(self) -> int:
        return self.context.dropped_records


@pytest.fixture(scope="session")
def task() -> type[OneOperatorTask]:
    return OneOperatorTask
