"""Calls of aggregate and table functions: their variants, and where their arguments are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millstream.sql.errors import SqlError
from millstream.sql.expressions import Scope, aggregate_call, compile_table_call
from millstream.sql.functions.model import AggregateCall
from millstream.sql.physical.flow import Surroundings
from millstream.sql.plan.steps import Step
from millstream.sql.schema.columns import Schema
from millstream.sql.tree.expressions import ColumnReference, FunctionCall


@dataclass(frozen=True)
class PlacedCall:
    """An aggregate, and what its arguments are in code: places in the row."""

    call: AggregateCall
    arguments: tuple[str, ...]


def aggregate_calls(calls: Sequence[FunctionCall], schema: Schema, around: Surroundings) -> list[PlacedCall]:
    """The aggregates of a step over rows of a schema."""
    scope = Scope.of(schema, around.functions, around.settings)
    placed = []
    for call in calls:
        found = aggregate_call(call, scope)
        arguments = tuple(_place(argument, schema) for argument in call.arguments[: found.columns])
        placed.append(PlacedCall(found, arguments or ("1",)))  # COUNT(*) counts rows, whatever is in them
    return placed


def _place(argument: object, schema: Schema) -> str:
    if not isinstance(argument, ColumnReference) or (index := schema.value_index(argument.name)) < 0:
        raise SqlError(f"An aggregate's argument is no column of {schema}: {argument}")
    return f"row[{index}]"


def table_functions(
    calls: Sequence[FunctionCall], schema: Schema, around: Surroundings, step: Step
) -> Callable[[Any], list[Any]]:
    """From a row to the rows that table functions in lockstep make of it: the shorter ones end in NULLs."""
    made = [
        compile_table_call(
            call, schema, around.functions, log=around.log, config=around.settings, logger=around.logger(step)
        )
        for call in calls
    ]

    def explode(row: Any) -> list[Any]:
        if row is None:
            return []
        columns = [function(row) for function in made]
        if len(columns) == 1:
            return [(*row, value) for value in columns[0]]
        longest = max(map(len, columns))
        padded = [[*column, *[None] * (longest - len(column))] for column in columns]
        return [row + values for values in zip(*padded, strict=True)]

    return explode
