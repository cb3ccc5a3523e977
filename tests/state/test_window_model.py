"""Window stores of every kind against a plain model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.records import ValueAndTimestamp, Window, Windowed
from millstream.serdes import Serde, Serdes
from millstream.state import StoreBuilder, StoreKind, StoreSupplier

SIZE, RETENTION, SEGMENT = 3, 10, 4
BY_BYTES = Serde(str.encode, lambda data: data.decode(), immutable=True)
KEYS = st.text("ab\x00", max_size=2)
TIMES = st.integers(0, 40)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.none() | st.integers(0, 5), TIMES),
        st.tuples(st.just("put"), KEYS, st.integers(0, 5), TIMES),
        st.tuples(st.just("fetch"), KEYS, TIMES),
        st.tuples(st.just("range"), KEYS, TIMES, TIMES, st.booleans()),
        st.tuples(st.just("keys"), st.none() | KEYS, st.none() | KEYS, TIMES, TIMES, st.booleans()),
        st.tuples(st.just("all"), st.booleans()),
        st.tuples(st.just("flush")),
    ),
    max_size=25,
)
FAMILIES: dict[str, dict[str, Any]] = {
    "in memory": {"persistent": False},
    "persistent": {"segment_interval_ms": SEGMENT},
    "time ordered": {"segment_interval_ms": SEGMENT, "time_ordered": True},
}


class Model:
    """The rules, written down as plainly as can be."""

    def __init__(self, family: str, cached: bool, duplicates: bool) -> None:
        self.family = family
        self.duplicates = duplicates
        self.clock = -1
        self.sequence = 0
        self.rows: dict[tuple[str, int, int], int] = {}
        self.cache: dict[tuple[str, int, int], int | None] | None = {} if cached else None
        self.dirty: dict[tuple[str, int, int], int | None] = {}
        self.dropped = 0

    def horizon(self) -> int:
        return self.clock - RETENTION + (0 if self.family == "time ordered" else 1)

    def put(self, key: str, value: int | None, start: int) -> None:
        if self.duplicates:
            if value is None:
                if self.family == "in memory":
                    self.clock = max(self.clock, start)
                    self.dropped += self.refuses(start)
                return
            self.sequence += 1
        row = key, start, self.sequence
        if self.cache is not None:
            self.cache[row] = value
            self.dirty.pop(row, None)
            self.dirty[row] = value
        else:
            self.write(row, value)

    def refuses(self, start: int) -> bool:
        if self.family == "in memory":
            return start <= self.clock - RETENTION
        return start // SEGMENT < (self.clock - RETENTION) // SEGMENT

    def write(self, row: tuple[str, int, int], value: int | None) -> None:
        self.clock = max(self.clock, row[1])
        if self.refuses(row[1]):
            self.dropped += 1
            return
        self.rows.pop(row, None)
        if value is not None:
            self.rows[row] = value

    def flush(self) -> list[Any]:
        told = []
        for row, value in self.dirty.items():
            old = self.rows.get(row) if row[1] >= self.horizon() else None
            if value is not None or old is not None:
                self.write(row, value)
                told.append((row[0], row[1], value, old))
            if value is None:
                del self.cache[row]  # type: ignore[union-attr]
        self.dirty.clear()
        return told

    def find(
        self, earliest: int, latest: int, low: str | None = None, high: str | None = None
    ) -> list[tuple[str, int, int]]:
        """Key, start and value, in the order of a scan over many keys."""
        found: dict[tuple[str, int, int], Any] = {
            row: value for row, value in self.rows.items() if row[1] >= self.horizon()
        }
        found.update(self.cache or {})
        rows = [
            row
            for row, value in found.items()
            if value is not None
            and earliest <= row[1] <= latest
            and (low is None or low <= row[0])
            and (high is None or row[0] <= high)
        ]
        rows.sort(key=self.order)
        return [(key, start, found[key, start, number]) for key, start, number in rows]

    def order(self, row: tuple[str, int, int]) -> Any:
        key, start, number = row
        suffix = number.to_bytes(4, "big")
        if self.family == "persistent":
            return start // SEGMENT, key.encode() + start.to_bytes(8, "big") + suffix
        return start, key.encode() + suffix


def run(store: Any, model: Model, steps: list[Any], timestamped: bool) -> None:
    told: list[Any] = []
    store.set_flush_listener(lambda *call: told.append(call[:4]), True)
    wrap = (
        (lambda value: None if value is None else ValueAndTimestamp(value, 7)) if timestamped else lambda value: value
    )

    def windows(found: list[Any], reverse: bool) -> list[Any]:
        rows = [(Windowed(key, Window(start, start + SIZE)), wrap(value)) for key, start, value in found]
        return rows[::-1] if reverse else rows

    for step in steps:
        match step:
            case "put", key, value, start:
                store.put(key, wrap(value), start)
                model.put(key, value, start)
            case "fetch", key, start:
                found = [] if model.duplicates else model.find(start, start, key, key)
                assert store.fetch(key, start) == (wrap(found[0][2]) if found else None)
                if timestamped:
                    assert store.read(key, start) == ((found[0][2], 7) if found else None)
            case "range", key, earliest, latest, reverse:
                rows = sorted(model.find(earliest, latest, key, key), key=lambda row: row[1])
                expected = [(start, wrap(value)) for _, start, value in (rows[::-1] if reverse else rows)]
                assert list(store.fetch_range(key, earliest, latest, reverse)) == expected
                if timestamped:
                    assert list(store.read_range(key, earliest, latest, reverse)) == expected
            case "keys", low, high, earliest, latest, reverse:
                rows = model.find(earliest, latest, low, high)
                assert list(store.fetch_keys(low, high, earliest, latest, reverse)) == windows(rows, reverse)
                rows = model.find(earliest, latest)
                assert list(store.fetch_all(earliest, latest, reverse)) == windows(rows, reverse)
            case "all", reverse:
                assert list(store.all(reverse)) == windows(model.find(0, 99), reverse)
            case ("flush",):
                store.flush()
                assert told == model.flush()
                told.clear()
    assert list(store.all()) == windows(model.find(0, 99), False)
    assert len(store._context.dropped) == model.dropped


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("backend", ["memory", "rocksdb", "tiered"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("timestamped", [False, True])
def test_a_window_store_follows_the_rules(
    harness: Any, timestamped: bool, family: str, backend: str, cached: bool
) -> None:
    supplier = StoreSupplier("w", retention_ms=RETENTION, window_size_ms=SIZE, **FAMILIES[family])
    kind = StoreKind.TIMESTAMPED_WINDOW if timestamped else StoreKind.WINDOW
    key = Serdes.string if timestamped else BY_BYTES
    builder = StoreBuilder("w", kind, supplier, key, Serdes.long, caching=cached)

    @given(STEPS)
    @settings(max_examples=10 if backend == "rocksdb" else 30 if backend == "tiered" else 120, deadline=None)
    def check(steps: list[Any]) -> None:
        with harness.opened(builder, backend, 1 << 20) as store:
            assert store.cached == cached
            run(store, Model(family, cached, False), steps, timestamped)

    if backend == "memory" or family != "in memory":
        check()


@pytest.mark.parametrize("backend", ["memory", "rocksdb", "tiered"])
@pytest.mark.parametrize("family", FAMILIES)
def test_so_do_duplicates(harness: Any, family: str, backend: str) -> None:
    supplier = StoreSupplier(
        "w", retention_ms=RETENTION, window_size_ms=SIZE, retain_duplicates=True, **FAMILIES[family]
    )
    builder = StoreBuilder("w", StoreKind.WINDOW, supplier, Serdes.string, Serdes.long, caching=True)

    @given(STEPS)
    @settings(max_examples=10 if backend == "rocksdb" else 30 if backend == "tiered" else 120, deadline=None)
    def check(steps: list[Any]) -> None:
        with harness.opened(builder, backend, 1 << 20) as store:
            assert not store.cached
            run(store, Model(family, False, True), steps, False)

    if backend == "memory" or family != "in memory":
        check()
