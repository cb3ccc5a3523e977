"""Rows of clients."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from millstream.errors import MillstreamError
from millstream.ksqldb.api import ServiceError
from millstream.ksqldb.commands.inserting import from_json
from millstream.ksqldb.service import KsqlService
from millstream.sql.parser import parse_type

from .memory import MemoryCommandTopic, MemoryRecords, make_service, send

SOURCES = """
CREATE STREAM s (id INT KEY, v BIGINT, `low` STRING, d DECIMAL(4, 2), a ARRAY<INT>, m STRUCT<x INT, y DATE>)
    WITH (kafka_topic='s', value_format='JSON', partitions=1);
CREATE TABLE w (id INT PRIMARY KEY, v INT)
    WITH (kafka_topic='w', value_format='JSON', window_type='SESSION', partitions=1);
CREATE STREAM p (id INT KEY, v INT) WITH (kafka_topic='_confluent-x', value_format='JSON', partitions=1);
CREATE SOURCE STREAM r (id INT KEY, v INT) WITH (kafka_topic='r', value_format='JSON', partitions=1);
"""


@pytest.fixture
def service() -> Iterator[KsqlService]:
    service = make_service(MemoryCommandTopic()).start()
    send(service, SOURCES)
    yield service
    service.close()


@pytest.fixture
def records(service: KsqlService) -> MemoryRecords:
    assert isinstance(service._records, MemoryRecords)
    return service._records


def test_a_row_is_written_and_acknowledged(service: KsqlService, records: MemoryRecords) -> None:
    inserting = service.insert_into("s", {})
    done: list[MillstreamError | None] = []
    row = {"ID": 1, "v": 2, "`low`": "x", "d": 1.5, "A": [1, None], "m": {"X": 1, "y": "2020-01-02"}, "other": 1}
    inserting.insert(row, done.append)
    assert done == []
    (record,) = records.written
    assert record.key == b"\x00\x00\x00\x01"
    assert json.loads(record.value or b"") == {
        "V": 2,
        "low": "x",
        "D": 1.5,
        "A": [1, None],
        "M": {"X": 1, "Y": 18263},
    }
    records.done[0](None)
    assert done == [None]
    inserting.insert({"id": 2}, done.append)
    assert json.loads(records.written[1].value or b"") == {"V": None, "low": None, "D": None, "A": None, "M": None}
    inserting.close()
    inserting.close()


@pytest.mark.parametrize(
    "row", [{}, {"v": 1}, {"id": "1"}, {"id": 2**31}, {"id": 1, "a": 1}, {"id": 1, "d": 12345}, {"id": 1, "low": {}}]
)
def test_rows_that_do_not_fit(service: KsqlService, records: MemoryRecords, row: dict[str, Any]) -> None:
    if "low" in row:
        row = {"id": 1, "`low`": {}}
    with pytest.raises(ServiceError) as caught:
        service.insert_into("s", {}).insert(row, lambda error: None)
    assert caught.value.code == 40000
    assert records.written == []


@pytest.mark.parametrize("target", ["none", "`s`", "w", "R", "p"])
def test_targets_that_take_no_rows(service: KsqlService, target: str) -> None:
    with pytest.raises(ServiceError) as caught:
        service.insert_into(target, {})
    assert caught.value.code == 40001


def test_properties_are_checked(service: KsqlService) -> None:
    with pytest.raises(ServiceError) as caught:
        service.insert_into("s", {"ksql.unknown": 1})
    assert caught.value.code == 40000
    with pytest.raises(ServiceError, match="disabled"):
        service.insert_into("s", {"ksql.insert.into.values.enabled": False})


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("INT", 1, 1),
        ("DOUBLE", 1, 1.0),
        ("DECIMAL(4, 2)", 1.1, Decimal("1.10")),
        ("DECIMAL(4, 2)", 1, Decimal("1.00")),
        ("BYTES", "eA==", b"x"),
        ("TIMESTAMP", "2020-01-01T00:00:00", 1577836800000),
        ("MAP<STRING, INT>", {"a": 1}, {"a": 1}),
        ("STRUCT<a INT, `b` STRING>", {"A": 1, "`b`": "x"}, (1, "x")),
        ("BOOLEAN", True, True),
        ("STRING", None, None),
    ],
)
def test_values(kind: str, value: Any, expected: Any) -> None:
    assert from_json(value, parse_type(kind)) == expected
