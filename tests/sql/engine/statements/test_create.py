"""CREATE STREAM and CREATE TABLE: what WITH and columns may be, and what is refused with which words."""

from __future__ import annotations

import pytest

from millstream.sql.engine.answers.entities import CurrentStatus, WarningEntity
from millstream.sql.engine.api import Ksql
from millstream.sql.errors import ParseError, StatementError
from millstream.sql.formats import InMemoryRegistry, RegisteredSchema
from millstream.sql.schema.formats import Feature, TimestampColumn, WindowInfo, WindowType
from millstream.sql.tree.statements import SourceKind


@pytest.fixture
def ksql() -> Ksql:
    return Ksql.in_memory()


def test_a_stream_is_registered(ksql: Ksql) -> None:
    (answer,) = ksql.execute(
        "CREATE STREAM visits (page STRING KEY, n INT) WITH (kafka_topic='v', value_format='json');"
    )
    assert isinstance(answer, CurrentStatus)
    assert answer.message == "Stream created"
    assert str(answer.command_id) == "stream/`VISITS`/create"
    source = ksql.catalogue.sources["VISITS"]
    assert source.kind is SourceKind.STREAM
    assert str(source.schema) == "`PAGE` STRING KEY, `N` INTEGER"
    assert (source.formats.key.format.name, source.formats.value.format.name) == ("KAFKA", "JSON")


def test_formats_come_from_settings_when_with_is_silent(ksql: Ksql) -> None:
    ksql.execute("SET 'ksql.persistence.default.format.value' = 'DELIMITED';")
    ksql.execute("CREATE STREAM s (a INT) WITH (kafka_topic='s');")
    assert ksql.catalogue.sources["S"].formats.value.format.name == "DELIMITED"


def test_windows_timestamps_and_wrapping_are_noted(ksql: Ksql) -> None:
    ksql.execute(
        "CREATE STREAM w (k STRING KEY, seen STRING) WITH (kafka_topic='w', format='JSON', window_type='Tumbling',"
        " window_size='5 minutes', timestamp='seen', timestamp_format='yyyy-MM-dd');"
        "CREATE STREAM u (v INT) WITH (kafka_topic='u', value_format='JSON', wrap_single_value=false);"
    )
    windowed, bare = ksql.catalogue.sources["W"], ksql.catalogue.sources["U"]
    assert windowed.window == WindowInfo(WindowType.TUMBLING, 300_000)
    assert windowed.timestamp == TimestampColumn("SEEN", "yyyy-MM-dd")
    assert bare.formats.value.features == {Feature.UNWRAP_SINGLES}


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("value_format='JSON'", 'Missing required property "KAFKA_TOPIC" which has no default value.'),
        ("kafka_topic='', value_format='JSON'", "String must be non-empty"),
        ("kafka_topic=5, value_format='JSON'", "Expected value to be a string, but it was a java.lang.Integer"),
        ("kafka_topic='t', value_format='JSON', partitions='many'", "Not a number of type INT"),
        ("kafka_topic='t', value_format='JSON', partitions=true", "but it was a java.lang.Boolean"),
        ("kafka_topic='t', value_format='JSON', wrap_single_value='no'", "either true or false"),
        ("kafka_topic='t', value_format='JSON', colour='red'", "Invalid config variable(s) in the WITH clause: COLOUR"),
        ("kafka_topic='t', format='JSON', key_format='KAFKA'", "Cannot supply both 'KEY_FORMAT' and 'FORMAT'"),
        ("kafka_topic='t', format='JSON', value_format='JSON'", "Cannot supply both 'VALUE_FORMAT' and 'FORMAT'"),
        (
            "kafka_topic='t', value_format='JSON', window_type='ROUND'",
            "String must be one of: TUMBLING, HOPPING, SESSION",
        ),
        ("kafka_topic='t', value_format='JSON', window_type='HOPPING'", "HOPPING windows require 'WINDOW_SIZE'"),
        (
            "kafka_topic='t', value_format='JSON', window_type='SESSION', window_size='1 DAY'",
            "'WINDOW_SIZE' should not be set for SESSION windows.",
        ),
        ("kafka_topic='t', value_format='JSON', window_type='HOPPING', window_size='1'", "Expected 2 tokens, got: 1"),
        (
            "kafka_topic='t', value_format='JSON', window_type='HOPPING', window_size='1 AGE'",
            "Unknown time unit: 'AGE'",
        ),
        ("kafka_topic='t', value_format='JSON', value_delimiter='<>'", "Invalid delimiter value: '<>'"),
        ("kafka_topic='t', value_format='JSON', timestamp='a', timestamp_format='rubbish'", "Invalid datetime format"),
        (
            "kafka_topic='t', value_format='AVRO', value_avro_schema_full_name='a', value_schema_full_name='b'",
            "Cannot supply both 'VALUE_AVRO_SCHEMA_FULL_NAME' and 'VALUE_SCHEMA_FULL_NAME'",
        ),
    ],
)
def test_a_wrong_with_clause_is_found_while_parsing(ksql: Ksql, clause: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        ksql.execute(f"CREATE STREAM s (k STRING KEY, a INT) WITH ({clause});")
    assert caught.value.primary.startswith("Failed to prepare statement: ")
    assert message in caught.value.primary


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE STREAM s WITH (kafka_topic='s', value_format='JSON');", "No columns supplied."),
        ("CREATE STREAM s (a INT) WITH (kafka_topic='s');", "Statement is missing the 'VALUE_FORMAT' property"),
        ("CREATE STREAM s (a INT) WITH (kafka_topic='s', value_format='YAML');", "Unknown format: YAML"),
        ("CREATE TABLE t (a INT) WITH (kafka_topic='t', value_format='JSON');", "Tables require a PRIMARY KEY."),
        (
            "CREATE STREAM s (rowtime INT) WITH (kafka_topic='s', value_format='JSON');",
            "'ROWTIME' is a reserved column",
        ),
        (
            "CREATE STREAM s (a INT) WITH (kafka_topic='s', value_format='JSON', window_type='SESSION');",
            "Windowed sources require a key column.",
        ),
        (
            "CREATE STREAM s (a INT) WITH (kafka_topic='s', value_format='JSON', timestamp='b');",
            "The TIMESTAMP column set in the WITH clause does not exist in the schema: 'B'",
        ),
        (
            "CREATE STREAM s (a INT) WITH (kafka_topic='s', value_format='JSON', timestamp='a');",
            "Timestamp column, `A`, should be LONG(INT64), TIMESTAMP, or a String with a timestamp_format specified",
        ),
        (
            "CREATE STREAM s (a INT, b INT) WITH (kafka_topic='s', value_format='JSON', wrap_single_value=true);",
            "'WRAP_SINGLE_VALUE' is only valid for single-field value schemas",
        ),
        (
            "CREATE STREAM s (k INT KEY, a INT) WITH (kafka_topic='s', key_format='NONE', value_format='JSON');",
            "The 'NONE' format can only be used when no columns are defined. Got: [`K` INTEGER KEY]",
        ),
        (
            "CREATE STREAM s (k ARRAY<INT> KEY, a INT) WITH (kafka_topic='s', value_format='JSON');",
            "Key format does not support schema.\nformat: KAFKA",
        ),
        (
            "CREATE STREAM s (a INT, h BYTES HEADER('x'), i BYTES HEADER('x')) WITH (kafka_topic='s', format='JSON');",
            "Schema already contains a HEADER('x') column.",
        ),
        (
            "CREATE STREAM s (a INT) WITH (kafka_topic='s', value_format='JSON', value_schema_id=1);",
            "VALUE_FORMAT should support schema inference when VALUE_SCHEMA_ID is provided. Current format is JSON.",
        ),
    ],
)
def test_what_cannot_be_created(ksql: Ksql, statement: str, message: str) -> None:
    with pytest.raises(StatementError) as caught:
        ksql.execute(statement)
    assert message in caught.value.primary
    assert caught.value.statement == statement
    assert not ksql.catalogue.sources


CREATE = "STREAM s (a INT, b INT) WITH (kafka_topic='s', value_format='JSON');"


def test_names_are_taken_once(ksql: Ksql) -> None:
    ksql.execute(f"CREATE {CREATE}")
    with pytest.raises(StatementError, match="Cannot add stream 'S': A stream with the same name already exists"):
        ksql.execute(f"CREATE {CREATE}")
    (answer,) = ksql.execute(f"CREATE {CREATE}".replace("STREAM s", "STREAM IF NOT EXISTS s"))
    assert isinstance(answer, WarningEntity)
    assert "already exists" in answer.message


def test_a_source_can_get_more_columns_but_none_less(ksql: Ksql) -> None:
    ksql.execute(f"CREATE {CREATE}")
    ksql.execute(f"CREATE OR REPLACE {CREATE}".replace("b INT", "b INT, c INT"))
    assert len(ksql.catalogue.sources["S"].schema.value) == 3
    with pytest.raises(StatementError) as caught:
        ksql.execute(f"CREATE OR REPLACE {CREATE}")
    assert "(The following columns are changed, missing or reordered: [`C` INTEGER])" in caught.value.primary
    with pytest.raises(StatementError, match=r"has topic = .* which is not upgradeable to"):
        ksql.execute("CREATE OR REPLACE STREAM s (a INT, b INT, c INT) WITH (kafka_topic='x', value_format='JSON');")


def test_sources_of_the_registry_need_no_columns() -> None:
    registry = InMemoryRegistry()
    schema = '{"type":"record","name":"Visit","fields":[{"name":"page","type":"string"}]}'
    registry.register("visits-value", RegisteredSchema("AVRO", schema))
    ksql = Ksql.in_memory(registry=registry)
    ksql.execute("CREATE STREAM visits (id INT KEY) WITH (kafka_topic='visits', value_format='AVRO');")
    assert str(ksql.catalogue.sources["VISITS"].schema) == "`ID` INTEGER KEY, `PAGE` STRING"


def test_declared_columns_are_registered() -> None:
    registry = InMemoryRegistry()
    ksql = Ksql.in_memory(registry=registry)
    ksql.execute("CREATE STREAM visits (id INT KEY, page STRING) WITH (kafka_topic='visits', value_format='AVRO');")
    found = registry.latest("visits-value")
    assert found is not None
    assert '"PAGE"' in found.text


def test_a_schema_by_its_number_leaves_no_room_for_columns() -> None:
    registry = InMemoryRegistry()
    number = registry.register("v-value", RegisteredSchema("AVRO", '{"type":"record","name":"V","fields":[]}'))
    ksql = Ksql.in_memory(registry=registry)
    with pytest.raises(StatementError, match="Table elements and VALUE_SCHEMA_ID cannot both exist"):
        ksql.execute(f"CREATE STREAM v (a INT) WITH (kafka_topic='v', value_format='AVRO', value_schema_id={number});")


def test_a_source_table_is_kept_by_a_query(ksql: Ksql) -> None:
    ksql.execute("CREATE SOURCE TABLE t (k INT PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON');")
    assert [query.id for query in ksql.queries] == ["CST_T_0"]
    with pytest.raises(StatementError, match="read-only table: T"):
        ksql.execute("INSERT INTO t VALUES (1, 2);")
    with pytest.raises(StatementError, match="Cannot terminate query 'CST_T_0'"):
        ksql.execute("TERMINATE CST_T_0;")
    ksql.execute("DROP TABLE t;")
    assert not ksql.queries
