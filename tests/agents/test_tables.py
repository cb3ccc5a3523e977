"""Windowed tables: which windows a change goes to, and which one is read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import millstream.agents as faust
from millstream import ArgumentError, ProcessingError

START = datetime(2026, 1, 1, tzinfo=UTC)
ZERO = START.timestamp()


class View(faust.Record):
    page: str
    at: float = 0.0


def viewing(make: Any) -> tuple[faust.App, faust.Topic, faust.WindowedTable, list[Any]]:
    """An application that counts views in windows, and notes what it reads."""
    app = faust.App("viewing")
    views = app.topic("views", value_type=View)
    table = make(app.Table("views", key_type=str, value_type=int, default=int))
    seen: list[Any] = []

    @app.agent(views)
    async def count(stream: faust.Stream) -> None:
        async for view in stream:
            table[view.page] += 1
            windows = table[view.page]
            seen.append((windows.current(), windows.value(), windows.now(), windows.delta(10)))

    return app, views, table, seen


def test_tumbling_windows_go_by_the_time_of_the_record() -> None:
    app, views, table, seen = viewing(lambda table: table.tumbling(10, expires=3600))
    with app.test_context(start=START) as test:
        for seconds in (1, 2, 11, 3):
            test.put(views, View("a"), timestamp=ZERO + seconds)
        assert [one[0] for one in seen] == [1, 2, 1, 3]
        assert [one[3] for one in seen] == [0, 0, 2, 0]
        assert table["a"].now() == 3
        test.advance(10)
        assert table["a"].now() == 1
        assert test.driver.window_store("views").fetch("a", int(ZERO * 1000)) == 3


def test_a_change_goes_to_all_hopping_windows_and_the_newest_is_read() -> None:
    app, views, _, seen = viewing(lambda table: table.hopping(10, 5))
    with app.test_context(start=START) as test:
        for seconds in (1, 6, 11):
            test.put(views, View("a"), timestamp=ZERO + seconds)
        assert [one[0] for one in seen] == [1, 1, 1]
        store = test.driver.window_store("views")
        assert [store.fetch("a", int((ZERO + start) * 1000)) for start in (-5, 0, 5, 10)] == [1, 2, 2, 1]


def test_windows_may_go_by_a_field_or_by_the_wall_clock() -> None:
    app, views, _, seen = viewing(lambda table: table.tumbling(10).relative_to_field(View.at))
    with app.test_context(start=START) as test:
        for at in (1.0, 21.0, 2.0):
            test.put(views, View("a", at), timestamp=ZERO)
        assert [one[1] for one in seen] == [1, 1, 2]
    app, views, _, seen = viewing(lambda table: table.tumbling(10).relative_to_now())
    with app.test_context(start=START) as test:
        test.put(views, View("a"), timestamp=5)
        test.advance(10)
        test.put(views, View("a"), timestamp=6)
        assert [one[1:3] for one in seen] == [(1, 1), (1, 1)]


def test_a_table_is_a_dictionary() -> None:
    app = faust.App("dictionary")
    words = app.topic("words", value_type=str)
    lengths = app.Table("lengths", key_type=str, value_type=int)
    seen: list[Any] = []

    @app.agent(words)
    async def learn(stream: faust.Stream) -> None:
        async for word in stream:
            lengths.setdefault(word, len(word))
            seen.append((word in lengths, lengths.get("none", -1), len(lengths), sorted(lengths.items())))
            if word == "gone":
                assert lengths.pop(word) == 4
                assert "gone" not in lengths
            lengths.update({"last": 0})

    with app.test_context() as test:
        for word in ("mill", "gone"):
            test.put(words, word)
        assert seen == [
            (True, -1, 1, [("mill", 4)]),
            (True, -1, 3, [("gone", 4), ("last", 0), ("mill", 4)]),
        ]
        with pytest.raises(KeyError):
            lengths["gone"]


def test_a_table_that_the_code_does_not_name_must_be_declared() -> None:
    app = faust.App("hidden")
    words = app.topic("words", value_type=str)
    hidden = [app.Table("hidden", default=int)]

    @app.agent(words)
    async def count(stream: faust.Stream) -> None:
        async for word in stream:
            hidden[0][word] += 1

    with app.test_context() as test, pytest.raises(ProcessingError, match="has no table 'hidden'"):
        test.put(words, "mill")


def test_settings_are_fausts_or_those_of_the_engine() -> None:
    app = faust.App("set", version=3, broker=["kafka://a:1", "kafka://b:2"], processing_guarantee="exactly_once")
    assert app.id == "set-v3"
    assert app.conf.streams.bootstrap_servers == "a:1,b:2"
    assert app.conf.streams.exactly_once
    with pytest.raises(ArgumentError, match="no setting 'brokr'"):
        faust.App("set", brokr="a:1")
