"""Conditions of WHERE and HAVING."""

from __future__ import annotations

from millstream.sql.analysis.environment import Environment
from millstream.sql.analysis.steps.relations import Relation
from millstream.sql.errors import SqlError
from millstream.sql.expressions import with_times
from millstream.sql.plan.steps import StreamFilter, TableFilter
from millstream.sql.schema.columns import Schema
from millstream.sql.schema.types import BOOLEAN
from millstream.sql.tree.expressions import Expression
from millstream.sql.tree.format import format_expression


def check_condition(condition: Expression, clause: str, schema: Schema, environment: Environment) -> None:
    """See that a condition is one.

    Raises:
        SqlError: its type is not BOOLEAN, or it has none.
    """
    try:
        kind = environment.type_of(with_times(condition), schema)
    except SqlError as error:
        raise SqlError(f"Error in {clause} expression: {error.primary}") from error
    if kind != BOOLEAN:
        raise SqlError(
            f"Type error in {clause} expression: Should evaluate to boolean but is "
            f"{format_expression(condition)} ({'null' if kind is None else kind}) instead."
        )


def filtered(relation: Relation, condition: Expression, context: tuple[str, ...]) -> Relation:
    """Only the records for which the condition holds."""
    make = TableFilter if relation.is_table else StreamFilter
    return relation.then(make(context, relation.schema, relation.step, with_times(condition)))
