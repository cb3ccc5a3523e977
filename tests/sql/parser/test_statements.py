"""Every statement there is."""

from __future__ import annotations

from decimal import Decimal

import pytest

from millstream.sql.errors import ParseError
from millstream.sql.parser import parse, parse_one
from millstream.sql.schema.types import BIGINT, BYTES, DOUBLE, INTEGER, STRING, Field, SqlArray, SqlStruct
from millstream.sql.tree.expressions import (
    BooleanLiteral,
    ColumnReference,
    DecimalLiteral,
    IntegerLiteral,
    NullLiteral,
    StringLiteral,
    TimeUnit,
)
from millstream.sql.tree.queries import AllColumns, Duration, Query, Table
from millstream.sql.tree.statements import (
    AlterSource,
    AlterSystem,
    AssertSchema,
    AssertSource,
    AssertTombstone,
    AssertTopic,
    AssertValues,
    Constraint,
    CreateAsSelect,
    CreateConnector,
    CreateSource,
    CreateType,
    Define,
    Describe,
    DescribeConnector,
    DescribeFunction,
    DescribeSources,
    DropConnector,
    DropSource,
    DropType,
    Element,
    Explain,
    InsertInto,
    InsertValues,
    Listing,
    Pause,
    PrintTopic,
    Resume,
    RunScript,
    SelectQuery,
    SetProperty,
    Show,
    SourceKind,
    Statement,
    Terminate,
    Undefine,
    UnsetProperty,
)

STREAM, TABLE = SourceKind.STREAM, SourceKind.TABLE
ALL_OF_S = Query((AllColumns(),), Table("S", "S"))
HEADERS = SqlArray(SqlStruct((Field("KEY", STRING), Field("VALUE", BYTES))))
THREE_SECONDS = Duration(3, TimeUnit.SECONDS)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("CREATE STREAM s;", CreateSource(STREAM, "S", None, {})),
        (
            "create stream s (id INT KEY, name STRING) with (kafka_topic='t', Partitions=3);",
            CreateSource(
                STREAM,
                "S",
                (Element("ID", INTEGER, Constraint.KEY), Element("NAME", STRING)),
                {"KAFKA_TOPIC": StringLiteral("t"), "PARTITIONS": IntegerLiteral(3)},
            ),
        ),
        (
            "CREATE OR REPLACE SOURCE TABLE IF NOT EXISTS `t` (id BIGINT PRIMARY KEY, h BYTES HEADER(' k '));",
            CreateSource(
                TABLE,
                "t",
                (Element("ID", BIGINT, Constraint.PRIMARY_KEY), Element("H", BYTES, Constraint.HEADER, "k")),
                {},
                or_replace=True,
                if_not_exists=True,
                read_only=True,
            ),
        ),
        (
            "CREATE STREAM s (h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS, "
            "g ARRAY<STRUCT<key STRING, value BYTES>> HEADER(''));",
            CreateSource(
                STREAM,
                "S",
                (Element("H", HEADERS, Constraint.HEADERS), Element("G", HEADERS, Constraint.HEADERS)),
                {},
            ),
        ),
        (
            "CREATE STREAM s WITH ('a'=true, b=NULL, \"c\"=-1.5);",
            CreateSource(
                STREAM,
                "S",
                None,
                {"A": BooleanLiteral(True), "B": NullLiteral(), "C": DecimalLiteral(Decimal("-1.5"))},
            ),
        ),
        ("CREATE TABLE t AS SELECT * FROM s;", CreateAsSelect(TABLE, "T", ALL_OF_S, {})),
        (
            "CREATE OR REPLACE STREAM IF NOT EXISTS t WITH (replicas=1) AS SELECT * FROM s;",
            CreateAsSelect(STREAM, "T", ALL_OF_S, {"REPLICAS": IntegerLiteral(1)}, or_replace=True, if_not_exists=True),
        ),
        ("INSERT INTO t SELECT * FROM s;", InsertInto("T", ALL_OF_S, {})),
        (
            "INSERT INTO t WITH (query_id='Q') SELECT * FROM s;",
            InsertInto("T", ALL_OF_S, {"QUERY_ID": StringLiteral("Q")}),
        ),
        ("INSERT INTO t VALUES (1, a);", InsertValues("T", (), (IntegerLiteral(1), ColumnReference("A")))),
        (
            "INSERT INTO t (a, `b`) VALUES (1, 2);",
            InsertValues("T", ("A", "b"), (IntegerLiteral(1), IntegerLiteral(2))),
        ),
        ("SELECT * FROM s;", SelectQuery(ALL_OF_S)),
        ("DROP STREAM s;", DropSource(STREAM, "S")),
        ("DROP TABLE IF EXISTS s DELETE TOPIC;", DropSource(TABLE, "S", True, True)),
        (
            "ALTER TABLE t ADD COLUMN a INT, ADD b STRING, ADD column DOUBLE, ADD COLUMN column BIGINT;",
            AlterSource(
                TABLE,
                "T",
                (Element("A", INTEGER), Element("B", STRING), Element("COLUMN", DOUBLE), Element("COLUMN", BIGINT)),
            ),
        ),
        ("CREATE TYPE x AS INT;", CreateType("X", INTEGER)),
        ("CREATE TYPE IF NOT EXISTS x AS ARRAY<INT>;", CreateType("X", SqlArray(INTEGER), True)),
        ("DROP TYPE x;", DropType("X")),
        ("DROP TYPE IF EXISTS x;", DropType("X", True)),
        (
            "CREATE SOURCE CONNECTOR c WITH ('a.b'='x', c=1);",
            CreateConnector("SOURCE", "C", {"a.b": StringLiteral("x"), "C": IntegerLiteral(1)}),
        ),
        (
            "CREATE SINK CONNECTOR IF NOT EXISTS c WITH (a='b');",
            CreateConnector("SINK", "C", {"A": StringLiteral("b")}, True),
        ),
        ("DROP CONNECTOR c;", DropConnector("C")),
        ("DROP CONNECTOR IF EXISTS c;", DropConnector("C", True)),
        ("SHOW PROPERTIES;", Show(Listing.PROPERTIES)),
        ("LIST TOPICS;", Show(Listing.TOPICS)),
        ("SHOW ALL TOPICS EXTENDED;", Show(Listing.TOPICS, extended=True, all=True)),
        ("SHOW STREAMS;", Show(Listing.STREAMS)),
        ("LIST TABLES EXTENDED;", Show(Listing.TABLES, extended=True)),
        ("SHOW FUNCTIONS;", Show(Listing.FUNCTIONS)),
        ("SHOW QUERIES EXTENDED;", Show(Listing.QUERIES, extended=True)),
        ("SHOW TYPES;", Show(Listing.TYPES)),
        ("SHOW VARIABLES;", Show(Listing.VARIABLES)),
        ("SHOW CONNECTORS;", Show(Listing.CONNECTORS)),
        ("SHOW SOURCE CONNECTORS;", Show(Listing.SOURCE_CONNECTORS)),
        ("SHOW SINK CONNECTORS;", Show(Listing.SINK_CONNECTORS)),
        ("SHOW CONNECTOR PLUGINS;", Show(Listing.CONNECTOR_PLUGINS)),
        ("DESCRIBE s;", Describe("S")),
        ("DESCRIBE s EXTENDED;", Describe("S", True)),
        ("DESCRIBE STREAMS;", DescribeSources(STREAM)),
        ("DESCRIBE TABLES EXTENDED;", DescribeSources(TABLE, True)),
        ("DESCRIBE `TABLES`;", Describe("TABLES")),
        ("DESCRIBE function;", Describe("FUNCTION")),
        ("DESCRIBE FUNCTION Abs;", DescribeFunction("Abs")),
        ("DESCRIBE CONNECTOR c;", DescribeConnector("C")),
        ("EXPLAIN q_1;", Explain(query_id="Q_1")),
        ("EXPLAIN SELECT * FROM s;", Explain(statement=SelectQuery(ALL_OF_S))),
        ("EXPLAIN SHOW;", Explain(query_id="SHOW")),
        ("EXPLAIN SHOW TYPES;", Explain(statement=Show(Listing.TYPES))),
        ("PRINT Rides;", PrintTopic("Rides")),
        ("PRINT 'a-topic' FROM BEGINNING INTERVAL 2 LIMIT 3;", PrintTopic("a-topic", True, 2, 3)),
        ("PRINT `t` SAMPLE 5;", PrintTopic("t", interval=5)),
        ("TERMINATE q;", Terminate("Q")),
        ("TERMINATE ALL;", Terminate(None)),
        ("PAUSE `q`;", Pause("q")),
        ("PAUSE ALL;", Pause(None)),
        ("RESUME q;", Resume("Q")),
        ("SET 'a'='b';", SetProperty("a", "b")),
        ("UNSET 'a';", UnsetProperty("a")),
        ("ALTER SYSTEM 'a'='b';", AlterSystem("a", "b")),
        ("DEFINE x = 'a';", Define("x", "a")),
        ("DEFINE topic = '''a''';", Define("topic", "'a'")),
        ("UNDEFINE Select;", Undefine("Select")),
        ("ASSERT TOPIC t;", AssertTopic("t", {})),
        (
            "ASSERT NOT EXISTS TOPIC 'T' WITH (partitions=1) TIMEOUT 3 SECONDS;",
            AssertTopic("T", {"PARTITIONS": IntegerLiteral(1)}, THREE_SECONDS, exists=False),
        ),
        ("ASSERT SCHEMA SUBJECT s;", AssertSchema("s", None)),
        ("ASSERT SCHEMA ID 5;", AssertSchema(None, 5)),
        (
            "ASSERT NOT EXISTS SCHEMA SUBJECT 's' ID 5 TIMEOUT 3 SECOND;",
            AssertSchema("s", 5, THREE_SECONDS, exists=False),
        ),
    ],
)
def test_statements(text: str, statement: Statement) -> None:
    parsed = parse_one(text)
    assert parsed.statement == statement
    assert parsed.text == text


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("RUN SCRIPT 'a.sql';", RunScript("a.sql")),
        ("ASSERT VALUES s VALUES (1);", AssertValues("S", (), (IntegerLiteral(1),))),
        ("ASSERT VALUES s (a) VALUES (s.a);", AssertValues("S", ("A",), (ColumnReference("A", "S"),))),
        ("ASSERT NULL VALUES s (a) KEY (1);", AssertTombstone("S", ("A",), (IntegerLiteral(1),))),
        (
            "ASSERT TABLE t (a INT PRIMARY KEY) WITH (b='c');",
            AssertSource(
                CreateSource(TABLE, "T", (Element("A", INTEGER, Constraint.PRIMARY_KEY),), {"B": StringLiteral("c")})
            ),
        ),
        ("ASSERT STREAM s;", AssertSource(CreateSource(STREAM, "S", None, {}))),
    ],
)
def test_statements_of_the_test_tool_are_no_others(text: str, statement: Statement) -> None:
    assert parse_one(text, tests=True).statement == statement
    with pytest.raises(ParseError, match="Syntax Error"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE STREAM s (a INT, A STRING);", "Duplicate column names: `A`"),
        (
            "CREATE STREAM s (a INT HEADERS);",
            f"Invalid type for HEADERS column: expected {HEADERS}, got INTEGER",
        ),
        ("CREATE STREAM s (a INT HEADER('k'));", "Invalid type for HEADER('k') column: expected BYTES, got INTEGER"),
        ("CREATE STREAM s (a FOO);", "Cannot resolve unknown type: FOO"),
        ("CREATE STREAM s WITH (a=1, A=2);", "Multiple entries with same key: A=1 and A=2"),
        (
            "CREATE STREAM s AS SELECT * FROM t LIMIT 1;",
            "CREATE STREAM AS SELECT statements don't support LIMIT clause.",
        ),
        ("CREATE TABLE s AS SELECT * FROM t LIMIT 1;", "CREATE TABLE AS SELECT statements don't support LIMIT clause."),
        ("INSERT INTO s (a, b) VALUES (1);", "Expected number columns and values to match: 2, 1"),
        ("INSERT INTO s VALUES ();", "Expected some values for INSERT INTO statement."),
        ("INSERT INTO s VALUES (t.a);", "'T' is not a valid stream/table name or alias."),
        ("PRINT t LIMIT 1.5;", "Value must be integer for command: LIMIT"),
        ("PRINT t INTERVAL 99999999999;", "Value must be integer for command: INTERVAL"),
        ("ASSERT SCHEMA ID 'x';", "ID must be an integer"),
        ("ASSERT TOPIC t TIMEOUT 1.5 SECONDS;", 'For input string: "1.5"'),
    ],
)
def test_statements_that_cannot_be_prepared(text: str, message: str) -> None:
    with pytest.raises(ParseError) as raised:
        parse(text)
    assert raised.value.primary == f"Failed to prepare statement: {message}"
    assert raised.value.statement == text


def test_streams_have_keys_and_tables_have_primary_keys() -> None:
    with pytest.raises(ParseError, match=r"^Line: 1, Col: 17: Column `A` is a 'KEY' column: please use 'PRIMARY"):
        parse("CREATE TABLE s (a INT KEY);")
    with pytest.raises(ParseError, match=r"^Line: 1, Col: 18: Column `A` is a 'PRIMARY KEY' column: please use 'KEY"):
        parse("CREATE STREAM s (a INT PRIMARY KEY);")


def test_names_of_sources_are_names_of_topics() -> None:
    assert parse_one("DROP STREAM `a-B_1`;").statement == DropSource(STREAM, "a-B_1")
    with pytest.raises(ParseError, match=r"^Illegal argument at Line: 1, Col: 13\. Source names may only contain"):
        parse("DROP STREAM `a b`;")
