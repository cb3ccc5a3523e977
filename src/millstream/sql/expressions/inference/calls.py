"""Which function a call means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millstream.sql.errors import SqlError
from millstream.sql.expressions.conversions.values import literal_value
from millstream.sql.expressions.inference.scope import Scope
from millstream.sql.functions.model import (
    AggregateCall,
    Argument,
    IntervalArgument,
    LambdaArgument,
    ScalarCall,
    TableCall,
)
from millstream.sql.schema.types import INTEGER, SqlType
from millstream.sql.tree.expressions import Expression, FunctionCall, IntervalUnit, LambdaFunction, Literal
from millstream.sql.tree.format import format_expression

#: `infer`, given from outside: the types of calls and those of their arguments need each other.
Infer = Callable[[Expression, Scope], SqlType | None]


def resolve_call(call: FunctionCall, scope: Scope, infer: Infer) -> ScalarCall:
    """The scalar function that a call means.

    Raises:
        SqlError: there is no such function, or it takes no such arguments.
    """
    if id(call) in scope.calls:
        return scope.calls[id(call)][1]
    factory = scope.functions.require_scalar(call.name)
    resolved = factory.resolve(_arguments(call.arguments, scope, infer), scope.config)
    scope.calls[id(call)] = (call, resolved)
    return resolved


def table_call(call: FunctionCall, scope: Scope, infer: Infer) -> TableCall:
    """The table function that a call means."""
    factory = scope.functions.table(call.name)
    if factory is None:
        raise SqlError(f"Can't find any functions with the name '{call.name}'")
    return factory.resolve(_arguments(call.arguments, scope, infer) or [INTEGER], scope.config)


def aggregate_call(call: FunctionCall, scope: Scope, infer: Infer) -> AggregateCall:
    """The aggregate function that a call means; COUNT(*) counts as COUNT(1).

    Raises:
        SqlError: there is none, or a constant argument is no literal.
    """
    factory = scope.functions.aggregate(call.name)
    if factory is None:
        raise SqlError(f"Can't find any functions with the name '{call.name}'")
    arguments = _arguments(call.arguments, scope, infer) or [INTEGER]
    first = len(call.arguments) - factory.constants(arguments)
    constants = [_constant(call, index) for index in range(max(first, 0), len(call.arguments))]
    return factory.resolve(arguments, constants, scope.config)


def _constant(call: FunctionCall, index: int) -> Any:
    argument = call.arguments[index]
    if not isinstance(argument, Literal):
        raise SqlError(
            f"Parameter {index + 1} passed to function {call.name} must be a literal constant, "
            f"but was expression: '{format_expression(argument)}'"
        )
    return literal_value(argument)


def _arguments(arguments: Sequence[Expression], scope: Scope, infer: Infer) -> list[Argument]:
    return [_argument(argument, scope, infer) for argument in arguments]


def _argument(argument: Expression, scope: Scope, infer: Infer) -> Argument:
    if isinstance(argument, IntervalUnit):
        return IntervalArgument()
    if not isinstance(argument, LambdaFunction):
        return infer(argument, scope)
    names, body = argument.parameters, argument.body

    def infer_body(types: Sequence[SqlType]) -> SqlType | None:
        if len(types) != len(names):
            raise SqlError(
                f"Was expecting {len(types)} arguments but found {len(names)}, [{', '.join(names)}]. "
                "Check your lambda statement."
            )
        return infer(body, scope.inside(zip(names, types, strict=True)))

    return LambdaArgument(len(names), infer_body)
