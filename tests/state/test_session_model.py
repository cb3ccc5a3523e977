"""Session stores of every kind against a plain model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.records import Window, Windowed
from millstream.serdes import Serdes
from millstream.state import StoreBuilder, StoreKind, StoreSupplier

RETENTION, SEGMENT = 10, 4
KEYS = st.text("ab\x00", max_size=2)
TIMES = st.integers(0, 40)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, TIMES, st.integers(0, 6), st.none() | st.integers(0, 5)),
        st.tuples(st.just("put"), KEYS, TIMES, st.integers(0, 2), st.integers(0, 5)),
        st.tuples(st.just("fetch"), KEYS, TIMES, st.integers(0, 2)),
        st.tuples(st.just("find"), KEYS, TIMES, TIMES, st.booleans()),
        st.tuples(st.just("keys"), st.none() | KEYS, st.none() | KEYS, st.booleans()),
        st.tuples(st.just("ending"), TIMES, TIMES, st.booleans()),
        st.tuples(st.just("flush")),
    ),
    max_size=25,
)
#: key, end, start
Row = tuple[str, int, int]


class Model:
    """The rules, written down as plainly as can be."""

    def __init__(self, persistent: bool, cached: bool) -> None:
        self.persistent = persistent
        self.clock = -1
        self.rows: dict[Row, int] = {}
        self.cache: dict[Row, int | None] | None = {} if cached else None
        self.dirty: dict[Row, int | None] = {}
        self.dropped = 0

    def put(self, row: Row, value: int | None) -> None:
        if self.cache is None:
            self.write(row, value)
            return
        self.cache[row] = value
        self.dirty.pop(row, None)
        self.dirty[row] = value

    def floor(self) -> int:
        if self.persistent:
            return (self.clock - RETENTION) // SEGMENT * SEGMENT
        return self.clock - RETENTION + 1

    def write(self, row: Row, value: int | None) -> None:
        self.clock = max(self.clock, row[1])
        self.rows = {row: value for row, value in self.rows.items() if row[1] >= self.floor()}
        if row[1] < self.floor():
            self.dropped += value is not None
            return
        self.rows.pop(row, None)
        if value is not None:
            self.rows[row] = value

    def flush(self) -> list[Any]:
        told = []
        for row, value in self.dirty.items():
            old = self.rows.get(row) if row[1] > self.clock - RETENTION else None
            if value is not None or old is not None:
                self.write(row, value)
                told.append((row[0], row[2], row[1], value, old, row[1]))
            if value is None:
                del self.cache[row]  # type: ignore[union-attr]
        self.dirty.clear()
        return told

    def find(self, order: Any, expired: bool = False) -> list[tuple[Row, int]]:
        found: dict[Row, Any] = {
            row: value for row, value in self.rows.items() if expired or row[1] > self.clock - RETENTION
        }
        found.update(self.cache or {})
        return [(row, found[row]) for row in sorted(found, key=order) if found[row] is not None]


def by_segment(row: Row) -> Any:
    return row[1] // SEGMENT, row[0].encode() + row[1].to_bytes(8, "big") + row[2].to_bytes(8, "big")


def by_end_start_key(row: Row) -> Any:
    return row[1], row[2], row[0]


def by_end_key_start(row: Row) -> Any:
    return row[1], row[0].encode() + row[2].to_bytes(8, "big")


def sessions(found: list[tuple[Row, int]], reverse: bool) -> list[Any]:
    rows = [(Windowed(key, Window(start, end)), value) for (key, end, start), value in found]
    return rows[::-1] if reverse else rows


def run(store: Any, model: Model, steps: list[Any]) -> None:
    told: list[Any] = []
    store.set_flush_listener(lambda *call: told.append(call[:6]), True)
    for step in steps:
        match step:
            case "put", key, start, length, value:
                store.put(Windowed(key, Window(start, start + length)), value)
                model.put((key, start + length, start), value)
            case "fetch", key, start, length:
                found = dict(model.find(None)).get((key, start + length, start))
                assert store.fetch_session(key, start, start + length) == found
            case "find", key, earliest, latest, reverse:
                rows = [
                    row
                    for row in model.find(by_end_start_key)
                    if row[0][0] == key and row[0][1] >= earliest and row[0][2] <= latest
                ]
                assert list(store.find_sessions(key, earliest, latest, reverse)) == sessions(rows, reverse)
            case "keys", low, high, reverse:
                rows = [
                    row
                    for row in model.find(by_segment if model.persistent else by_end_key_start)
                    if (low is None or low <= row[0][0]) and (high is None or row[0][0] <= high)
                ]
                assert list(store.fetch_keys(low, high, reverse)) == sessions(rows, reverse)
                rows = [row for row in rows if row[0][1] >= 20 and row[0][2] <= 60]
                assert list(store.find_sessions_of_keys(low, high, 20, 60, reverse)) == sessions(rows, reverse)
            case "ending", earliest, latest, reverse:
                order = by_end_start_key if model.persistent else by_end_key_start
                rows = [row for row in model.find(order, model.persistent) if earliest <= row[0][1] <= latest]
                assert list(store.find_sessions_ending(earliest, latest, reverse)) == sessions(rows, reverse)
            case ("flush",):
                store.flush()
                assert told == model.flush()
                told.clear()
    assert len(store._context.dropped) == model.dropped


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("time_ordered", [False, True])
@pytest.mark.parametrize("kind", ["in memory", "persistent", "rocksdb", "tiered"])
def test_a_session_store_follows_the_rules(harness: Any, kind: str, time_ordered: bool, cached: bool) -> None:
    persistent = kind != "in memory"
    supplier = StoreSupplier(
        "s",
        persistent=persistent,
        retention_ms=RETENTION,
        segment_interval_ms=SEGMENT,
        time_ordered=time_ordered,
    )
    builder = StoreBuilder("s", StoreKind.SESSION, supplier, Serdes.string, Serdes.long, caching=cached)
    backend = kind if kind in ("rocksdb", "tiered") else "memory"

    @given(STEPS)
    @settings(max_examples=15 if backend == "rocksdb" else 30 if backend == "tiered" else 150, deadline=None)
    def check(steps: list[Any]) -> None:
        with harness.opened(builder, backend, 1 << 20) as store:
            run(store, Model(persistent, cached), steps)

    check()
