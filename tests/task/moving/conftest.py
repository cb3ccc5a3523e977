"""Applications of all stateful kinds, to be moved between processes. All read `left` and `right` and write `out`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Literal, NamedTuple

import pytest

from millstream import (
    BufferConfig,
    Consumed,
    EmitStrategy,
    Grouped,
    Joined,
    JoinWindows,
    Materialized,
    Processor,
    PunctuationType,
    Record,
    Serdes,
    SessionWindows,
    SlidingWindows,
    Stores,
    StreamJoined,
    StreamsBuilder,
    StreamsConfig,
    Suppressed,
    TimeWindows,
    Topology,
)

STRINGS = Consumed(Serdes.string, Serdes.string)


def ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


class Application(NamedTuple):
    """A topology's name, and how to make it."""

    name: str
    build: Callable[[StreamsBuilder], None]
    optimize: Literal["none", "all"] = "none"

    def config(self) -> StreamsConfig:
        return StreamsConfig(
            application_id="app",
            default_key_serde=Serdes.string,
            default_value_serde=Serdes.string,
            topology_optimization=self.optimize,
        )

    def topology(self) -> Topology:
        config = self.config()
        builder = StreamsBuilder(config)
        self.build(builder)
        return builder.build(config)


def left(builder: StreamsBuilder) -> Any:
    return builder.stream("left", STRINGS)


def right(builder: StreamsBuilder) -> Any:
    return builder.stream("right", STRINGS)


def tables(builder: StreamsBuilder) -> tuple[Any, Any]:
    return builder.table("left", STRINGS), builder.table("right", STRINGS)


def shown(stream: Any) -> None:
    """Write a stream as text, whatever it holds."""
    stream.map(lambda key, value: (str(key), None if value is None else str(value))).to("out")


def joined(one: Any, other: Any) -> str:
    return f"{one}+{other}"


def counted(caching: bool) -> Callable[[StreamsBuilder], None]:
    def build(builder: StreamsBuilder) -> None:
        kept = Materialized(f"counts-{caching}", value=Serdes.long, caching=caching)
        shown(left(builder).group_by_key().count(materialized=kept).to_stream())

    return build


def windowed(windows: Any, caching: bool = True, on_close: bool = False) -> Callable[[StreamsBuilder], None]:
    def build(builder: StreamsBuilder) -> None:
        grouped = left(builder).group_by_key().windowed_by(windows)
        if on_close:
            grouped = grouped.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
        shown(grouped.count(materialized=Materialized("counts", value=Serdes.long, caching=caching)).to_stream())

    return build


def mutable_aggregate(builder: StreamsBuilder) -> None:
    """An aggregate that is changed in place, under a key that is no dict key."""

    def add(key: Any, value: str, seen: list[str]) -> list[str]:
        seen.append(value)
        return seen

    grouped = left(builder).group_by(lambda key, value: {"k": key}, Grouped(Serdes.json, Serdes.string))
    shown(grouped.aggregate(list, add, materialized=Materialized("seen", value=Serdes.json)).to_stream())


def suppressed_windows(builder: StreamsBuilder) -> None:
    windows = TimeWindows.of_size(ms(10), grace=ms(5))
    counts = left(builder).group_by_key().windowed_by(windows).count()
    shown(counts.suppress(Suppressed.until_window_closes(BufferConfig.unbounded())).to_stream())


def suppressed_time(builder: StreamsBuilder) -> None:
    table = builder.table("left", STRINGS)
    shown(table.suppress(Suppressed.until_time_limit(ms(8), BufferConfig.max_records(2))).to_stream())


def stream_join(kind: str, windows: JoinWindows) -> Callable[[StreamsBuilder], None]:
    def build(builder: StreamsBuilder) -> None:
        options = StreamJoined(Serdes.string, Serdes.string, Serdes.string)
        shown(getattr(left(builder), kind)(right(builder), joined, windows, options))

    return build


def self_join(builder: StreamsBuilder) -> None:
    stream = left(builder)
    options = StreamJoined(Serdes.string, Serdes.string, Serdes.string)
    shown(stream.join(stream, joined, JoinWindows.of_time_difference(ms(5), grace=ms(3)), options))


def table_join(kind: str, kept: Materialized | None) -> Callable[[StreamsBuilder], None]:
    def build(builder: StreamsBuilder) -> None:
        one, other = tables(builder)
        shown(getattr(one, kind)(other, joined, materialized=kept).to_stream())

    return build


def foreign_key_join(kind: str) -> Callable[[StreamsBuilder], None]:
    def build(builder: StreamsBuilder) -> None:
        one, other = tables(builder)
        shown(getattr(one, kind)(other, joined, foreign_key=lambda value: value[0]).to_stream())

    return build


def grace_join(builder: StreamsBuilder) -> None:
    kept = Materialized(store=Stores.persistent_versioned_key_value("history", ms(1000)))
    table = builder.table("right", STRINGS, kept)
    options = Joined(Serdes.string, Serdes.string, Serdes.string, grace=ms(6))
    shown(left(builder).left_join(table, joined, options))


def grouped_table(builder: StreamsBuilder) -> None:
    table, _ = tables(builder)
    grouped = table.group_by(lambda key, value: (value[0], value), Grouped(Serdes.string, Serdes.string))
    kept = Materialized("sums", value=Serdes.long)
    shown(
        grouped.aggregate(
            lambda: 0,
            lambda key, value, total: total + len(value),
            lambda key, value, total: total - len(value),
            materialized=kept,
        ).to_stream()
    )


class Punctuating(Processor[str, str, str, str]):
    """Counts in a store and tells it at punctuations, one of which it ends after a while."""

    def init(self, context: Any) -> None:
        super().init(context)
        self._store = context.state_store("counts")
        context.schedule(ms(7), PunctuationType.STREAM_TIME, lambda now: self._tell("s", now))
        context.schedule(ms(5), PunctuationType.STREAM_TIME, lambda now: self._tell("t", now))
        self._short = context.schedule(ms(2), PunctuationType.WALL_CLOCK_TIME, self._end)
        context.schedule(ms(3), PunctuationType.WALL_CLOCK_TIME, lambda now: self._tell("w", now))

    def process(self, record: Record[str, str]) -> None:
        if record.key is not None:
            self._store.put(record.key, (self._store.get(record.key) or 0) + 1)

    def _end(self, now: int) -> None:
        self._tell("e", now)
        if (self._store.get("a") or 0) > 2:
            self._short.cancel()

    def _tell(self, tag: str, now: int) -> None:
        for key, count in list(self._store.all()):
            self.context.forward(Record(key, f"{tag}{count}@{now}", now))


def punctuating(builder: StreamsBuilder) -> None:
    supplier = Stores.in_memory_key_value("counts")
    builder.add_state_store(Stores.key_value_store(supplier, Serdes.string, Serdes.long).with_caching())
    shown(left(builder).process(Punctuating, "counts"))


class Remember(Processor[str, Any, str, str]):
    """Writes into a store that a node further up uses too."""

    def init(self, context: Any) -> None:
        super().init(context)
        self._store = context.state_store("memory")

    def process(self, record: Record[str, Any]) -> None:
        if record.key is not None:
            self.context.forward(record.with_value(f"{self._store.get(record.key)}>{record.value}"))
            self._store.put(record.key, str(record.value))


def shared_store(builder: StreamsBuilder) -> None:
    """The flush of the aggregate's cache writes into the first store's cache, which was flushed before it."""
    supplier = Stores.in_memory_key_value("memory")
    builder.add_state_store(Stores.key_value_store(supplier, Serdes.string, Serdes.string).with_caching())
    counts = left(builder).process(Remember, "memory").group_by_key(Grouped(Serdes.string, Serdes.string)).count()
    shown(counts.to_stream().process(Remember, "memory"))


TEN = TimeWindows.of_size(ms(10), grace=ms(4))
NEAR = JoinWindows.of_time_difference(ms(5), grace=ms(3))

APPLICATIONS = (
    Application("count", counted(True)),
    Application("count uncached", counted(False)),
    Application("mutable aggregate", mutable_aggregate),
    Application("windowed count", windowed(TEN)),
    Application("windowed count uncached", windowed(TEN, caching=False)),
    Application("hopping count", windowed(TEN.advance_by(ms(4)))),
    Application("windowed count on close", windowed(TEN, on_close=True)),
    Application("windowed count on close uncached", windowed(TEN, caching=False, on_close=True)),
    Application("sliding count", windowed(SlidingWindows.of_time_difference(ms(6), grace=ms(4)))),
    Application("sliding count on close", windowed(SlidingWindows.of_time_difference(ms(6)), on_close=True)),
    Application("sessions", windowed(SessionWindows.of_inactivity_gap(ms(3), grace=ms(4)))),
    Application("sessions uncached", windowed(SessionWindows.of_inactivity_gap(ms(3)), caching=False)),
    Application("sessions on close", windowed(SessionWindows.of_inactivity_gap(ms(3)), on_close=True)),
    Application("suppress until window closes", suppressed_windows),
    Application("suppress until time limit", suppressed_time),
    Application("stream-stream join", stream_join("join", NEAR)),
    Application("stream-stream left join", stream_join("left_join", NEAR)),
    Application("stream-stream outer join", stream_join("outer_join", NEAR)),
    Application("old stream-stream outer join", stream_join("outer_join", JoinWindows.of(ms(5)))),
    Application("self join", self_join, "all"),
    Application("table-table join", table_join("join", None)),
    Application("table-table outer join", table_join("outer_join", Materialized("joined"))),
    Application("foreign-key join", foreign_key_join("join")),
    Application("foreign-key left join", foreign_key_join("left_join")),
    Application("stream-table join with grace", grace_join),
    Application("grouped table", grouped_table),
    Application("punctuating processor", punctuating),
    Application("store written by a flush", shared_store),
)


@pytest.fixture(scope="session", params=APPLICATIONS, ids=[application.name for application in APPLICATIONS])
def application(request: pytest.FixtureRequest) -> Application:
    found: Application = request.param
    return found


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Late records are many here, and no news."""
    caplog.set_level(logging.ERROR, "millstream.task")
