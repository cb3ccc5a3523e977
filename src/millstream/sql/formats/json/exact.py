"""JSON read with care: every conversion that ksqlDB makes, and where in the record one failed.

The generated readers (see `json_reader`) leave everything to this that is not plainly of the column's type.
"""

from __future__ import annotations

import binascii
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn

from millstream.sql.formats import numbers
from millstream.sql.formats.times import check_time
from millstream.sql.schema.java_numbers import wrap_bigint, wrap_integer
from millstream.sql.schema.types import (
    BIGINT_MAX,
    BIGINT_MIN,
    INT_MAX,
    INT_MIN,
    BaseType,
    SqlArray,
    SqlDecimal,
    SqlMap,
    SqlStruct,
    SqlType,
)


class CoercionError(ValueError):
    """A part of a record that cannot become what its column holds."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{reason}, path: {path}")
        self.reason = reason
        self.path = path


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"Non-standard token '{text}'")


_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_no_constant)


def parse(data: bytes) -> Any:
    """The first JSON value of a text, all numbers exact. What follows it is not looked at, as in ksqlDB."""
    value, _ = _DECODER.raw_decode(data.decode().lstrip(" \t\r\n\ufeff"))
    return value


def coerce(kind: SqlType, node: Any, path: str = "$") -> Any:
    """A parsed JSON value as a value of a type.

    Raises:
        CoercionError: it cannot be one.

    >>> from millstream.sql.schema.types import BIGINT
    >>> coerce(BIGINT, "12")
    12
    """
    if node is None:
        return None
    try:
        if isinstance(kind, SqlDecimal):
            return _decimal(kind, node)
        if isinstance(kind, SqlArray):
            return _array(kind, node)
        if isinstance(kind, SqlMap):
            return _map(kind, node)
        if isinstance(kind, SqlStruct):
            return _struct(kind, node)
        return _SCALARS[kind.base](node)
    except CoercionError as error:
        raise CoercionError(error.reason, path + error.path) from error
    except (ValueError, ArithmeticError) as error:
        raise CoercionError(str(error), path) from error


def field_names(kind: SqlStruct, present: tuple[str, ...]) -> tuple[str | None, ...]:
    """Which name of a JSON object each field takes its value from: its own, else one that is its own in upper case.

    >>> from millstream.sql.schema.types import Field, STRING
    >>> field_names(SqlStruct((Field("A", STRING), Field("b", STRING))), ("a", "B"))
    ('a', None)
    """
    exact = set(present)
    upper = {name.upper(): name for name in present}
    return tuple(field.name if field.name in exact else upper.get(field.name) for field in kind.fields)


def _is_number(node: Any) -> bool:
    return isinstance(node, (int, Decimal)) and node.__class__ is not bool


_NODE_NAMES = {bool: "BooleanNode", Decimal: "DecimalNode", str: "TextNode", list: "ArrayNode", dict: "ObjectNode"}


def _node_name(node: Any) -> str:
    if node.__class__ is int:
        if INT_MIN <= node <= INT_MAX:
            return "IntNode"
        return "LongNode" if BIGINT_MIN <= node <= BIGINT_MAX else "BigIntegerNode"
    return _NODE_NAMES[node.__class__]


def _mismatch(node: Any, kind: object) -> ValueError:
    return ValueError(f"Can't convert type. sourceType: {_node_name(node)}, requiredType: {kind}")


def _boolean(node: Any) -> bool:
    if node.__class__ is bool:
        return bool(node)
    raise _mismatch(node, BaseType.BOOLEAN.value)


def _whole(base: BaseType, wrap: Callable[[int], int], parse_text: Callable[[str], int]) -> Callable[[Any], int]:
    def convert(node: Any) -> int:
        if _is_number(node):
            return wrap(int(node))
        if isinstance(node, str):
            try:
                return parse_text(node)
            except ValueError:
                raise ValueError(f"Can't coerce string to type. targetType: {base.value}") from None
        raise _mismatch(node, base.value)

    return convert


def _double(node: Any) -> float:
    if _is_number(node):
        try:
            return float(node)
        except OverflowError:  # an int; decimals become infinite by themselves
            return float("inf") if node > 0 else float("-inf")
    if isinstance(node, str):
        try:
            return numbers.parse_double(node)
        except ValueError:
            raise ValueError("Can't coerce string to type. targetType: DOUBLE") from None
    raise _mismatch(node, BaseType.DOUBLE.value)


def _text(node: Any) -> str:
    if isinstance(node, str):
        return node
    if node.__class__ is bool:
        return "true" if node else "false"
    if isinstance(node, dict):
        return to_json(node)
    if isinstance(node, list):
        return f"[{', '.join('null' if item is None else _text(item) for item in node)}]"
    return str(node)


def to_json(node: Any) -> str:
    """A parsed JSON value as compact JSON again, its numbers with all their digits."""
    if isinstance(node, dict):
        inner = ",".join(f"{json.dumps(name, ensure_ascii=False)}:{to_json(item)}" for name, item in node.items())
        return f"{{{inner}}}"
    if isinstance(node, list):
        return f"[{','.join(map(to_json, node))}]"
    return str(node) if isinstance(node, Decimal) else json.dumps(node, ensure_ascii=False)


def _bytes(node: Any) -> bytes:
    if not isinstance(node, str):
        raise _mismatch(node, BaseType.BYTES.value)
    try:
        return binascii.a2b_base64(node, strict_mode=True)
    except (ValueError, binascii.Error):
        raise ValueError(f"Value is not a valid Base64 encoded string: {node}") from None


def _decimal(kind: SqlDecimal, node: Any) -> Decimal:
    if _is_number(node):
        return numbers.fit_decimal(Decimal(node), kind.precision, kind.scale)
    if isinstance(node, str):
        return numbers.fit_decimal(numbers.parse_decimal(node), kind.precision, kind.scale)
    raise _mismatch(node, kind)


def _array(kind: SqlArray, node: Any) -> list[Any]:
    if not isinstance(node, list):
        raise _mismatch(node, kind)
    return [coerce(kind.item, item, f"[{place}]") for place, item in enumerate(node)]


def _map(kind: SqlMap, node: Any) -> dict[str, Any]:
    if not isinstance(node, dict):
        raise _mismatch(node, kind)
    return {name: coerce(kind.value, item, f".{name}.value") for name, item in node.items()}


def _struct(kind: SqlStruct, node: Any) -> tuple[Any, ...]:
    if not isinstance(node, dict):
        raise _mismatch(node, kind)
    names = field_names(kind, tuple(node))
    return tuple(
        None if name is None else coerce(field.type, node[name], f".{field.name}")
        for field, name in zip(kind.fields, names, strict=True)
    )


_BIGINT = _whole(BaseType.BIGINT, wrap_bigint, numbers.parse_bigint)
_TIME = _whole(BaseType.TIME, wrap_bigint, numbers.parse_bigint)

_SCALARS: dict[BaseType, Callable[[Any], Any]] = {
    BaseType.BOOLEAN: _boolean,
    BaseType.INTEGER: _whole(BaseType.INTEGER, wrap_integer, numbers.parse_integer),
    BaseType.BIGINT: _BIGINT,
    BaseType.DOUBLE: _double,
    BaseType.STRING: _text,
    BaseType.BYTES: _bytes,
    BaseType.DATE: _whole(BaseType.DATE, wrap_bigint, numbers.parse_bigint),
    BaseType.TIME: lambda node: check_time(_TIME(node)),
    BaseType.TIMESTAMP: _whole(BaseType.TIMESTAMP, wrap_bigint, numbers.parse_bigint),
}
