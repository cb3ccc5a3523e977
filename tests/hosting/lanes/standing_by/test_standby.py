"""A task made of a standby has exactly the rows that one has which reads the whole changelog."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream import Serdes, StreamsConfig, Topology
from millstream.hosting.context import NO_THROTTLE, PlacedContext
from millstream.hosting.lanes.query import HostedQuery
from millstream.hosting.lanes.standing_by.places import Place
from millstream.hosting.lanes.standing_by.standby import Standby, Warm, leave_behind, left_behind
from millstream.hosting.task_changes import change_records, clocks_of, redo
from millstream.records import AggregationWithHeaders, Headers, Window, Windowed
from millstream.state import StoreBuilder, StoreKind, StoreSupplier
from millstream.state.layout import CLOCK_KEY
from millstream.state.store import StateStore
from millstream.task.context import host_context
from millstream.task.records import RawRecord
from millstream.task.stores import TaskStores

TIMED = {"retention_ms": 10, "segment_interval_ms": 4}
WINDOWS = {**TIMED, "window_size_ms": 3}
KINDS: dict[str, tuple[StoreKind, dict[str, Any]]] = {
    "key-value": (StoreKind.KEY_VALUE, {}),
    "key-value in memory": (StoreKind.KEY_VALUE, {"persistent": False}),
    "timestamped": (StoreKind.TIMESTAMPED_KEY_VALUE, {}),
    "timestamped with headers": (StoreKind.TIMESTAMPED_KEY_VALUE_WITH_HEADERS, {}),
    "lru": (StoreKind.KEY_VALUE, {"persistent": False, "max_entries": 2}),
    "versioned": (StoreKind.VERSIONED_KEY_VALUE, {"history_retention_ms": 10, "segment_interval_ms": 4}),
    "window": (StoreKind.TIMESTAMPED_WINDOW, WINDOWS),
    "window with headers": (StoreKind.TIMESTAMPED_WINDOW_WITH_HEADERS, WINDOWS),
    "window in memory": (StoreKind.TIMESTAMPED_WINDOW, {**WINDOWS, "persistent": False}),
    "window time-ordered": (StoreKind.TIMESTAMPED_WINDOW, {**WINDOWS, "time_ordered": True}),
    "duplicates": (StoreKind.WINDOW, {**WINDOWS, "retain_duplicates": True}),
    "duplicates in memory": (StoreKind.WINDOW, {**WINDOWS, "retain_duplicates": True, "persistent": False}),
    "session": (StoreKind.SESSION, TIMED),
    "session with headers": (StoreKind.SESSION_WITH_HEADERS, TIMED),
    "session in memory": (StoreKind.SESSION, {**TIMED, "persistent": False}),
}
WRITE = st.tuples(st.text("ab", max_size=2), st.none() | st.integers(0, 9), st.integers(0, 40))
COMMITS = st.lists(st.lists(WRITE, max_size=8), max_size=8)
PARTITION = ("app-s-changelog", 0)


def query_of(name: str, directory: Path | None, topic_id: str = "id-1", **options: Any) -> HostedQuery:
    kind, supplier = KINDS[name]
    builder = StoreBuilder("s", kind, StoreSupplier("s", **{**supplier, **options}), Serdes.string, Serdes.long)
    topology = Topology().add_source("in", "topic")
    topology.add_processor("p", object, "in")
    topology.add_state_store(builder, "p")
    config = StreamsConfig(application_id="app", state_dir=directory)
    return HostedQuery("q", topology, config, {"topic": 1}, {}, {"s": topic_id})


def opened(query: HostedQuery, directory: Path, memory: int = 0) -> StateStore:
    """A store as a task has it."""
    context = host_context(query.config, "0_0", PlacedContext, defaults=NO_THROTTLE)
    context.state_directory = directory
    context.cache_max_bytes, context.store_memory_max_bytes = 0, memory
    stores = TaskStores(query.topology, ["s"], context, query.config)
    stores.open()
    return stores.by_name["s"]


def write(store: Any, key: str, value: int | None, time: int) -> None:
    kind, headers = store.kind, Headers([("h", b"%d" % time)]) if time % 3 else None
    match kind:
        case StoreKind.KEY_VALUE:
            store.put(key, value)
        case StoreKind.WINDOW:
            store.put(key, value, time)
        case StoreKind.TIMESTAMPED_WINDOW | StoreKind.TIMESTAMPED_WINDOW_WITH_HEADERS:
            store.write(key, time, value, time + 1, headers)
        case StoreKind.SESSION:
            store.put(Windowed(key, Window(max(0, time - 2), time)), value)
        case StoreKind.SESSION_WITH_HEADERS:
            kept = None if value is None else AggregationWithHeaders(value, headers or Headers())
            store.write(key, max(0, time - 2), time, kept, headers)
        case _:
            store.write(key, value, time, headers)


def logged(query: HostedQuery, store: Any, first: int, random: Random) -> list[RawRecord]:
    """A commit's records, as a reader of the changelog sees them; here and there offsets are left out."""
    stores = {"s": store}
    records = change_records(query.changelogs, 0, stores, {"s": store.take_changes()}, 1)
    found: list[RawRecord] = []
    for _, _, key, value, timestamp, headers in records:
        first += random.choice((0, 0, 0, 2))
        found.append((key, value, timestamp, headers, first))
        first += 1
    return found


def logged_changes(store: Any) -> dict[bytes, bytes | None]:
    """Without the clock, which is in no changelog: tasks note it."""
    return {key: value for key, value in store.take_changes().items() if key != CLOCK_KEY}


def contents(store: Any) -> tuple[dict[bytes, bytes], list[Any]]:
    return dict(store.snapshot()), list(store.all()) if hasattr(store, "all") else []


@contextmanager
def directories() -> Iterator[Path]:
    path = tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)  # noqa: S108 - memory
    try:
        yield Path(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def taken_over(query: HostedQuery, warm: Warm, memory: int) -> StateStore:
    store = opened(query, warm.path, memory)
    warm.pour({"s": store})
    return store


def with_clock(query: HostedQuery, store: StateStore, clocks: Mapping[str, tuple[bytes, bytes]]) -> StateStore:
    store.apply_changes(clocks.values())
    return store


@pytest.mark.parametrize("name", KINDS)
def test_exactly_the_rows_of_a_full_restore(name: str) -> None:
    """Wherever it is taken over.

    From a lane that had it in reserve, also one that was started anew or killed before that, or from the files of a
    lane that had the task itself.
    """

    @given(
        COMMITS,
        COMMITS,
        st.sampled_from([0, 600, 4_000, 1 << 20]),
        st.sampled_from(["warm", "restarted", "killed", "left"]),
        st.randoms(use_true_random=False),
    )
    @settings(max_examples=25, deadline=None)
    def check(commits: list[Any], later: list[Any], memory: int, way: str, random: Any) -> None:
        with directories() as base:
            query = query_of(name, base / "kept" if way != "warm" else None)
            (task,) = query.tasks
            owner: Any = opened(query, base / "owner")
            owner.kind = KINDS[name][0]
            standby = Standby(query, task, Place(query.config, task.name, base / "own"))
            log: list[RawRecord] = []
            for writes in commits:
                for change in writes:
                    write(owner, *change)
                log += logged(query, owner, log[-1][4] + 2 if log else 0, random)
            split, half = sorted((random.randrange(len(log) + 1), random.randrange(len(log) + 1)))
            apply(standby, log[:split], random)
            if way != "warm":
                if way == "killed":  # RocksDB may have more than its checkpoint says
                    standby.save()
                    apply(standby, log[split:half], random)
                    for one in standby._stores.by_name.values():
                        one.flush()
                    standby._stores.close()
                    standby._place.release(keep=True)
                else:
                    standby.close(keep=True)
                standby = Standby(query, task, Place(query.config, task.name, base / "own"))
                assert standby.positions[PARTITION] <= (log[split - 1][4] + 1 if split else 0)
                apply(standby, [record for record in log[:half] if record[4] >= standby.positions[PARTITION]], random)
            warm = standby.hand_over()
            if way == "left":  # by the lane that had the task and has closed
                if warm is not None:
                    warm.discard()
                before = opened(query, base / "before", memory)
                redo(before, log[:half])
                before.flush()
                database, end = before.close_complete(), {PARTITION: log[half - 1][4] + 1 if half else 0}
                assert (database is not None) is KINDS[name][1].get("persistent", True)
                leave_behind(query, task, {} if database is None else {"s": database}, end, None, base / "own")
                warm = left_behind(query, task, base / "own")
                assert (warm is None) is (database is None or not half)
            store: Any = opened(query, base / "new", memory) if warm is None else taken_over(query, warm, memory)
            position = 0 if warm is None else warm.positions[PARTITION]
            redo(store, [record for record in log if record[4] >= position])
            full: Any = opened(query, base / "full", memory)
            redo(full, log)
            clocks = clocks_of(query.changelogs, {"s": owner})
            with_clock(query, store, clocks)
            with_clock(query, full, clocks)
            assert contents(store) == contents(full)
            # And from then on they do the same.
            for each in (store, full):
                each.kind = KINDS[name][0]
            for writes in later:
                for change in writes:
                    write(store, *change)
                    write(full, *change)
                assert logged_changes(store) == logged_changes(full)
                store.flush()
                full.flush()
                assert contents(store) == contents(full)
            for each in (store, full, owner):
                each.close()
            if warm is not None:
                warm.discard()
                assert not warm.path.exists()

    check()


def apply(standby: Standby, records: list[RawRecord], random: Any) -> None:
    at = 0
    while at < len(records):
        count = random.randrange(1, 7)
        standby.apply(PARTITION, records[at : at + count])
        at += count


RECORDS: list[RawRecord] = [(b"a", b"1", 1, None, 0), (b"b", b"2", 2, None, 1), (b"a", None, 3, None, 2)]


@pytest.fixture
def kept(tmp_path: Path) -> HostedQuery:
    """A query whose task was in reserve on this machine, up to offset 3."""
    query = query_of("key-value", tmp_path / "kept")
    standby = standby_of(query, tmp_path)
    standby.apply(PARTITION, RECORDS)
    standby.close(keep=True)
    return query


def standby_of(query: HostedQuery, directory: Path) -> Standby:
    (task,) = query.tasks
    return Standby(query, task, Place(query.config, task.name, directory / "own"))


def rows(standby: Standby) -> dict[bytes, bytes]:
    return dict(standby._stores.by_name["s"].snapshot())


def test_the_next_lane_goes_on_with_the_files(kept: HostedQuery, tmp_path: Path) -> None:
    standby = standby_of(kept, tmp_path)
    assert (standby.positions, rows(standby)) == ({PARTITION: 3}, {b"b": b"2"})
    standby.close(keep=True)


def test_two_lanes_of_a_machine_do_not_share_files(kept: HostedQuery, tmp_path: Path) -> None:
    first, second = standby_of(kept, tmp_path), standby_of(kept, tmp_path)
    assert (first.positions[PARTITION], second.positions[PARTITION]) == (3, 0)
    for standby in (first, second):
        standby.close(keep=True)


@pytest.mark.parametrize(
    "changed",
    [
        lambda kept, path: replace(kept, changelog_ids={"s": "id-2"}),
        lambda kept, path: replace(kept, changelog_ids={}),
        lambda kept, path: query_of("timestamped", path / "kept"),
        lambda kept, path: query_of("key-value", path / "kept", segment_interval_ms=7),
    ],
)
def test_what_is_of_another_topic_or_layout_is_thrown_away(kept: HostedQuery, tmp_path: Path, changed: Any) -> None:
    standby = standby_of(changed(kept, tmp_path), tmp_path)
    assert (standby.positions, rows(standby)) == ({PARTITION: 0}, {})
    standby.close(keep=True)


def test_what_is_old_is_thrown_away(kept: HostedQuery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka forgets deletions after a day."""
    monkeypatch.setattr("millstream.hosting.lanes.standing_by.standby._BELIEVED_SECONDS", -1.0)
    standby = standby_of(kept, tmp_path)
    assert (standby.positions, rows(standby)) == ({PARTITION: 0}, {})
    standby.close(keep=True)


def test_what_is_damaged_is_thrown_away(kept: HostedQuery, tmp_path: Path) -> None:
    (current,) = (tmp_path / "kept").glob("app/standbys/0_0/s/CURRENT")
    current.write_bytes(b"MANIFEST-999999\n")
    standby = standby_of(kept, tmp_path)
    assert (standby.positions, rows(standby)) == ({PARTITION: 0}, {})
    standby.close(keep=True)


def test_what_a_task_has_taken_is_not_believed_any_more(kept: HostedQuery, tmp_path: Path) -> None:
    """Its files lack what the task has in memory, and the task may be killed."""
    warm = standby_of(kept, tmp_path).hand_over()
    assert warm is not None
    store = taken_over(kept, warm, 1 << 20)
    store.close()
    warm.place.release(keep=True)  # as if it was killed
    standby = standby_of(kept, tmp_path)
    assert (standby.positions, rows(standby)) == ({PARTITION: 0}, {})
    standby.close(keep=True)


def test_a_query_in_the_place_of_another_may_have_other_stores(tmp_path: Path) -> None:
    query = query_of("window", None)
    standby = standby_of(query, tmp_path)
    assert standby.fits(query)
    assert standby.fits(query_of("window", None))
    assert not standby.fits(query_of("window", None, topic_id="id-2"))
    assert not standby.fits(query_of("window", None, retention_ms=20))
    assert not standby.fits(query_of("session", None))
    standby.close(keep=False)
