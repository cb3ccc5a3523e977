"""What `millstream sql` prints."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from millstream.cli.commands.sql import show
from millstream.sql.engine.api import Ksql


@pytest.fixture
def ksql() -> Ksql:
    ksql = Ksql.in_memory()
    ksql.execute("CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic='s', value_format='JSON');")
    ksql.execute("INSERT INTO s (ROWTIME, id, v) VALUES (7, 1, 2);")
    return ksql


def shown(ksql: Ksql, statement: str, *, as_json: bool = False) -> list[str]:
    console = Console(file=io.StringIO(), width=200, soft_wrap=True)
    for entity in ksql.run(statement):
        show(console, entity, as_json=as_json)
    text = console.file.getvalue()  # type: ignore[attr-defined] # it is the StringIO from above
    return [line.rstrip() for line in text.splitlines()]


def test_messages(ksql: Ksql) -> None:
    assert shown(ksql, "CREATE STREAM c AS SELECT * FROM s;") == ["Created query with ID CSAS_C_0"]


def test_lists_are_tables(ksql: Ksql) -> None:
    head, row = shown(ksql, "SHOW STREAMS;")
    assert head.split() == ["type", "name", "topic", "keyFormat", "valueFormat", "isWindowed"]
    assert row.split() == ["STREAM", "S", "s", "KAFKA", "JSON", "False"]


def test_descriptions_are_lines(ksql: Ksql) -> None:
    lines = shown(ksql, "DESCRIBE s;")
    assert "name: S" in lines
    assert "topic: s" in lines


def test_printed_records(ksql: Ksql) -> None:
    assert shown(ksql, "PRINT 's' FROM BEGINNING;") == [
        "Key format: KAFKA_INT",
        "Value format: JSON",
        'rowtime: 1970/01/01 00:00:00.007 Z, key: 1, value: {"V":2}, partition: 0',
    ]


def test_answers_as_json(ksql: Ksql) -> None:
    (line,) = shown(ksql, "SHOW STREAMS;", as_json=True)
    assert json.loads(line)["@type"] == "streams"
