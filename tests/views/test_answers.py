"""Every kind of question, of every kind of store, has the answer of the test driver's store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from millstream import StreamsConfig, Window
from millstream.errors import KeyRefused, NotUpToBound, OversizedScan, UnknownStore, WrongQuery
from millstream.kafka.admin import Admin
from millstream.kafka.partitioner import partition_for
from millstream.records import MAX_TIMESTAMP
from millstream.views.api import Views
from millstream.views.queries import (
    CountQuery,
    KeyQuery,
    KeysQuery,
    Position,
    PrefixQuery,
    RangeQuery,
    Requirements,
    SessionKeyQuery,
    SessionRangeQuery,
    VersionedKeyQuery,
    VersionsQuery,
    WindowKeyQuery,
    WindowRangeQuery,
)
from millstream.views.readonly import read_only

from .world import BASE, KEYS, World, play, settle, topology

PARTITIONS = 3


@pytest.fixture
def world(app_config: Callable[..., StreamsConfig], admin: Admin, make_topic: Callable[..., str]) -> Iterator[World]:
    rates = make_topic(2, name="rates")
    made = World(topology(rates), app_config(), admin, PARTITIONS)
    made.rates = rates
    yield made
    made.close()


def test_all_questions(world: World, start: Callable[..., Views], produce: Callable[..., None], admin: Admin) -> None:
    play(world, 1)
    records = world.take()
    world.write(records[:500])
    world.write(
        [(topic, number, b"never", b"committed", time) for topic, number, _, _, time in records[:50]], commit=False
    )
    world.write(records[500:])
    produce(world.rates, [("eur", "1.0"), ("usd", "0.9"), ("usd", "0.8"), ("old", "1"), ("old", None)])
    views = start(world.topology, world.config)
    settle([views], world, admin)
    key_values(views, world)
    windows(views, world)
    sessions(views, world)
    versions(views, world)
    global_table(views)
    requirements(views, world)
    refusals(views)
    # What comes later is seen, too.
    play(world, 2, 50, start=1_000_000)
    world.write(world.take())
    settle([views], world, admin)
    key_values(views, world)
    windows(views, world)
    sessions(views, world)
    versions(views, world)


def key_values(views: Views, world: World) -> None:
    for name in ("counts", "memory-counts"):
        expected = dict(world.one.timestamped_key_value_store(name).all())
        view = read_only(views, name)
        for key in [*KEYS, "nobody"]:
            row = next(iter(views.ask(name, KeyQuery(key)).rows), None)
            assert (row and (row.value, row.timestamp)) == expected.get(key)
            assert view.get(key) == (expected[key].value if key in expected else None)
        several = views.ask(name, KeysQuery((*reversed(KEYS), "nobody")))
        assert [row.key for row in several.rows] == [key for key in reversed(KEYS) if key in expected]
        plain = world.one.key_value_store(name)
        assert view.get_many(KEYS) == {key: plain.get(key) for key in KEYS if key in expected}
        assert list(view.all()) == list(plain.all())
        assert list(view.range("key-11", "key-3")) == list(plain.range("key-11", "key-3"))
        assert list(view.reverse_range("key-11", "key-3")) == list(plain.reverse_range("key-11", "key-3"))
        assert list(view.reverse_range(None, "key-3")) == list(plain.reverse_range(None, "key-3"))
        assert list(view.prefix_scan("key-1")) == list(plain.prefix_scan("key-1", str.encode))
        estimated = range(1, 10 * len(expected)) if name == "counts" else (len(expected),)  # on disk it is one
        assert view.count() in estimated
        for query in (RangeQuery(), RangeQuery(reverse=True), PrefixQuery(b"key-2"), RangeQuery("key-1", "key-2")):
            whole = views.ask(name, query).rows
            pages = list(views.pages(name, query, rows=7))
            assert [row for page in pages for row in page.rows] == whole
            assert all(len(page.rows) == 7 for page in pages[:-1])
        assert len(views.ask(name, RangeQuery(), Requirements(limit=5)).rows) == 5
        assert views.ask(name, CountQuery()).count in estimated


def windows(views: Views, world: World) -> None:
    for name in ("windows", "memory-windows"):
        for number, driver in enumerate(world.drivers):
            store = driver.timestamped_window_store(name)
            only = Requirements(partitions=frozenset((number,)))
            for reverse in (False, True):
                rows = views.ask(name, WindowRangeQuery(reverse=reverse), only).rows
                assert [((row.key, row.window), (row.value, row.timestamp)) for row in rows] == list(store.all(reverse))
                span = ("key-1", "key-25", BASE + 120_000, BASE + 400_000, reverse)
                rows = views.ask(name, WindowRangeQuery(*span), only).rows
                assert [((row.key, row.window), (row.value, row.timestamp)) for row in rows] == list(
                    store.fetch_keys(*span)
                )
        rows = views.ask(name, WindowRangeQuery()).rows
        assert len(rows) == sum(len(list(driver.store(name).all())) for driver in world.drivers)
        view = read_only(views, name)
        for key in KEYS:
            store = home(world, key).window_store(name)
            for reverse in (False, True):
                expected = list(store.fetch_range(key, 0, MAX_TIMESTAMP, reverse))
                assert view.fetch_range(key, reverse=reverse) == expected
                rows = views.ask(name, WindowKeyQuery(key, reverse=reverse)).rows
                assert [row.window for row in rows] == [Window(at, at + 60_000) for at, _ in expected]
            for at, value in store.fetch_range(key, 0, MAX_TIMESTAMP):
                assert view.fetch(key, at) == value
            assert view.fetch(key, BASE + 1) is None


def sessions(views: Views, world: World) -> None:
    for name in ("sessions", "memory-sessions"):
        view = read_only(views, name)
        for number, driver in enumerate(world.drivers):
            only = Requirements(partitions=frozenset((number,)))
            for reverse in (False, True):
                rows = views.ask(name, SessionRangeQuery("key-1", "key-3", reverse), only).rows
                expected = list(driver.session_store(name).fetch_keys("key-1", "key-3", reverse))
                assert [((row.key, row.window), row.value) for row in rows] == expected
        for key in KEYS:
            store = home(world, key).session_store(name)
            assert view.fetch(key) == list(store.fetch(key))
            assert view.fetch(key, reverse=True) == list(store.fetch(key, True))
            span = (key, BASE + 200_000, BASE + 500_000)
            assert view.find_sessions(*span) == list(store.find_sessions(*span))
            assert len(views.ask(name, SessionKeyQuery(key)).rows) == len(view.fetch(key))
        assert len(view.fetch_all()) == sum(len(list(driver.store(name).fetch_keys())) for driver in world.drivers)


def versions(views: Views, world: World) -> None:
    view = read_only(views, "versions")
    for key in [*KEYS, "nobody"]:
        store = home(world, key).versioned_key_value_store("versions")
        assert view.get(key) == store.get(key)
        for at in range(BASE, BASE + 900_000, 60_000):
            assert view.get(key, as_of=at) == store.get(key, at)
        assert view.history(key) == list(store.versions(key))
        span = (BASE + 300_000, BASE + 600_000)
        assert view.history(key, earliest=span[0], latest=span[1], reverse=True) == list(
            store.versions(key, *span, True)
        )
        row = next(iter(views.ask("versions", VersionedKeyQuery(key)).rows), None)
        assert (row and row.value) == (store.get(key) and store.get(key).value)
        assert len(views.ask("versions", VersionsQuery(key)).rows) == len(view.history(key))


def global_table(views: Views) -> None:
    view = read_only(views, "rates")
    assert view.get("usd") == "0.8"
    assert view.get("old") is None
    assert list(view.all()) == [("eur", "1.0"), ("usd", "0.8")]
    assert list(view.reverse_range()) == [("usd", "0.8"), ("eur", "1.0")]
    assert list(view.prefix_scan("e")) == [("eur", "1.0")]
    assert [len(page.rows) for page in views.pages("rates", RangeQuery(), rows=1)] == [1, 1]


def requirements(views: Views, world: World) -> None:
    answer = views.ask("counts", RangeQuery())
    topic = f"{world.config.application_id}-counts-changelog"
    assert set(answer.position.offsets[topic]) == set(range(PARTITIONS)) == set(answer.lags) == set(answer.answered_by)
    assert {by.is_standby for by in answer.answered_by.values()} == {False}
    assert views.ask("counts", RangeQuery(), Requirements(bound=answer.position)).rows == answer.rows
    ahead = Position({topic: {1: answer.position.at(topic, 1) + 1}})
    with pytest.raises(NotUpToBound, match="partition 1"):
        views.ask("counts", RangeQuery(), Requirements(bound=ahead))
    fresh = views.ask("counts", RangeQuery(), Requirements(max_staleness=timedelta(milliseconds=200)))
    assert all((lag.stale_ms or 0) < 1000 and lag.records == 0 for lag in fresh.lags.values())


def refusals(views: Views) -> None:
    with pytest.raises(UnknownStore, match="there is no store 'nothing'"):
        views.ask("nothing", KeyQuery("a"))
    with pytest.raises(WrongQuery, match="does not answer a WindowKeyQuery"):
        views.ask("counts", WindowKeyQuery("a"))
    with pytest.raises(KeyRefused, match="cannot write a value of type int"):
        views.ask("counts", KeyQuery(7))
    with pytest.raises(KeyRefused, match="no None"):
        views.ask("counts", KeyQuery(None))
    with pytest.raises(KeyRefused):
        read_only(views, "counts").get(7)
    with pytest.raises(WrongQuery, match="no partition 9"):
        views.ask("counts", RangeQuery(), Requirements(partitions=frozenset((9,))))
    with pytest.raises(WrongQuery, match="latest cannot be"):
        views.ask("windows", WindowKeyQuery("a", 0, 2**63))
    with pytest.raises(WrongQuery, match="earliest cannot be 'then'"):
        views.ask("windows", WindowRangeQuery(earliest="then"))  # type: ignore[arg-type]
    assert views.ask("windows", WindowRangeQuery(earliest=-5, latest=-1)).rows == []
    assert views.ask("windows", WindowKeyQuery("key-1", -(2**62), -1)).rows == []
    assert views.ask("versions", VersionedKeyQuery("key-1", -1)).rows == []
    assert views.ask("sessions", SessionKeyQuery("key-1", -1, -1)).rows == []
    with pytest.raises(WrongQuery, match="a prefix cannot be 'key'"):
        views.ask("counts", PrefixQuery("key"))  # type: ignore[arg-type]
    with pytest.raises(WrongQuery, match="limit"):
        views.ask("counts", RangeQuery(), Requirements(limit=0))
    views._asking._max_rows = 3  # type: ignore[union-attr]
    with pytest.raises(OversizedScan, match="more than 3 rows"):
        views.ask("counts", RangeQuery())
    views._asking._max_rows = 100_000  # type: ignore[union-attr]


def home(world: World, key: str) -> Any:
    return world.drivers[partition_for(key.encode(), PARTITIONS)]
