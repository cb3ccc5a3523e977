"""What is selected: `*` spelled out, names and types of the columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Protocol

from millstream.sql.analysis.environment import Environment
from millstream.sql.analysis.schemas import checked
from millstream.sql.errors import SqlError
from millstream.sql.plan.steps import Selected
from millstream.sql.schema.columns import Column, Namespace, Schema
from millstream.sql.schema.types import SqlDecimal, SqlStruct, SqlType, quote
from millstream.sql.tree.expressions import (
    ColumnReference,
    DecimalLiteral,
    Dereference,
    DoubleLiteral,
    Expression,
    IntegerLiteral,
    LongLiteral,
)
from millstream.sql.tree.format import format_expression
from millstream.sql.tree.queries import AllColumns, AllFields, SelectItem, SingleColumn


class Selectable(Protocol):
    """What columns are selected from."""

    @property
    def schema(self) -> Schema: ...

    def star(self, alias: str | None) -> list[str]:
        """The columns that `*`, or `alias.*`, stands for."""

    def resolve(self, index: int, expression: Expression) -> Expression:
        """The selected expression at a position, in terms of the schema."""


class Projection:
    """The items after SELECT."""

    def __init__(self, items: Iterable[SelectItem]) -> None:
        self.items = tuple(items)
        self._all = any(isinstance(item, AllColumns) and item.source is None for item in self.items)
        self._sources = {item.source for item in self.items if isinstance(item, AllColumns) and item.source}
        self.expressions = {item.expression for item in self.items if isinstance(item, SingleColumn)}
        self._structs = {item.base for item in self.items if isinstance(item, AllFields)}

    def contains(self, expression: Expression) -> bool:
        """Whether an expression is selected, by itself or by a star."""
        if self._all:
            return True
        if isinstance(expression, ColumnReference) and expression.source in self._sources:
            return True
        return expression in self.expressions or expression in self._structs


def selected_columns(source: Selectable, items: Sequence[SelectItem], target: Schema | None) -> list[Selected]:
    """All selected columns with the expressions they are made of.

    Args:
        source: what is selected from.
        items: the items after SELECT.
        target: the columns of the stream that INSERT INTO adds to: literals become DECIMALs where it has them.
    """
    columns = []
    for index, item in enumerate(items):
        if isinstance(item, AllColumns):
            columns += [Selected(name, ColumnReference(name, at=item.at)) for name in source.star(item.source)]
        elif isinstance(item, AllFields):
            base = _resolved(source, index, item.base, target)
            struct = _struct_of(base, source.schema)
            columns += [Selected(field.name, Dereference(base, field.name)) for field in struct.fields]
        else:
            expression = _resolved(source, index, item.expression, target)
            columns.append(Selected(item.alias or format_expression(expression), expression))
    return columns


def _resolved(source: Selectable, index: int, expression: Expression, target: Schema | None) -> Expression:
    resolved = source.resolve(index, expression)
    if target is None or index >= len(target.columns):
        return resolved
    return _as_decimal(resolved, target.columns[index].type)


def _as_decimal(expression: Expression, target: SqlType) -> Expression:
    if not isinstance(target, SqlDecimal):
        return expression
    if not isinstance(expression, IntegerLiteral | LongLiteral | DoubleLiteral | DecimalLiteral):
        return expression
    value = Decimal(repr(expression.value)) if isinstance(expression.value, float) else Decimal(expression.value)
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        return expression
    scale = max(-exponent, 0)
    whole = max(len(digits) + exponent, 0)
    if scale > target.scale or whole > target.precision - target.scale:
        return expression
    return DecimalLiteral(value.quantize(Decimal(1).scaleb(-target.scale)), at=expression.at)


def _struct_of(expression: Expression, schema: Schema) -> SqlStruct:
    if isinstance(expression, ColumnReference):
        column = schema.find(expression.name)
        if column is None or not isinstance(column.type, SqlStruct):
            raise SqlError(f"Column {quote(expression.name)} is not a STRUCT type.")
        return column.type
    if isinstance(expression, Dereference):
        struct = _struct_of(expression.base, schema)
        index = struct.index(expression.field)
        if index is None:
            raise SqlError(f"Field {expression.field} was not found on STRUCT.")
        kind = struct.fields[index].type
        if not isinstance(kind, SqlStruct):
            raise SqlError(f"Field {expression.field} is not a STRUCT type.")
        return kind
    raise SqlError(f"Unsupported struct column expression: {type(expression).__name__}")


def projected_schema(parent: Schema, selected: Sequence[Selected], environment: Environment) -> Schema:
    """The schema of selected columns, in their order. Plain references to key columns are key columns.

    Key columns come in the order of the parent's key, wherever they were selected: the key's bytes do not change.
    """
    positions = [_key_position(column.expression, parent) for column in selected]
    keys = sorted((at, index) for index, at in enumerate(positions) if at is not None)
    ordered = iter([selected[index] for _, index in keys])
    columns = []
    for at, column in zip(positions, selected, strict=True):
        if at is not None:
            key = next(ordered)
            columns.append(Column(key.name, environment.known_type(key.expression, parent), Namespace.KEY))
        else:
            columns.append(Column(column.name, environment.known_type(column.expression, parent)))
    return checked(Schema(tuple(columns)))


def _key_position(expression: Expression, parent: Schema) -> int | None:
    names = [column.name for column in parent.key]
    if isinstance(expression, ColumnReference) and expression.name in names:
        return names.index(expression.name)
    return None
