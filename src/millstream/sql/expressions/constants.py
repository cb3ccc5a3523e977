"""Expressions without columns, evaluated now: what INSERT VALUES inserts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.sql.errors import SqlError
from millstream.sql.expressions.conversions.text import writer
from millstream.sql.expressions.conversions.values import CoercionError, coerce
from millstream.sql.expressions.generated.compiler import compile_value
from millstream.sql.expressions.inference.infer import infer
from millstream.sql.expressions.inference.scope import Scope
from millstream.sql.functions.registry import Registry
from millstream.sql.schema.columns import Schema
from millstream.sql.schema.types import BaseType, SqlType, quote
from millstream.sql.tree.expressions import Expression, NullLiteral
from millstream.sql.tree.format import format_expression
from millstream.sql.tree.walk import references

_NO_COLUMNS = Schema(())
_FORMATS = {
    BaseType.TIMESTAMP: ". Timestamp format must be yyyy-mm-ddThh:mm:ss[.S]",
    BaseType.TIME: ". Time format must be hh:mm:ss[.S]",
    BaseType.DATE: ". Date format must be yyyy-mm-dd",
}


class _Refusal:
    """A processing log for what must not fail."""

    def error(self, logger: str, message: Mapping[str, Any]) -> None:
        detail = message["recordProcessingError"]
        raise SqlError("\nCaused by: ".join([detail["errorMessage"], *detail["cause"]]))


def evaluate_constant(
    expression: Expression,
    kind: SqlType,
    functions: Registry,
    *,
    name: str = "",
    config: Mapping[str, Any] | None = None,
    what: str = "insert value",
) -> Any:
    """The value of an expression without columns, as one of a type.

    Args:
        expression: to be evaluated.
        kind: the type of what it is for.
        functions: the functions there are.
        name: the column it is for, for messages.
        config: settings of functions and casts.
        what: what it is for, for messages.

    Raises:
        SqlError: it fails, names a column, or its value cannot become one of the type.
    """
    if isinstance(expression, NullLiteral):
        return None
    if next(references(expression), None) is not None:
        raise SqlError(f"Unsupported column reference in {what}: {format_expression(expression)}")
    evaluate = compile_value(
        expression, _NO_COLUMNS, functions, log=_Refusal(), config=config, what=what, message="Cannot be evaluated"
    )
    value = evaluate(())
    found = infer(expression, Scope.of(_NO_COLUMNS, functions, config))
    try:
        return coerce(value, found, kind)
    except CoercionError:
        if found is None:
            raise
        hint = _FORMATS.get(kind.base, "") if found.base is BaseType.STRING else ""
        raise SqlError(
            f"Expected type {kind} for field {quote(name)} but got {found.base.value}({writer(found)(value)}){hint}"
        ) from None
