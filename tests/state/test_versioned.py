"""The versioned store, against a model that forgets nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.serdes import Serdes
from millstream.state import (
    LATEST,
    NOT_STORED,
    StoreBuilder,
    StoreKind,
    Stores,
    StoreSupplier,
    VersionedRecord,
    versioned,
)

HISTORY, SEGMENT = 10, 3
KEYS = st.text("a\x00", max_size=2)
TIMES = st.integers(0, 40)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.none() | st.integers(0, 5), TIMES),
        st.tuples(st.just("put"), KEYS, st.integers(0, 5), TIMES),
        st.tuples(st.just("delete"), KEYS, TIMES),
        st.tuples(st.just("get"), KEYS, st.none() | TIMES),
        st.tuples(st.just("versions"), KEYS, TIMES, TIMES),
    ),
    max_size=25,
)


def builder(history: int = HISTORY) -> StoreBuilder:
    supplier = StoreSupplier("v", history_retention_ms=history, segment_interval_ms=SEGMENT)
    return StoreBuilder("v", StoreKind.VERSIONED_KEY_VALUE, supplier, Serdes.string, Serdes.long, caching=True)


class Model:
    """Every version there ever was."""

    def __init__(self) -> None:
        self.clock = -1
        self.versions: dict[str, dict[int, int | None]] = {}

    def unmakes(self, key: str, timestamp: int) -> bool:
        """Deletes the latest version at its own timestamp: has a test of its own."""
        versions = self.versions.get(key, {})
        return bool(versions) and max(versions) == timestamp and versions[timestamp] is not None

    def put(self, key: str, value: int | None, timestamp: int) -> int:
        if timestamp < self.clock - HISTORY:
            return NOT_STORED
        self.clock = max(self.clock, timestamp)
        versions = self.versions.setdefault(key, {})
        versions[timestamp] = value
        return min((other for other in versions if other > timestamp), default=LATEST)

    def get(self, key: str, as_of: int | None) -> VersionedRecord[int] | None:
        versions = self.versions.get(key, {})
        at = max((time for time in versions if as_of is None or time <= as_of), default=None)
        if at is None or versions[at] is None:
            return None
        valid_to = min((other for other in versions if other > at), default=None)
        if as_of is not None and as_of < self.clock - HISTORY and valid_to is not None:
            return None
        return VersionedRecord(versions[at], at, valid_to)  # type: ignore[arg-type]

    def between(self, key: str, earliest: int, latest: int) -> list[VersionedRecord[int]]:
        versions = sorted(self.versions.get(key, {}))
        floor = (self.clock - HISTORY) // SEGMENT * SEGMENT
        found = []
        for time in versions:
            value, valid_to = self.versions[key][time], min((t for t in versions if t > time), default=None)
            if value is None or time > latest:
                continue
            if valid_to is None or (valid_to > earliest and valid_to >= floor and latest >= self.clock - HISTORY):
                found.append(VersionedRecord(value, time, valid_to))
        return found


@pytest.mark.parametrize("backend", ["memory", "rocksdb", "tiered"])
@pytest.mark.parametrize("sweep_after", [1, 1024])
def test_a_versioned_store_remembers(
    harness: Any, backend: str, sweep_after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versioned, "_SWEEP_AFTER", sweep_after)

    @given(STEPS)
    @settings(max_examples=15 if backend == "rocksdb" else 30 if backend == "tiered" else 250, deadline=None)
    def check(steps: list[Any]) -> None:
        model = Model()
        with harness.opened(builder(), backend, 1 << 20) as store:
            assert not store.cached
            for step in steps:
                match step:
                    case "put", key, value, timestamp:
                        if value is not None or not model.unmakes(key, timestamp):
                            assert store.put(key, value, timestamp) == model.put(key, value, timestamp)
                    case "delete", key, timestamp:
                        if not model.unmakes(key, timestamp):
                            old = model.get(key, timestamp) if timestamp >= model.clock - HISTORY else None
                            assert store.delete(key, timestamp) == old
                            model.put(key, None, timestamp)
                    case "get", key, as_of:
                        assert store.get(key, as_of) == model.get(key, as_of)
                        found = model.get(key, as_of)
                        read = store.read(key) if as_of is None else store.read_as_of(key, as_of)
                        assert read == (None if found is None else (found.value, found.timestamp))
                    case "versions", key, earliest, latest:
                        expected = model.between(key, earliest, latest)
                        assert list(store.versions(key, earliest, latest)) == expected
                        assert list(store.versions(key, earliest, latest, reverse=True)) == expected[::-1]
            for key in model.versions:
                for as_of in (None, *range(42)):
                    assert store.get(key, as_of) == model.get(key, as_of)
                assert list(store.versions(key)) == model.between(key, 0, 99)

    check()


def test_write_answers_where_a_version_stands(harness: Any) -> None:
    store = harness.open(builder())
    assert store.write("a", 1, 20) == LATEST
    assert store.write("a", 0, 12) == 20
    assert store.write("a", 0, 9) == NOT_STORED
    assert len(store._context.dropped) == 1
    assert store.write("a", 0, 10) == 12
    assert store.read("a") == (1, 20)
    assert store.get("a", 15) == VersionedRecord(0, 12, 20)


def test_a_latest_version_deleted_at_its_own_time_leaves_no_trace(harness: Any) -> None:
    store = harness.open(builder())
    store.put("a", 1, 10)
    store.put("a", None, 10)
    assert store.get("a") is None
    assert store.put("a", 2, 5) == LATEST
    assert store.get("a") == VersionedRecord(2, 5)
    store.put("b", 0, 5)
    store.put("b", 1, 10)
    store.put("b", None, 10)
    assert store.put("b", 2, 7) == 10
    assert store.get("b") is None


def test_old_versions_are_freed(harness: Any) -> None:
    store = harness.open(builder())
    store.put("gone", 1, 0)
    store.put("gone", None, 1)
    for time in range(5000):
        store.put(f"k{time % 7}", time, time)
    assert len(store._table) < 1100
    assert store.get("k0").value == 4998


def test_segments_follow_the_history() -> None:
    lengths = {60: 20, 300: 60, 3600: 300, 86400: 3600, 3: 2}
    for seconds, expected in lengths.items():
        supplier = Stores.persistent_versioned_key_value("v", timedelta(seconds=seconds))
        assert supplier.version_segment_ms() == expected * 1000
