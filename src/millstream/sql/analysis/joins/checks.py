"""What can be joined on what."""

from __future__ import annotations

from millstream.sql.analysis.environment import Environment
from millstream.sql.analysis.joins.conditions import JoinCondition
from millstream.sql.analysis.joins.node import JoinNode
from millstream.sql.analysis.joins.steps import join_name
from millstream.sql.analysis.nodes.source import SourceNode
from millstream.sql.analysis.query.references import unqualified
from millstream.sql.analysis.query.sources import AliasedSource
from millstream.sql.errors import SqlError
from millstream.sql.schema.types import SqlType
from millstream.sql.tree.expressions import ColumnReference, Expression
from millstream.sql.tree.format import format_expression
from millstream.sql.tree.queries import JoinKind
from millstream.sql.tree.statements import SourceKind


def foreign_key(
    condition: JoinCondition, left: JoinNode | SourceNode, right: SourceNode, environment: Environment
) -> Expression | None:
    """The expression over the left table that gives keys of the right table; None when it is no foreign key join.

    Raises:
        SqlError: the sides cannot be joined on that condition.
    """
    if left.kind is SourceKind.STREAM:
        if right.kind is SourceKind.TABLE:
            _check_stream_table(condition, right)
        return None
    if right.kind is SourceKind.STREAM:
        raise SqlError(
            "Invalid join order: table-stream joins are not supported; only stream-table joins. "
            f"Got {_sources(condition)}."
        )
    if not _is_primary_key(condition.right_expression, right, condition.right):
        raise SqlError(
            "Invalid join condition: table-table joins require to join on the primary key of the right input table. "
            f"Got {condition}."
        )
    right_type = right.schema.key[0].type
    if _is_primary_key(condition.left_expression, left, condition.left):
        _check_types(condition, left.schema.key[0].type, right_type)
        return None
    return _check_foreign_key(condition, left, right, right_type, environment)


def _check_stream_table(condition: JoinCondition, right: SourceNode) -> None:
    if condition.kind is JoinKind.OUTER:
        raise SqlError(
            f"Invalid join type: full-outer join not supported for stream-table join. Got {_sources(condition)}."
        )
    if not _is_primary_key(condition.right_expression, right, condition.right):
        raise SqlError(
            f"Invalid join condition: stream-table joins require to join on the table's primary key. Got {condition}."
        )


def _check_foreign_key(
    condition: JoinCondition,
    left: JoinNode | SourceNode,
    right: SourceNode,
    right_type: SqlType,
    environment: Environment,
) -> Expression:
    if condition.kind is JoinKind.OUTER:
        raise SqlError(
            "Invalid join type: full-outer join not supported for foreign-key table-table join. "
            f"Got {_sources(condition)}."
        )
    if isinstance(left, JoinNode):
        raise SqlError(
            "Invalid join condition: foreign-key table-table joins are not supported as part of n-way joins. "
            f"Got {condition}."
        )
    plain = unqualified(condition.left_expression, joined=False)
    _check_types(condition, environment.known_type(plain, left.schema), right_type)
    if right.aliased.source.window is not None:
        raise SqlError("Foreign-key table-table joins are not supported on windowed tables.")
    return condition.left_expression


def _is_primary_key(expression: Expression, node: JoinNode | SourceNode, side: AliasedSource) -> bool:
    """Whether an expression is the whole key of the source that it belongs to."""
    if not isinstance(expression, ColumnReference):
        return False
    alias = expression.source or side.alias
    keys = next(source.source.schema.key for source in node.sources() if source.alias == alias)
    return len(keys) == 1 and keys[0].name == expression.name


def _check_types(condition: JoinCondition, left: SqlType, right: SqlType) -> None:
    if left == right:
        return
    sides = [(condition.left_expression, left), (condition.right_expression, right)]
    if condition.flipped:
        sides.reverse()
    shown = " = ".join(f"{format_expression(expression)}{{{kind}}}" for expression, kind in sides)
    raise SqlError(f"Invalid join condition: types don't match. Got {shown}.")


def _sources(condition: JoinCondition) -> str:
    return f"{condition.left.source.name} {join_name(condition.kind)} {condition.right.source.name}"
