"""Lists of expressions that must have one type: ARRAY[...], MAP(...) and IN (...).

The first expression that is not NULL leads: the others become its type, or widen it. Literals are converted here and
now; other expressions are cast. Text in literals may become numbers and booleans, text in columns may not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from millstream.sql.errors import SqlError
from millstream.sql.expressions.conversions import decimals, values
from millstream.sql.expressions.inference.calls import Infer
from millstream.sql.expressions.inference.scope import Scope
from millstream.sql.formats.numbers import parse_decimal
from millstream.sql.schema.decimals import widen
from millstream.sql.schema.types import (
    BIGINT,
    BIGINT_MAX,
    BIGINT_MIN,
    BOOLEAN,
    DOUBLE,
    INT_MAX,
    INT_MIN,
    INTEGER,
    BaseType,
    Field,
    SqlArray,
    SqlMap,
    SqlStruct,
    SqlType,
)
from millstream.sql.tree.expressions import (
    BooleanLiteral,
    BytesLiteral,
    Cast,
    CreateArray,
    CreateMap,
    CreateStruct,
    DateLiteral,
    DecimalLiteral,
    DoubleLiteral,
    Expression,
    IntegerLiteral,
    Literal,
    LongLiteral,
    NullLiteral,
    StringLiteral,
    TimeLiteral,
    TimestampLiteral,
)
from millstream.sql.tree.format import format_expression

_LITERALS: dict[BaseType, Callable[..., Expression]] = {
    BaseType.BOOLEAN: BooleanLiteral,
    BaseType.INTEGER: IntegerLiteral,
    BaseType.BIGINT: LongLiteral,
    BaseType.DECIMAL: DecimalLiteral,
    BaseType.DOUBLE: DoubleLiteral,
    BaseType.STRING: StringLiteral,
    BaseType.BYTES: BytesLiteral,
    BaseType.DATE: DateLiteral,
    BaseType.TIME: TimeLiteral,
    BaseType.TIMESTAMP: TimestampLiteral,
}


class _Mismatch(SqlError):
    """Expressions of a list that have no common type."""


def common_type(expressions: Sequence[Expression], scope: Scope, infer: Infer) -> SqlType | None:
    """The type that all expressions of a list can have; None when all are NULL.

    Raises:
        SqlError: there is none.
    """
    return _CommonType(scope, infer).of(expressions)


def coerce_all(
    expressions: Sequence[Expression], scope: Scope, infer: Infer
) -> tuple[SqlType | None, list[Expression]]:
    """The common type of a list, and the expressions, of that type.

    Raises:
        SqlError: there is no common type, or a literal cannot be converted.
    """
    common = common_type(expressions, scope, infer)
    if common is None:
        return None, list(expressions)
    return common, [_converted(expression, infer(expression, scope), common) for expression in expressions]


def _converted(expression: Expression, kind: SqlType | None, common: SqlType) -> Expression:
    if kind is None or kind == common:
        return expression
    if isinstance(expression, Literal) and not isinstance(expression, NullLiteral):
        value = values.coerce(values.literal_value(expression), kind, common, lax=True)
        return _LITERALS[common.base](value, at=expression.at)
    return Cast(expression, common, at=expression.at)


class _CommonType:
    def __init__(self, scope: Scope, infer: Infer) -> None:
        self._scope = scope
        self._infer = infer

    def of(self, expressions: Sequence[Expression], start: SqlType | None = None) -> SqlType | None:
        common = start
        for expression, kind in [(each, self._infer(each, self._scope)) for each in expressions]:
            if common is None:
                common = kind
            elif kind is not None:
                common = self._join(expression, kind, common)
        return common

    def _join(self, expression: Expression, kind: SqlType, common: SqlType) -> SqlType:
        try:
            match expression:
                case CreateArray(values=items) if isinstance(common, SqlArray):
                    return SqlArray(self.of(items, common.item) or common.item)
                case CreateMap(entries=entries) if isinstance(common, SqlMap):
                    key = self.of([key for key, _ in entries], common.key)
                    value = self.of([value for _, value in entries], common.value)
                    return SqlMap(key or common.key, value or common.value)
                case CreateStruct(fields=fields) if isinstance(common, SqlStruct):
                    return self._join_struct(fields, common)
                case CreateArray() | CreateMap() | CreateStruct():
                    raise _mismatch(expression, kind, common)
        except _Mismatch as error:
            raise _mismatch(expression, kind, common) from error
        if isinstance(expression, StringLiteral) and common.base.is_number:
            return _join_text(expression.value, common)
        if isinstance(expression, StringLiteral) and common.base is BaseType.BOOLEAN:
            if values.parse_boolean(expression.value.strip(values.BLANK)) is None:
                raise _invalid(expression.value, BOOLEAN)
            return common
        lax = isinstance(expression, Literal)
        joined = values.can_coerce(kind, common, lax=lax) or values.can_coerce(common, kind, lax=lax)
        if joined is None:
            raise _mismatch(expression, kind, common)
        return joined

    def _join_struct(self, fields: Sequence[tuple[str, Expression]], common: SqlStruct) -> SqlType:
        given = dict(fields)
        joined = []
        for name in dict.fromkeys([*given, *(field.name for field in common.fields)]):
            index = common.index(name)
            known = None if index is None else common.fields[index].type
            kind = self.of([given[name]], known) if name in given else known
            if kind is None:
                raise SqlError(f"Field {name} of a STRUCT has no type: cast NULL to the desired type.")
            joined.append(Field(name, kind))
        return SqlStruct(tuple(joined))


def _join_text(text: str, common: SqlType) -> SqlType:
    try:
        kind = _number_type(text)
    except ValueError:
        raise _invalid(text, common) from None
    if common.base is BaseType.DOUBLE:
        return DOUBLE
    if BaseType.DECIMAL in (kind.base, common.base):
        return widen(kind, common)
    return common if kind.base.widens_to(common.base) else kind


def _number_type(text: str) -> SqlType:
    number = parse_decimal(text.strip(values.BLANK))
    if not re.search(r"[.eE]", text):
        if INT_MIN <= number <= INT_MAX:
            return INTEGER
        if BIGINT_MIN <= number <= BIGINT_MAX:
            return BIGINT
    return decimals.type_of_value(number)


def _invalid(text: str, kind: SqlType) -> SqlError:
    return SqlError(f'invalid input syntax for type {kind.base.value}: "{text}".')


def _mismatch(expression: Expression, kind: SqlType, common: SqlType) -> _Mismatch:
    return _Mismatch(
        f"operator does not exist: {common} = {kind} ({format_expression(expression)})\n"
        "Hint: You might need to add explicit type casts."
    )
