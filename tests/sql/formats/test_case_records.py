"""Records of conformance cases as bytes and back."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from millstream.records import Window, Windowed
from millstream.sql.catalogue import Source
from millstream.sql.conformance.records import decode, encode, java_order, parsed_schema
from millstream.sql.engine.topics import TopicRecord
from millstream.sql.formats import InMemoryRegistry, RegistryFormat, format_of, schema_of
from millstream.sql.schema.columns import Schema
from millstream.sql.schema.formats import Encoding, FormatInfo, Formats, WindowInfo, WindowType
from millstream.sql.tree.statements import SourceKind


def _source(columns: Any, value_format: str, schema: str, window: WindowInfo | None = None) -> Source:
    formats = Formats(Encoding(FormatInfo("KAFKA")), Encoding(FormatInfo(value_format)))
    return Source(SourceKind.STREAM, "S", Schema(tuple(columns(schema))), "t", formats, window)


@pytest.mark.parametrize("name", ["JSON", "AVRO", "JSON_SR", "PROTOBUF", "PROTOBUF_NOSR"])
def test_values_of_all_formats(columns: Any, registry: InMemoryRegistry, name: str) -> None:
    source = _source(columns, name, "K BIGINT KEY, A INT, N DECIMAL(4, 2), S STRUCT<X DOUBLE>, B BYTES")
    value = source.formats.value
    if isinstance(format_of(name), RegistryFormat):
        registry.register("t-value", schema_of(value, source.schema.value, is_key=False))
    given = {"a": 1, "N": Decimal("1.50"), "s": {"x": Decimal("0.5")}, "B": "AAE="}
    key, data = encode({"key": 7, "value": given}, source, registry)
    record = TopicRecord("t", key, data, 0)
    expected = {"A": 1, "N": Decimal("1.50"), "S": {"X": 0.5}, "B": b"\0\1"}
    if name == "JSON":  # which is written as it is given
        expected = {"a": 1, "N": Decimal("1.50"), "s": {"x": Decimal("0.5")}, "B": b"\0\1"}
    assert decode(record, source, registry) == (7, expected)
    assert decode(TopicRecord("t", None, None, 0), source, registry) == (None, None)


def test_delimited_values_are_text(columns: Any, registry: InMemoryRegistry) -> None:
    source = _source(columns, "DELIMITED", "K BIGINT KEY, A INT, B STRING")
    assert encode({"key": None, "value": "1,x"}, source, registry) == (None, b"1,x")
    assert decode(TopicRecord("t", None, b"1,x", 0), source, registry) == (None, "1,x")


@pytest.mark.parametrize(("kind", "size", "end"), [(WindowType.TUMBLING, 5, 15), (WindowType.SESSION, None, 12)])
def test_windowed_keys(columns: Any, registry: InMemoryRegistry, kind: WindowType, size: int | None, end: int) -> None:
    source = _source(columns, "JSON", "K BIGINT KEY, A INT", WindowInfo(kind, size))
    name = "session" if kind is WindowType.SESSION else "time"
    key, data = encode({"key": 7, "value": {}, "window": {"start": 10, "end": end, "type": name}}, source, registry)
    assert decode(TopicRecord("t", key, data, 0), source, registry) == (Windowed(7, Window(10, end)), {})


def test_schemas_of_topics(registry: InMemoryRegistry) -> None:
    assert parsed_schema({"name": "t"}, "key", registry) is None
    avro = parsed_schema({"name": "t", "valueSchema": {"type": "int"}}, "value", registry)
    assert avro is not None
    assert (avro.kind, json.loads(avro.text)) == ("AVRO", {"type": "int"})


def test_topics_come_in_the_order_of_javas_hashes() -> None:
    assert java_order(["OUTPUT", "input"]) == ["input", "OUTPUT"]
