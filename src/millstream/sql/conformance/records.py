"""Records of cases as bytes, and bytes as what cases expect, the way ksqlDB's own tests do it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from millstream.records import Window, Windowed
from millstream.sql.catalogue import Source
from millstream.sql.conformance.case import Json
from millstream.sql.engine.answers.rows import plain
from millstream.sql.engine.topics import TopicRecord
from millstream.sql.formats import (
    InMemoryRegistry,
    RegisteredSchema,
    RegistryFormat,
    SchemaReference,
    SchemaRegistry,
    format_of,
    infer_columns,
    serde,
    subject,
)
from millstream.sql.formats.connect.schema import Kind, record_type
from millstream.sql.formats.json.exact import parse, to_json
from millstream.sql.formats.numbers import fit_decimal
from millstream.sql.formats.wire import fetch, schema_id_of
from millstream.sql.schema.columns import Column
from millstream.sql.schema.formats import Encoding, Feature, FormatInfo, WindowType
from millstream.sql.schema.types import BaseType, SqlArray, SqlDecimal, SqlMap, SqlStruct, SqlType

_KINDS = {"AVRO": "AVRO", "PROTOBUF": "PROTOBUF", "JSON": "JSON", "JSON_SR": "JSON"}


def parsed_schema(topic: Json, part: str, registry: InMemoryRegistry) -> RegisteredSchema | None:
    """The schema that a case gives for the keys or values of a topic; what it refers to is registered."""
    text = topic.get(f"{part}Schema")
    if text is None:
        return None
    references = []
    for given in topic.get(f"{part}SchemaReferences") or ():
        registry.add_version(given["name"], _schema(given["schema"], given.get("format")))
        references.append(SchemaReference(given["name"], given["name"], 1))
    return replace(_schema(text, topic.get(f"{part}Format")), references=tuple(references))


def _schema(text: Json, format_name: str | None) -> RegisteredSchema:
    kind = _KINDS[(format_name or "AVRO").upper()]
    return RegisteredSchema(kind, text if kind == "PROTOBUF" else json.dumps(text, default=str))


def java_order(names: Sequence[str]) -> list[str]:
    """Names in the order of a Java HashMap's keys, in which the original tests register schemas."""
    buckets = 16
    while len(names) > buckets * 3 // 4:
        buckets *= 2
    return sorted(names, key=lambda name: _spread_hash(name) % buckets)


def _spread_hash(text: str) -> int:
    found = 0
    for letter in text:
        found = (31 * found + ord(letter)) & 0xFFFFFFFF
    return found ^ (found >> 16)


def encode(given: Json, source: Source, registry: SchemaRegistry) -> tuple[bytes | None, bytes | None]:
    """Key and value of an input."""
    key = encode_value(
        given.get("key"), source.formats.key, source.schema.key, registry=registry, topic=source.topic, is_key=True
    )
    value = encode_value(
        given.get("value"),
        source.formats.value,
        source.schema.value,
        registry=registry,
        topic=source.topic,
        is_key=False,
    )
    window = given.get("window")
    if window is not None and key is not None:
        start, end = (int(window[name]).to_bytes(8, "big", signed=True) for name in ("start", "end"))
        key += end + start if window["type"].lower() == "session" else start
    return key, value


def decode(record: TopicRecord, source: Source, registry: SchemaRegistry) -> tuple[Any, Any]:
    """Key and value of an output: records as dicts, DELIMITED as text, windowed keys as `Windowed`."""
    key, window = record.key, None
    if key is not None and source.window is not None:
        key, window = _take_window(key, source)
    decoded = decode_value(
        key, source.formats.key, source.schema.key, registry=registry, topic=source.topic, is_key=True
    )
    value = decode_value(
        record.value, source.formats.value, source.schema.value, registry=registry, topic=source.topic, is_key=False
    )
    return decoded if window is None else Windowed(decoded, window), value


def _take_window(key: bytes, source: Source) -> tuple[bytes, Window]:
    start = int.from_bytes(key[-8:], "big", signed=True)
    if source.window is not None and source.window.type is WindowType.SESSION:
        return key[:-16], Window(start, int.from_bytes(key[-16:-8], "big", signed=True))
    size = source.window.size_ms if source.window is not None else None
    return key[:-8], Window(start, start + (size or 0))


def encode_value(
    given: Json, encoding: Encoding, columns: Sequence[Column], *, registry: SchemaRegistry, topic: str, is_key: bool
) -> bytes | None:
    """What a case gives as the key or value of a record, as bytes."""
    if given is None or (is_key and not columns):
        return None
    name = encoding.format.name
    if name == "JSON":
        return to_json(given).encode()
    if name == "DELIMITED":
        return _text(given).encode()
    format = format_of(name)
    if isinstance(format, RegistryFormat):
        latest = registry.latest(subject(topic, is_key=is_key))
        if latest is None or latest.id is None:
            raise LookupError(f"there is no schema for {subject(topic, is_key=is_key)}")
        encoding, columns = _as_written(encoding, registry, latest.id, is_key=is_key)
        properties = dict(encoding.format.properties) | {"schemaId": str(latest.id)}
        encoding = replace(encoding, format=FormatInfo(name, tuple(sorted(properties.items()))))
    writer = serde(encoding, columns, is_key=is_key, registry=registry, topic=topic)
    if name == "KAFKA" or Feature.UNWRAP_SINGLES in encoding.features:
        return writer.serialize((from_case(columns[0].type, given),))
    return writer.serialize(from_case(record_type(columns), given))


def decode_value(
    data: bytes | None,
    encoding: Encoding,
    columns: Sequence[Column],
    *,
    registry: SchemaRegistry,
    topic: str,
    is_key: bool,
) -> Any:
    """The key or value of a record, as a case would give it: names as they were written."""
    if data is None or not columns:
        return None
    name = encoding.format.name
    if name == "DELIMITED":
        return data.decode()
    unwrapped = Feature.UNWRAP_SINGLES in encoding.features
    if name == "JSON":
        return _with_doubles(columns[0].type if unwrapped else record_type(columns), parse(data))
    if isinstance(format_of(name), RegistryFormat):
        encoding, columns = _as_written(encoding, registry, schema_id_of(data), is_key=is_key)
        unwrapped = Feature.UNWRAP_SINGLES in encoding.features
    row = serde(encoding, columns, is_key=is_key, registry=registry, topic=topic).deserialize(data)
    if name == "KAFKA" or unwrapped:
        return plain(columns[0].type, row[0])
    return plain(record_type(columns), row)


def _as_written(
    encoding: Encoding, registry: SchemaRegistry, schema_id: int, *, is_key: bool
) -> tuple[Encoding, Sequence[Column]]:
    """The encoding and the columns of a registered schema itself, whatever the stream or table calls them."""
    format = format_of(encoding.format.name)
    schema = fetch(registry, schema_id)
    if isinstance(format, RegistryFormat) and Feature.UNWRAP_SINGLES not in encoding.features:
        root = format.connect_schema(schema, registry, encoding.format)
        if root.kind is not Kind.STRUCT:
            encoding = replace(encoding, features=frozenset({Feature.UNWRAP_SINGLES}))
    inferred = infer_columns(encoding, registry, topic=None, is_key=False, schema_id=schema_id)
    return encoding, inferred.columns


def _text(given: Json) -> str:
    if isinstance(given, bool):
        return "true" if given else "false"
    return str(given)


def from_case(kind: SqlType, given: Json) -> Any:
    """A value of a case as a SQL value."""
    if given is None:
        return None
    if isinstance(kind, SqlDecimal):
        if isinstance(given, str):
            unit = Decimal(1).scaleb(-kind.scale)
            given = Decimal(given).quantize(unit, ROUND_HALF_UP)
        return fit_decimal(Decimal(given), kind.precision, kind.scale)
    if isinstance(kind, SqlArray):
        return [from_case(kind.item, item) for item in given]
    if isinstance(kind, SqlMap):
        return {from_case(kind.key, name): from_case(kind.value, item) for name, item in given.items()}
    if isinstance(kind, SqlStruct):
        found = {name.upper(): item for name, item in given.items()}
        return tuple(from_case(field.type, found.get(field.name.upper())) for field in kind.fields)
    return _FROM_CASE[kind.base](given)


def _boolean(given: Json) -> bool:
    return str(given).lower() == "true"


def _bytes(given: Json) -> bytes:
    return base64.b64decode(given)


def _whole(given: Json) -> int:
    return int(given)


def _double(given: Json) -> float:
    return float(given)


_FROM_CASE: dict[BaseType, Callable[[Json], Any]] = {
    BaseType.BOOLEAN: _boolean,
    BaseType.INTEGER: _whole,
    BaseType.BIGINT: _whole,
    BaseType.DATE: _whole,
    BaseType.TIME: _whole,
    BaseType.TIMESTAMP: _whole,
    BaseType.DOUBLE: _double,
    BaseType.STRING: _text,
    BaseType.BYTES: _bytes,
}


def _with_doubles(kind: SqlType, node: Any) -> Any:
    """Parsed JSON, its numbers as floats where the columns say DOUBLE: those are compared by value, not by digits."""
    if node is None:
        return None
    if kind.base is BaseType.DOUBLE and isinstance(node, (int, Decimal)):
        return float(node)
    if isinstance(kind, SqlArray) and isinstance(node, list):
        return [_with_doubles(kind.item, item) for item in node]
    if isinstance(kind, SqlMap) and isinstance(node, dict):
        return {name: _with_doubles(kind.value, item) for name, item in node.items()}
    if isinstance(kind, SqlStruct) and isinstance(node, dict):
        kinds = {field.name: field.type for field in kind.fields}
        return {name: _with_doubles(kinds[name], item) if name in kinds else item for name, item in node.items()}
    if kind.base is BaseType.BYTES and isinstance(node, str):
        return base64.b64decode(node)
    return node
