"""Stores of the user's own, stores of tables, and which of them can be queried."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from millstream import (
    BufferConfig,
    Consumed,
    FixedKeyProcessor,
    FixedKeyRecord,
    GlobalKTable,
    Grouped,
    KStream,
    KTable,
    Materialized,
    Processor,
    Produced,
    Record,
    Serdes,
    StoreBuilder,
    Stores,
    StreamsBuilder,
    StreamsConfig,
    Suppressed,
    TimeWindows,
    ValueTransformer,
)
from millstream.testing import TopologyTestDriver

STRINGS = (Serdes.string, Serdes.string)
TEXT = Consumed(*STRINGS)
OUT = Produced(*STRINGS)
DAY = timedelta(days=1)


def seen_store(name: str = "seen") -> StoreBuilder:
    return Stores.key_value_store(Stores.in_memory_key_value(name), Serdes.string, Serdes.long)


def count(store: Any, key: str) -> int:
    number: int = (store.get(key) or 0) + 1
    store.put(key, number)
    return number


class Numbered(Processor[str, str, str, str]):
    """Counts records by key in store "seen"."""

    def process(self, record: Record[str, str]) -> None:
        number = count(self.context.state_store("seen"), record.key)
        self.context.forward(record.with_value(f"{number}{record.value}"))


class NumberedValues(FixedKeyProcessor[str, str, str]):
    def process(self, record: FixedKeyRecord[str, str]) -> None:
        number = count(self.context.state_store("seen"), record.key)
        self.context.forward(record.with_value(f"{number}{record.value}"))


class NumberedRows(ValueTransformer[str, str, str]):
    def transform(self, key: str, value: str | None) -> str:
        return f"{count(self.context.state_store('seen'), key)}{value}"


class Supplier:
    """A supplier object that brings its store along."""

    def __init__(self, make: type) -> None:
        self._make = make
        self._stores = [seen_store()]

    def __call__(self) -> Any:
        return self._make()

    def stores(self) -> list[StoreBuilder]:
        return self._stores


RECORDS = [("in", "k", "a"), ("in", "k", "b")]
EXPECTED = [("k", "1a"), ("k", "2b")]


def test_processors_are_connected_by_name(builder: StreamsBuilder, texts: KStream[str, str], run: Any) -> None:
    builder.add_state_store(seen_store())
    texts.process(Numbered, "seen").to("out", OUT)

    assert run(RECORDS) == EXPECTED


def test_value_processors_are_connected_by_name(builder: StreamsBuilder, texts: KStream[str, str], run: Any) -> None:
    builder.add_state_store(seen_store())
    texts.process_values(NumberedValues, "seen").to("out", OUT)

    assert run(RECORDS) == EXPECTED


def test_two_processors_share_a_store(builder: StreamsBuilder, texts: KStream[str, str], run: Any) -> None:
    builder.add_state_store(seen_store())
    texts.process(Numbered, "seen").to("out", OUT)
    builder.stream("other", TEXT).process_values(NumberedValues, "seen").to("out", OUT)

    assert run([("in", "k", "a"), ("other", "k", "b")]) == EXPECTED


def test_a_supplier_brings_its_stores(texts: KStream[str, str], run: Any) -> None:
    texts.process(Supplier(Numbered)).to("out", OUT)

    assert run(RECORDS) == EXPECTED


def test_a_supplier_of_value_processors_brings_its_stores(texts: KStream[str, str], run: Any) -> None:
    texts.process_values(Supplier(NumberedValues)).to("out", OUT)

    assert run(RECORDS) == EXPECTED


@pytest.mark.parametrize("brings", [False, True])
def test_transform_values_uses_stores(builder: StreamsBuilder, run: Any, brings: bool) -> None:
    table = builder.table("in", TEXT)
    if brings:
        rows: KTable[str, str] = table.transform_values(Supplier(NumberedRows))
    else:
        builder.add_state_store(seen_store())
        rows = table.transform_values(NumberedRows, "seen")
    rows.to_stream().to("out", OUT)

    assert run([*RECORDS, ("in", "k", None)]) == [*EXPECTED, ("k", "3None")]


def test_a_global_store_is_filled_by_its_own_processor(builder: StreamsBuilder, texts: KStream[str, str]) -> None:
    class Fill(Processor[str, str, None, None]):
        """Keeps lengths under upper-case keys."""

        def process(self, record: Record[str, str]) -> None:
            self.context.state_store("lengths").put(record.key.upper(), len(record.value))

    class Look(FixedKeyProcessor[str, str, str]):
        def process(self, record: FixedKeyRecord[str, str]) -> None:
            found = self.context.state_store("lengths").get(record.value)
            self.context.forward(record.with_value(str(found)))

    builder.add_global_store(seen_store("lengths").without_logging(), "words", TEXT, Fill)
    texts.process_values(Look).to("out", OUT)
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("words", *STRINGS).pipe("a", "mill")
        driver.input_topic("in", *STRINGS).pipe_values(["A", "a"])

        assert driver.output_topic("out", *STRINGS).read_values() == ["4", "None"]
        assert list(driver.key_value_store("lengths").all()) == [("A", 4)]


def test_a_table_can_be_queried_if_its_store_was_named(builder: StreamsBuilder) -> None:
    named, unnamed = Materialized("name"), Materialized(key=Serdes.string)
    supplied = Materialized(store=Stores.in_memory_key_value("supplied"))

    assert builder.table("a", TEXT, named).queryable_store_name == "name"
    assert builder.table("b", TEXT, supplied).queryable_store_name == "supplied"
    assert builder.table("c", TEXT, unnamed).queryable_store_name is None
    assert builder.table("d", TEXT).queryable_store_name is None


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda s, t, m: s.to_table(m), id="to_table"),
        pytest.param(lambda s, t, m: s.group_by_key().count(m), id="count"),
        pytest.param(lambda s, t, m: s.group_by_key().reduce(max, m), id="reduce"),
        pytest.param(lambda s, t, m: s.group_by_key().windowed_by(TimeWindows.of_size(DAY)).count(m), id="windowed"),
        pytest.param(lambda s, t, m: s.group_by_key().cogroup(lambda k, v, a: a).aggregate(list, m), id="cogroup"),
        pytest.param(lambda s, t, m: t.filter(lambda k, v: True, m), id="filter"),
        pytest.param(lambda s, t, m: t.map_values(len, m), id="map_values"),
        pytest.param(lambda s, t, m: t.transform_values(NumberedRows, materialized=m), id="transform_values"),
        pytest.param(lambda s, t, m: t.join(t, max, m, foreign_key=str), id="foreign key join"),
        pytest.param(lambda s, t, m: t.group_by(lambda k, v: (k, v), Grouped(*STRINGS)).count(m), id="grouped table"),
    ],
)
def test_what_is_made_can_be_queried_by_the_name_it_was_given(builder: StreamsBuilder, make: Any) -> None:
    stream, table = builder.stream("in", TEXT), builder.table("table", TEXT)

    assert make(stream, table, Materialized("kept")).queryable_store_name == "kept"
    assert make(stream, table, None).queryable_store_name is None


def test_a_join_of_tables_keeps_its_result_for_any_materialized(builder: StreamsBuilder) -> None:
    one, two = builder.table("one", TEXT), builder.table("two", TEXT)

    assert one.join(two, max, Materialized("both")).queryable_store_name == "both"
    assert one.join(two, max).queryable_store_name is None
    name = one.join(two, max, Materialized(value=Serdes.string)).queryable_store_name
    assert name == "KTABLE-MERGE-STATE-STORE-0000000012"


def test_a_suppressed_table_cannot_be_queried(builder: StreamsBuilder) -> None:
    table = builder.table("in", TEXT, Materialized("rows"))
    suppressed = table.suppress(Suppressed.until_time_limit(DAY, BufferConfig.unbounded()))

    assert (table.queryable_store_name, suppressed.queryable_store_name) == ("rows", None)


def test_a_global_table_can_be_queried_if_named(builder: StreamsBuilder) -> None:
    named: GlobalKTable[str, str] = builder.global_table("a", TEXT, Materialized("rows"))

    assert named.queryable_store_name == "rows"
    assert builder.global_table("b", TEXT).queryable_store_name is None


@pytest.mark.parametrize("configured", ["rocksdb", "in_memory"])
@pytest.mark.parametrize("chosen", [None, "rocksdb", "in_memory"])
def test_stores_are_kept_as_configured_or_chosen(configured: Any, chosen: Any) -> None:
    builder = StreamsBuilder(StreamsConfig(dsl_store=configured))
    grouped = builder.stream("in", TEXT).group_by_key()
    grouped.count(Materialized("counts", dsl_store=chosen))
    grouped.windowed_by(TimeWindows.of_size(DAY)).count(Materialized("by-day", dsl_store=chosen))
    stores = builder.build().stores

    expected = (chosen or configured) == "rocksdb"
    assert [stores[name].supplier.persistent for name in ("counts", "by-day")] == [expected, expected]  # type: ignore[attr-defined]


def test_a_foreign_key_join_needs_no_kept_tables(builder: StreamsBuilder, run: Any) -> None:
    left = builder.table("left", TEXT).filter(lambda key, value: value != "x")
    right = builder.table("right", TEXT).map_values(str.upper, Materialized(value=Serdes.string))
    joined = left.join(right, lambda one, two: one + two, Materialized(value=Serdes.string), foreign_key=str)
    joined.to_stream().to("out")

    records = [("left", "1", "a"), ("right", "a", "r"), ("right", "a", "s"), ("left", "1", "x")]
    assert run(records) == [("1", "aR"), ("1", "aS"), ("1", None)]


@pytest.mark.parametrize(
    ("buffer", "logging", "log_config"),
    [
        (BufferConfig.unbounded(), True, {}),
        (BufferConfig.unbounded().with_logging_disabled(), False, {}),
        (BufferConfig.unbounded().with_logging_enabled({"segment.ms": "1"}), True, {"segment.ms": "1"}),
    ],
)
def test_the_changelog_of_a_suppress_buffer_is_as_told(
    builder: StreamsBuilder, buffer: BufferConfig, logging: bool, log_config: dict[str, str]
) -> None:
    table = builder.table("in", Consumed(Serdes.string, Serdes.string))
    table.suppress(Suppressed.until_time_limit(timedelta(seconds=1), buffer, name="held"))
    store: Any = builder.build().stores["held-store"]
    assert (store.logging, store.log_config) == (logging, log_config)
