"""Where results go: formats, topics, times and existing streams."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from millstream.sql.errors import SqlError
from millstream.sql.plan.steps import StreamSink, TableSink
from millstream.sql.schema.formats import Encoding, Feature, FormatInfo, Formats, TimestampColumn
from millstream.sql.schema.types import BIGINT, INTEGER, STRING, SqlDecimal
from millstream.sql.tree.statements import SourceKind

_ALL = "CREATE STREAM X AS SELECT * FROM CLICKS;"


def test_formats_come_from_the_first_source(world: Any) -> None:
    world.stream("CSV", {"ID": BIGINT}, {"A": INTEGER}, key_format="JSON", value_format="DELIMITED")
    sink = world.plan("CREATE STREAM X AS SELECT * FROM CSV;").sink
    assert (sink.formats.key.format.name, sink.formats.value.format.name) == ("JSON", "DELIMITED")
    assert sink.formats.key.features == {Feature.UNWRAP_SINGLES}
    assert (sink.kind, sink.name, sink.topic, sink.from_query) == (SourceKind.STREAM, "X", "X", True)


def test_with_says_otherwise(world: Any) -> None:
    sink = world.plan(_ALL, topic="t", key_format="json", value_format="delimited", value_properties={"delimiter": "|"})
    assert sink.sink.topic == "t"
    assert sink.sink.formats == Formats(
        Encoding(FormatInfo("JSON"), frozenset({Feature.UNWRAP_SINGLES})),
        Encoding(FormatInfo("DELIMITED", (("delimiter", "|"),))),
    )


def test_topics_have_the_prefix_of_the_settings(world: Any) -> None:
    world.settings = world.settings.with_override("ksql.output.topic.name.prefix", "p-")
    assert world.step(StreamSink, _ALL).topic == "p-X"


def test_delimiters_are_inherited_by_the_same_format_only(world: Any) -> None:
    world.stream("CSV", {"ID": BIGINT}, {"A": INTEGER, "B": INTEGER}, value_format="DELIMITED")
    csv = world.catalogue.get("CSV")
    encoding = Encoding(FormatInfo("DELIMITED", (("delimiter", "|"),)))
    world.catalogue.sources["CSV"] = replace(csv, formats=replace(csv.formats, value=encoding))
    assert world.plan("CREATE STREAM X AS SELECT * FROM CSV;").sink.formats.value == encoding
    sink = world.plan("CREATE STREAM X AS SELECT * FROM CSV;", value_format="JSON").sink
    assert sink.formats.value.format.properties == ()


@pytest.mark.parametrize(
    ("wrap", "default", "features"),
    [(None, None, set()), (False, None, {Feature.UNWRAP_SINGLES}), (None, "true", {Feature.WRAP_SINGLES})],
)
def test_single_values(world: Any, wrap: bool | None, default: str | None, features: set[Feature]) -> None:
    if default is not None:
        world.settings = world.settings.with_override("ksql.persistence.wrap.single.values", default)
    sink = world.plan("CREATE STREAM X AS SELECT ID, PAGE FROM CLICKS;", wrap_single_value=wrap).sink
    assert sink.formats.value.features == features


def test_keys_in_avro_are_named_after_the_sink(world: Any) -> None:
    sink = world.plan("CREATE STREAM MY_SINK AS SELECT * FROM CLICKS;", key_format="AVRO").sink
    assert sink.formats.key.format.get("fullSchemaName") == "io.confluent.ksql.avro_schemas.MySinkKey"


def test_times_of_records_can_be_a_column(world: Any) -> None:
    timestamp = TimestampColumn("ID")
    planned = world.plan(_ALL, timestamp=timestamp)
    assert planned.plan.step.timestamp == planned.sink.timestamp == timestamp


@pytest.mark.parametrize(
    ("sink", "message"),
    [
        ({"timestamp": TimestampColumn("NOPE")}, "The TIMESTAMP column set in the WITH clause does not exist in the"),
        ({"timestamp": TimestampColumn("PAGE")}, "A String timestamp field has been specified without also specifying"),
        ({"timestamp": TimestampColumn("ID", "yyyy")}, "'TIMESTAMP_FORMAT' set in the WITH clause can only be used"),
        ({"timestamp": TimestampColumn("AMOUNT")}, "Timestamp column, `AMOUNT`, should be LONG(INT64), TIMESTAMP, or"),
        ({"value_format": "FOO"}, "Unknown format: FOO"),
        ({"wrap_single_value": True}, "'WRAP_SINGLE_VALUE' is only valid for single-field value schemas"),
        ({"value_format": "KAFKA"}, "The 'KAFKA' format only supports a single field. Got: [`PAGE` STRING, `AMOUNT`"),
        (
            {"key_format": "NONE"},
            "The 'NONE' format can only be used when no columns are defined. Got: [`ID` BIGINT KEY]",
        ),
    ],
)
def test_what_is_refused(world: Any, sink: dict[str, Any], message: str) -> None:
    with pytest.raises(SqlError) as caught:
        world.plan(_ALL, **sink)
    assert message in caught.value.primary


def test_insert_into_writes_as_its_target_is_written(world: Any) -> None:
    world.stream("TARGET", {"ID": BIGINT}, {"PAGE": STRING, "AMOUNT": INTEGER}, value_format="DELIMITED")
    planned = world.plan("INSERT INTO TARGET SELECT * FROM CLICKS;")
    assert planned.sink is None
    assert planned.plan.sink == "TARGET"
    assert planned.plan.step.topic == "target"
    assert planned.plan.step.formats.value.format.name == "DELIMITED"


def test_literals_become_decimals_of_the_target(world: Any) -> None:
    world.stream("TARGET", {"ID": BIGINT}, {"D": SqlDecimal(5, 2)})
    assert world.columns("INSERT INTO TARGET SELECT ID, 1.5 AS D FROM CLICKS;") == "ID BIGINT KEY, D DECIMAL(3, 2)"
    assert world.columns("INSERT INTO TARGET SELECT ID, 3 AS D FROM CLICKS;") == "ID BIGINT KEY, D DECIMAL(3, 2)"
    with pytest.raises(SqlError, match="Incompatible schema between results and sink"):
        world.plan("INSERT INTO TARGET SELECT ID, 12345.5 AS D FROM CLICKS;")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("INSERT INTO NOPE SELECT * FROM CLICKS;", "Line: 1, Col: 13: Source `NOPE` does not exist."),
        (
            "INSERT INTO CUSTOMERS SELECT * FROM CLICKS;",
            "INSERT INTO can only be used to insert into a stream. CUSTOMERS",
        ),
        ("INSERT INTO HEADED SELECT * FROM CLICKS;", "Cannot insert into HEADED because it has header columns"),
        ("INSERT INTO RO SELECT * FROM CLICKS;", "Cannot insert into read-only stream: RO"),
        (
            "INSERT INTO ORDERS SELECT * FROM CUSTOMERS;",
            "Data sink (ORDERS) type is KSTREAM but select query result is KTABLE.",
        ),
        ("INSERT INTO ORDERS SELECT * FROM CLICKS LIMIT 1;", "INSERT INTO statements don't support LIMIT clause."),
        (
            "INSERT INTO CLICKS SELECT ID, AMOUNT FROM ORDERS;",
            "Result schema is `ID` BIGINT KEY, `AMOUNT` INTEGER\nSink schema is `ID` BIGINT KEY, `PAGE` STRING",
        ),
    ],
)
def test_what_cannot_be_inserted(world: Any, text: str, message: str) -> None:
    world.stream("RO", {"ID": BIGINT}, {"PAGE": STRING, "AMOUNT": INTEGER}, read_only=True)
    with pytest.raises(SqlError) as caught:
        world.plan(text)
    assert message in caught.value.primary


def test_tables_are_written_as_tables(world: Any) -> None:
    sink = world.step(TableSink, "CREATE TABLE X AS SELECT * FROM CUSTOMERS;")
    assert sink.context == ("X",)
