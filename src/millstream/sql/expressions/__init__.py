"""Expressions: their types, and the functions they are compiled to."""

from __future__ import annotations

from millstream.sql.expressions.constants import evaluate_constant
from millstream.sql.expressions.conversions.casts import CastFunction, cast_function
from millstream.sql.expressions.conversions.values import CoercionError, can_coerce, coerce
from millstream.sql.expressions.generated.compiler import (
    compile_predicate,
    compile_row,
    compile_table_call,
    compile_value,
)
from millstream.sql.expressions.inference import calls as _calls
from millstream.sql.expressions.inference.infer import infer
from millstream.sql.expressions.inference.scope import Scope
from millstream.sql.expressions.magic import with_times
from millstream.sql.functions.model import AggregateCall, ScalarCall, TableCall
from millstream.sql.tree.expressions import FunctionCall

__all__ = [
    "CastFunction",
    "CoercionError",
    "Scope",
    "aggregate_call",
    "can_coerce",
    "cast_function",
    "coerce",
    "compile_predicate",
    "compile_row",
    "compile_table_call",
    "compile_value",
    "evaluate_constant",
    "infer",
    "scalar_call",
    "table_call",
    "with_times",
]


def aggregate_call(call: FunctionCall, scope: Scope) -> AggregateCall:
    """The aggregate function that a call means, its constants taken.

    Raises:
        SqlError: there is none, or a constant argument is no literal.
    """
    return _calls.aggregate_call(call, scope, infer)


def scalar_call(call: FunctionCall, scope: Scope) -> ScalarCall:
    """The scalar function that a call means."""
    return _calls.resolve_call(call, scope, infer)


def table_call(call: FunctionCall, scope: Scope) -> TableCall:
    """The table function that a call means."""
    return _calls.table_call(call, scope, infer)
