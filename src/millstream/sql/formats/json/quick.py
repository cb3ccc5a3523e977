"""A quick way to read JSON rows: straight from the text to the columns, without an object in between.

It only takes rows whose columns are all there, under the names that earlier rows had, with values just of their types;
everything else is left to the careful reader (`json_reader`), which makes the same of the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import msgspec
import orjson

from millstream.sql.formats.format import Row
from millstream.sql.formats.json.exact import field_names
from millstream.sql.formats.json.source import Source
from millstream.sql.formats.times import DAY_MS
from millstream.sql.schema.columns import Column
from millstream.sql.schema.types import (
    BIGINT_MAX,
    BIGINT_MIN,
    INT_MAX,
    INT_MIN,
    BaseType,
    Field,
    SqlArray,
    SqlMap,
    SqlStruct,
    SqlType,
)

_Int = Annotated[int, msgspec.Meta(ge=INT_MIN, le=INT_MAX)]
#: No value is of this type.
_Nothing = Annotated[int, msgspec.Meta(ge=1, le=0)]
_Long = Annotated[int, msgspec.Meta(ge=BIGINT_MIN, le=BIGINT_MAX)]
_PLAIN: dict[BaseType, Any] = {
    BaseType.BOOLEAN: bool,
    BaseType.INTEGER: _Int,
    BaseType.DATE: _Int,
    BaseType.BIGINT: _Long,
    BaseType.TIMESTAMP: _Long,
    BaseType.TIME: Annotated[int, msgspec.Meta(ge=0, le=DAY_MS)],
    BaseType.DOUBLE: float,
    BaseType.STRING: str,
}
#: What the parser does not take in names of fields.
_ESCAPED = re.compile(r'[\x00-\x1f"\\]')
#: How often the names of columns are learnt anew: a topic whose rows all look different is read carefully.
_LESSONS = 20

Reader = Callable[[bytes], Row]


def quick_reader(columns: Sequence[Column], careful: Reader) -> Reader:
    """The careful reader, with a short cut if the columns allow one."""
    types = [_type(column.type) for column in columns]
    if not columns or None in types:
        return careful
    record = SqlStruct(tuple(Field(column.name, column.type) for column in columns))
    source = Source()
    lessons = _LESSONS

    def missed(data: bytes) -> Row:
        """Learn the names of this row, if they are new, and read it carefully."""
        nonlocal lessons
        if lessons:
            names = _names(record, data)
            if names is not None and names != source.names["known"]:
                lessons -= 1
                source.names["decode"] = _decoder(record, names, types)
                source.names["known"] = names
        return careful(data)

    source.names |= {
        "decode": _knows_nothing,
        "known": None,
        "missed": missed,
        "Unreadable": (msgspec.DecodeError, UnicodeDecodeError),
    }
    source.line("def read(data):")
    source.indent()
    source.line("try:")
    source.line("    row = decode(data)")
    source.line("except Unreadable:")
    source.line("    return missed(data)")
    source.line(f"return ({''.join(f'row.c{index}, ' for index in range(len(columns)))})")
    return source.function("read", "quick JSON reader")


def _knows_nothing(data: bytes) -> Any:
    raise msgspec.DecodeError


def _names(record: SqlStruct, data: bytes) -> tuple[str, ...] | None:
    """Under which names a row has its columns; None unless it has them all."""
    try:
        parsed = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(parsed, dict):
        return None
    found = field_names(record, tuple(parsed))
    names = tuple(name for name in found if name is not None)
    if len(set(names)) != len(found) or any(map(_ESCAPED.search, (*names, *(field.name for field in record.fields)))):
        return None
    return names


def _decoder(record: SqlStruct, names: Sequence[str], types: Sequence[Any]) -> Callable[[bytes], Any]:
    """What reads rows whose columns have these names.

    A column's own name counts more than one that differs in case: rows that have it too are not read.
    """
    fields: list[Any] = [
        (f"c{index}", kind, msgspec.field(name=name))
        for index, (name, kind) in enumerate(zip(names, types, strict=True))
    ]
    for index, (field, name) in enumerate(zip(record.fields, names, strict=True)):
        if field.name != name:
            fields.append((f"own{index}", _Nothing, msgspec.field(default=None, name=field.name)))
    return msgspec.json.Decoder(msgspec.defstruct("Row", fields, gc=False, kw_only=True)).decode


def _type(kind: SqlType) -> Any:
    """What the parser makes values of the type from and nothing else; None if it cannot."""
    if isinstance(kind, SqlArray):
        item = _type(kind.item)
        return None if item is None else list[item] | None  # type: ignore[valid-type]
    if isinstance(kind, SqlMap):
        value = _type(kind.value)
        return None if value is None or kind.key.base is not BaseType.STRING else dict[str, value] | None  # type: ignore[valid-type]
    plain = _PLAIN.get(kind.base)
    return None if plain is None else plain | None
