"""Writers of JSON rows, generated for their columns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import orjson

from millstream.sql.formats.format import Row
from millstream.sql.formats.json.source import Source
from millstream.sql.formats.numbers import double_to_text
from millstream.sql.schema.columns import Column
from millstream.sql.schema.types import BaseType, Field, SqlArray, SqlMap, SqlStruct, SqlType

#: Types that orjson does not know. msgspec writes bytes as base64, and decimals as numbers.
_FOR_MSGSPEC = {BaseType.BYTES, BaseType.DECIMAL}


def json_writer(columns: Sequence[Column], *, unwrapped: bool) -> Callable[[Row], bytes | None]:
    """The function that writes rows.

    Args:
        columns: the columns of the rows.
        unwrapped: the single column is written bare, its NULL as no bytes.
    """
    source = Source()
    kinds = [column.type for column in columns]
    needs_msgspec = any(_contains(kind, _FOR_MSGSPEC) for kind in kinds)
    dumps = msgspec.json.Encoder(decimal_format="number").encode if needs_msgspec else orjson.dumps
    source.names["dumps"] = _with_null_keys(dumps) if any(_has_map(kind) for kind in kinds) else dumps
    source.names["double_to_text"] = double_to_text
    if unwrapped:
        value = _expression(source, kinds[0], "value")
        source.line("def write(row):")
        source.line("    value = row[0]")
        source.line(f"    return None if value is None else dumps({value})")
    else:
        record = SqlStruct(tuple(Field(column.name, column.type) for column in columns))
        _struct_function(source, record, name="write", encode="dumps")
    return source.function("write", "JSON writer")


def _contains(kind: SqlType, bases: set[BaseType]) -> bool:
    if isinstance(kind, SqlArray):
        return _contains(kind.item, bases)
    if isinstance(kind, SqlMap):
        return _contains(kind.value, bases)
    if isinstance(kind, SqlStruct):
        return any(_contains(field.type, bases) for field in kind.fields)
    return kind.base in bases


def _is_plain(kind: SqlType) -> bool:
    """Whether the encoder writes values as they are."""
    return not _contains(kind, {BaseType.DOUBLE}) and not _has_struct(kind)


def _has_struct(kind: SqlType) -> bool:
    if isinstance(kind, SqlArray):
        return _has_struct(kind.item)
    if isinstance(kind, SqlMap):
        return _has_struct(kind.value)
    return isinstance(kind, SqlStruct)


def _has_map(kind: SqlType) -> bool:
    if isinstance(kind, SqlArray):
        return _has_map(kind.item)
    if isinstance(kind, SqlStruct):
        return any(_has_map(field.type) for field in kind.fields)
    return isinstance(kind, SqlMap)


def _with_null_keys(dumps: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """An encoder that knows NULL keys of maps: they become text, as Jackson writes them."""

    def encode(value: Any) -> bytes:
        try:
            return dumps(value)
        except TypeError:
            return dumps(_null_keys_as_text(value))

    return encode


def _null_keys_as_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {"null" if name is None else name: _null_keys_as_text(part) for name, part in value.items()}
    return [_null_keys_as_text(part) for part in value] if isinstance(value, list) else value


def _struct_function(source: Source, kind: SqlStruct, name: str = "", encode: str = "") -> str:
    """The name of a function that makes a dict of a struct, and encodes it at once if it is told by what."""
    variables = [source.fresh() for _ in kind.fields]
    values = [_expression(source, field.type, name) for field, name in zip(kind.fields, variables, strict=True)]
    name = name or source.fresh("struct")
    source.line(f"def {name}(row):")
    source.indent()
    if variables:
        source.line(f"{', '.join(variables)}, = row")
    items = (f"{field.name!r}: {value}" for field, value in zip(kind.fields, values, strict=True))
    source.line(f"return {encode}({{{', '.join(items)}}})")
    source.dedent()
    return name


def _expression(source: Source, kind: SqlType, value: str) -> str:
    """What the encoder is given for a variable."""
    if _is_plain(kind):
        return value
    if isinstance(kind, SqlStruct):
        return f"None if {value} is None else {_struct_function(source, kind)}({value})"
    item = source.fresh()
    if isinstance(kind, SqlArray):
        inner = _expression(source, kind.item, item)
        return f"None if {value} is None else [{inner} for {item} in {value}]"
    if isinstance(kind, SqlMap):
        key, inner = source.fresh(), _expression(source, kind.value, item)
        return f"None if {value} is None else {{{key}: {inner} for {key}, {item} in {value}.items()}}"
    # JSON has no NaN and no infinity: they are text, as Jackson writes them.
    limit = sys.float_info.max
    return f"({value} if {value} is None or -{limit!r} <= {value} <= {limit!r} else double_to_text({value}))"
