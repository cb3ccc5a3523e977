"""A tiny task around one windowed operator and its store."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from millstream.processors.context import TaskContext
from millstream.processors.windows import WindowedAggregate
from millstream.records import Headers, Window, Windowed
from millstream.serdes import AnySerde, Serde, Serdes
from millstream.state import SessionStore, StoreSupplier, TimestampedWindowStore

Output = tuple[str, int, int, Any, Any, int]

#: Long enough to forget nothing.
RETENTION = 10**9
#: Any plain Python value; tuples stay tuples.
LITERAL: AnySerde = Serde(lambda value: repr(value).encode(), lambda data: ast.literal_eval(data.decode()))


class OneOperatorTask:
    """Runs one windowed operator; `feed` gives back what it forwarded as (key, start, end, new, old, timestamp)."""

    def __init__(self, operator: WindowedAggregate, store: Any, **config: Any) -> None:
        self.context = TaskContext(
            cache_max_bytes=1 << 20, config={"emit_interval_ms_windowed_aggregation": 0, **config}
        )
        self.clock = 0
        self.context.now = lambda: self.clock  # type: ignore[method-assign]
        self.context.stores["s"] = self.store = store
        store.init(self.context)
        self.operator = operator
        self.outputs: list[Output] = []
        self.headers: list[Headers | None] = []
        operator.name = "AGGREGATE"
        operator.forward = self._collect
        operator.init(self.context)

    @staticmethod
    def window_store(size: int, cached: bool = False, persistent: bool = False) -> Any:
        supplier = StoreSupplier(
            "s", persistent, retention_ms=max(RETENTION, size), window_size_ms=size, time_ordered=True
        )
        return TimestampedWindowStore(supplier, Serdes.string, LITERAL, caching=cached)

    @staticmethod
    def session_store(cached: bool = False, persistent: bool = False) -> Any:
        supplier = StoreSupplier("s", persistent, retention_ms=RETENTION)
        return SessionStore(supplier, Serdes.string, LITERAL, caching=cached)

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

    def windows(self) -> dict[tuple[str, int], tuple[Any, int]]:
        """What the window store holds, by key and start."""
        return {(key, window.start): tuple(entry) for (key, window), entry in self.store.all()}

    def sessions(self) -> dict[tuple[str, int, int], Any]:
        """What the session store holds, by key, start and end."""
        return {(key, *window): value for (key, window), value in self.store.fetch_keys()}

    @property
    def dropped(self) -> int:
        return self.context.dropped_records


@pytest.fixture(scope="session")
def task() -> type[OneOperatorTask]:
    return OneOperatorTask
