"""Rows of SQL as the DSL sees them: values are dicts by column, keys are plain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millstream.extractors import ConsumedRecord, TimestampExtractor
from millstream.records import Windowed
from millstream.serdes import Serde
from millstream.sql.schema.columns import Column
from millstream.sql.schema.types import SqlArray, SqlMap, SqlStruct, SqlType

Convert = Callable[[Any], Any]


class ValueSerde(Serde[dict[str, Any]]):
    """Values as dicts: a column that is missing is NULL. STRUCTs are dicts too.

    Args:
        rows: the serde of the rows.
        columns: of the rows.
    """

    def __init__(self, rows: Serde[tuple[Any, ...]], columns: Sequence[Column]) -> None:
        names = [column.name for column in columns]
        readers = [reader(column.type) for column in columns]
        writers = [writer(column.type) for column in columns]
        serialize_row, deserialize_row = rows.serialize, rows.deserialize

        def serialize(value: dict[str, Any]) -> bytes:
            get = value.get
            return serialize_row(tuple(write(get(name)) for write, name in zip(writers, names, strict=True)))

        def deserialize(data: bytes) -> dict[str, Any]:
            row = deserialize_row(data)
            return {name: read(item) for name, read, item in zip(names, readers, row, strict=True)}

        super().__init__(serialize, deserialize, name=f"columns({rows.name})")


class KeySerde(Serde[Any]):
    """Keys: of one column its value, of several a tuple.

    Args:
        rows: the serde of the rows of key columns.
        columns: of the rows.
    """

    def __init__(self, rows: Serde[tuple[Any, ...]], columns: Sequence[Column]) -> None:
        serialize_row, deserialize_row = rows.serialize, rows.deserialize
        single = len(columns) == 1
        read, write = reader(_key_type(columns)), writer(_key_type(columns))

        def serialize(key: Any) -> bytes:
            return serialize_row((write(key),) if single else tuple(key))

        def deserialize(data: bytes) -> Any:
            row = deserialize_row(data)
            return read(row[0]) if single else row

        super().__init__(serialize, deserialize, hashable=rows.hashable, immutable=rows.immutable, name=rows.name)


def _key_type(columns: Sequence[Column]) -> SqlType | None:
    return columns[0].type if len(columns) == 1 else None


def row_extractor(extract: TimestampExtractor, keys: Sequence[Column], columns: Sequence[Column]) -> TimestampExtractor:
    """An extractor of rows, for records whose keys and values are those of the DSL."""
    names = [column.name for column in columns]
    single = len(keys) == 1

    def extract_from_row(record: ConsumedRecord, partition_time: int) -> int:
        key, value = record.key, record.value
        plain = key.key if isinstance(key, Windowed) else key
        row = None if value is None else tuple(value.get(name) for name in names)
        return extract(record._replace(key=(plain,) if single else plain, value=row), partition_time)

    return extract_from_row


def reader(kind: SqlType | None) -> Convert:
    """From a SQL value to what the DSL gets."""
    if isinstance(kind, SqlStruct):
        fields = [(field.name, reader(field.type)) for field in kind.fields]

        def read_struct(value: Any) -> Any:
            if value is None:
                return None
            return {name: read(item) for (name, read), item in zip(fields, value, strict=True)}

        return read_struct
    return _inside(kind, reader)


def writer(kind: SqlType | None) -> Convert:
    """From what the DSL gives to a SQL value."""
    if isinstance(kind, SqlStruct):
        fields = [(field.name, writer(field.type)) for field in kind.fields]

        def write_struct(value: Any) -> Any:
            return None if value is None else tuple(write(value.get(name)) for name, write in fields)

        return write_struct
    return _inside(kind, writer)


def _inside(kind: SqlType | None, make: Callable[[SqlType | None], Convert]) -> Convert:
    if isinstance(kind, SqlArray):
        item = make(kind.item)
        return _same if item is _same else lambda value: None if value is None else [item(one) for one in value]
    if isinstance(kind, SqlMap):
        inner = make(kind.value)
        if inner is not _same:
            return lambda value: None if value is None else {key: inner(one) for key, one in value.items()}
    return _same


def _same(value: Any) -> Any:
    return value
