"""A store can be rebuilt from its changes, wherever they are cut, and from any version on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.records import Window, Windowed
from millstream.serdes import Serdes
from millstream.state import StoreBuilder, StoreKind, StoreSupplier, segments

TIMED = {"retention_ms": 10, "segment_interval_ms": 4}
WINDOWS = {**TIMED, "window_size_ms": 3}
KINDS: dict[str, tuple[StoreKind, dict[str, Any]]] = {
    "key-value": (StoreKind.KEY_VALUE, {}),
    "timestamped": (StoreKind.TIMESTAMPED_KEY_VALUE, {}),
    "lru": (StoreKind.KEY_VALUE, {"persistent": False, "max_entries": 2}),
    "versioned": (StoreKind.VERSIONED_KEY_VALUE, {"history_retention_ms": 10, "segment_interval_ms": 4}),
    "window": (StoreKind.TIMESTAMPED_WINDOW, WINDOWS),
    "window in memory": (StoreKind.TIMESTAMPED_WINDOW, {**WINDOWS, "persistent": False}),
    "window time-ordered": (StoreKind.TIMESTAMPED_WINDOW, {**WINDOWS, "time_ordered": True}),
    "window without retention": (StoreKind.TIMESTAMPED_WINDOW, {"retention_ms": 0, "window_size_ms": 0}),
    "duplicates": (StoreKind.WINDOW, {**WINDOWS, "retain_duplicates": True}),
    "duplicates in memory": (StoreKind.WINDOW, {**WINDOWS, "retain_duplicates": True, "persistent": False}),
    "session": (StoreKind.SESSION, TIMED),
    "session in memory": (StoreKind.SESSION, {**TIMED, "persistent": False}),
}
WRITES = st.lists(
    st.one_of(
        st.tuples(st.text("ab", max_size=2), st.none() | st.integers(0, 9), st.integers(0, 40)),
        st.just("commit"),
        st.just("commit"),
    ),
    max_size=30,
)


def builder(name: str, caching: bool) -> StoreBuilder:
    kind, options = KINDS[name]
    return StoreBuilder("s", kind, StoreSupplier("s", **options), Serdes.string, Serdes.long, caching=caching)


def write(store: Any, kind: StoreKind, key: str, value: int | None, time: int) -> None:
    match kind:
        case StoreKind.KEY_VALUE:
            store.put(key, value)
        case StoreKind.WINDOW:
            store.put(key, value, time)
        case StoreKind.TIMESTAMPED_WINDOW:
            store.write(key, time, value, time + 1)
        case StoreKind.SESSION:
            store.put(Windowed(key, Window(max(0, time - 2), time)), value)
        case _:
            store.write(key, value, time)


def contents(store: Any) -> dict[bytes, bytes]:
    """All there is, with the clock. The numbers of duplicates may have gaps, so the last one does not count."""
    rows = dict(store.snapshot())
    if b"clock" in rows:
        rows[b"clock"] = rows[b"clock"][:8]
    return rows


@pytest.mark.parametrize("caching", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_any_restart_point_gives_the_same_store(harness: Any, name: str, caching: bool) -> None:
    kind = KINDS[name][0]

    @given(WRITES, st.randoms(use_true_random=False))
    @settings(max_examples=60, deadline=None)
    def check(writes: list[Any], random: Any) -> None:
        store = harness.open(builder(name, caching), 1 << 20)
        log: list[bytes] = []
        bases = [segments.encode({})]
        follower = harness.open(builder(name, caching), 1 << 20)
        for step in [*writes, "commit"]:
            if step != "commit":
                write(store, kind, *step)
                continue
            store.flush()
            log.append(segments.encode(store.take_changes()))
            bases.append(segments.encode(store.snapshot()))
            if random.random() < 0.5:  # a copy that fell behind catches up
                missing = log[getattr(follower, "at", 0) :]
                follower.apply_changes(segments.decode(segments.merge(missing)))
                follower.at = len(log)
                assert contents(follower) == contents(store)
        expected = contents(store)
        start = random.randrange(len(bases))
        restored = harness.open(builder(name, caching), 1 << 20)
        restored.apply_changes(segments.decode(bases[start]))
        for segment in log[start:]:
            restored.apply_changes(segments.decode(segment))
        assert contents(restored) == expected
        compacted = harness.open(builder(name, caching), 1 << 20)
        compacted.apply_changes(segments.decode(segments.merge([bases[start], *log[start:]], base=True)))
        assert contents(compacted) == expected
        assert restored.take_changes() == {}
        assert not restored._context.dropped

    check()


@pytest.mark.parametrize("name", [name for name in KINDS if name != "lru" and "memory" not in name])
def test_reopened_files_are_the_same_store(harness: Any, name: str, tmp_path: Any) -> None:
    kind = KINDS[name][0]
    store = harness.open(builder(name, True), 1 << 20, tmp_path)
    for time in (3, 30, 25, 27, 26, 30):
        write(store, kind, f"k{time}", time, time)
        write(store, kind, "k30", None, 30)
    store.flush()
    expected = contents(store)
    store.close()
    again = harness.open(builder(name, True), 1 << 20, tmp_path)
    assert contents(again) == expected
    write(again, kind, "new", 1, 31)
    again.flush()
    assert len(contents(again)) >= len(expected) or name == "window without retention"
    again.close()


def test_new_duplicates_come_after_restored_ones(harness: Any) -> None:
    store = harness.open(builder("duplicates", False))
    for value in (1, 2, 3):
        store.put("a", value, 5)
    again = harness.open(builder("duplicates", False))
    again.apply_changes(store.snapshot())
    again.put("a", 4, 5)
    assert [value for _, value in again.fetch_range("a", 0, 9)] == [1, 2, 3, 4]
