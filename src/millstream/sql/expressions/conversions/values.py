"""Values that become values of another type by themselves: in lists of literals, and in INSERT VALUES."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from millstream.sql.errors import SqlError
from millstream.sql.formats.numbers import (
    double_to_text,
    fit_decimal,
    parse_bigint,
    parse_decimal,
    parse_double,
    parse_integer,
    plain,
)
from millstream.sql.functions.text.encodings import to_bytes
from millstream.sql.schema.decimals import widen
from millstream.sql.schema.time_text import (
    date_text,
    parse_date,
    parse_time,
    parse_timestamp,
    time_text,
    timestamp_text,
)
from millstream.sql.schema.types import BaseType, Field, SqlArray, SqlDecimal, SqlMap, SqlStruct, SqlType
from millstream.sql.tree.expressions import Literal, NullLiteral

#: What is cut off around text before it is parsed.
BLANK = "".join(map(chr, range(33)))


class CoercionError(SqlError):
    """A value does not become one of the type."""


_Coercion = Callable[[Any, SqlType], Any]


def parse_boolean(text: str) -> bool | None:
    """TRUE or FALSE by any beginning of true, yes, false or no, in any case; None for other text.

    >>> parse_boolean("Y"), parse_boolean("fal"), parse_boolean("2")
    (True, False, None)
    """
    lowered = text.lower()
    if lowered and ("true".startswith(lowered) or "yes".startswith(lowered)):
        return True
    if lowered and ("false".startswith(lowered) or "no".startswith(lowered)):
        return False
    return None


def parse_finite_double(text: str) -> float:
    """A DOUBLE; what is infinite or no number is refused."""
    value = parse_double(text)
    if value - value != 0:
        raise ValueError(f"Invalid double value: {text}")
    return value


def decode_base64(text: str) -> bytes:
    """BYTES as text writes them."""
    return to_bytes(text, "base64")


def literal_value(literal: Literal) -> Any:
    """What a literal stands for."""
    return None if isinstance(literal, NullLiteral) else literal.value


def _same(value: Any, _: SqlType) -> Any:
    return value


def _to_decimal(value: Any, target: SqlType) -> Decimal:
    if not isinstance(target, SqlDecimal):
        raise CoercionError(f"{target} is no DECIMAL")
    return fit_decimal(Decimal(value), target.precision, target.scale)


def _to_double(value: Any, _: SqlType) -> float:
    return float(value)


def _parsed(parse: Callable[[str], Any]) -> _Coercion:
    return lambda value, _: parse(value.strip(BLANK))


def _parsed_decimal(value: str, target: SqlType) -> Decimal:
    return _to_decimal(parse_decimal(value.strip(BLANK)), target)


def _parsed_boolean(value: str, _: SqlType) -> bool:
    parsed = parse_boolean(value.strip(BLANK))
    if parsed is None:
        raise ValueError(value)
    return parsed


def _text(write: Callable[[Any], str]) -> _Coercion:
    return lambda value, _: write(value)


def _boolean_text(value: bool) -> str:
    return "true" if value else "false"


_STRICT: dict[tuple[BaseType, BaseType], _Coercion] = {
    **{(base, base): _same for base in BaseType if base not in (BaseType.ARRAY, BaseType.MAP, BaseType.STRUCT)},
    (BaseType.INTEGER, BaseType.BIGINT): _same,
    (BaseType.INTEGER, BaseType.DECIMAL): _to_decimal,
    (BaseType.INTEGER, BaseType.DOUBLE): _to_double,
    (BaseType.BIGINT, BaseType.DECIMAL): _to_decimal,
    (BaseType.BIGINT, BaseType.DOUBLE): _to_double,
    (BaseType.DECIMAL, BaseType.DECIMAL): _to_decimal,
    (BaseType.DECIMAL, BaseType.DOUBLE): _to_double,
    (BaseType.STRING, BaseType.TIMESTAMP): _parsed(parse_timestamp),
    (BaseType.STRING, BaseType.TIME): _parsed(parse_time),
    (BaseType.STRING, BaseType.DATE): _parsed(parse_date),
    (BaseType.STRING, BaseType.BYTES): _parsed(decode_base64),
}
_LAX: dict[tuple[BaseType, BaseType], _Coercion] = {
    **_STRICT,
    (BaseType.BOOLEAN, BaseType.STRING): _text(_boolean_text),
    (BaseType.INTEGER, BaseType.STRING): _text(str),
    (BaseType.BIGINT, BaseType.STRING): _text(str),
    (BaseType.DECIMAL, BaseType.STRING): _text(plain),
    (BaseType.DOUBLE, BaseType.STRING): _text(double_to_text),
    (BaseType.STRING, BaseType.BOOLEAN): _parsed_boolean,
    (BaseType.STRING, BaseType.INTEGER): _parsed(parse_integer),
    (BaseType.STRING, BaseType.BIGINT): _parsed(parse_bigint),
    (BaseType.STRING, BaseType.DECIMAL): _parsed_decimal,
    (BaseType.STRING, BaseType.DOUBLE): _parsed(parse_finite_double),
    (BaseType.TIMESTAMP, BaseType.STRING): _text(timestamp_text),
    (BaseType.TIME, BaseType.STRING): _text(time_text),
    (BaseType.DATE, BaseType.STRING): _text(date_text),
}


def can_coerce(source: SqlType, target: SqlType, *, lax: bool) -> SqlType | None:
    """The type that holds values of both types, when those of `source` may become it; None when they may not.

    Args:
        source: what there is.
        target: what is asked for.
        lax: whether text may become numbers and booleans, and they text: only for what the user wrote down.
    """
    match source, target:
        case SqlArray(item=one), SqlArray(item=other):
            item = can_coerce(one, other, lax=lax)
            return None if item is None else SqlArray(item)
        case SqlMap(), SqlMap():
            key = can_coerce(source.key, target.key, lax=lax)
            value = can_coerce(source.value, target.value, lax=lax)
            return None if key is None or value is None else SqlMap(key, value)
        case SqlStruct(), SqlStruct():
            return _can_coerce_struct(source, target, lax)
    if (source.base, target.base) not in (_LAX if lax else _STRICT):
        return None
    if target.base is BaseType.DECIMAL and source.base.is_number:
        return widen(source, target)
    return target


def _can_coerce_struct(source: SqlStruct, target: SqlStruct, lax: bool) -> SqlType | None:
    fields = []
    for name in dict.fromkeys(field.name for field in (*source.fields, *target.fields)):
        kinds = [struct.fields[at].type for struct in (source, target) if (at := struct.index(name)) is not None]
        common = can_coerce(kinds[0], kinds[1], lax=lax) if len(kinds) > 1 else kinds[0]
        if common is None:
            return None
        fields.append(Field(name, common))
    return SqlStruct(tuple(fields))


def coerce(value: Any, source: SqlType | None, target: SqlType, *, lax: bool = False) -> Any:
    """A value as one of another type.

    Args:
        value: of the type `source`.
        source: None for NULL.
        target: the type asked for.
        lax: see `can_coerce`.

    Raises:
        CoercionError: it cannot become one: the types do not fit, or this value does not.
    """
    if value is None or source is None:
        return None
    match source, target:
        case SqlArray(item=one), SqlArray(item=other):
            return [coerce(item, one, other, lax=lax) for item in value]
        case SqlMap(), SqlMap():
            return {
                coerce(key, source.key, target.key, lax=lax): coerce(item, source.value, target.value, lax=lax)
                for key, item in value.items()
            }
        case SqlStruct(), SqlStruct():
            return tuple(_coerce_field(value, source, field, lax) for field in target.fields)
    coercion = (_LAX if lax else _STRICT).get((source.base, target.base))
    if coercion is None:
        raise CoercionError(f"{source} does not become {target}")
    try:
        return coercion(value, target)
    except (ValueError, ArithmeticError, SqlError) as error:
        raise CoercionError(f"{value!r} does not become {target}: {error}") from error


def _coerce_field(value: tuple[Any, ...], source: SqlStruct, field: Field, lax: bool) -> Any:
    index = source.index(field.name)
    return None if index is None else coerce(value[index], source.fields[index].type, field.type, lax=lax)
