"""What ON says: which sources are joined, on which expressions."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.sql.analysis.query.references import ReferenceCheck
from millstream.sql.analysis.query.sources import AliasedSource, QuerySources
from millstream.sql.errors import SqlError
from millstream.sql.schema.formats import WindowType
from millstream.sql.schema.types import quote
from millstream.sql.tree.expressions import Comparison, ComparisonOperator, Expression, Logical
from millstream.sql.tree.format import format_expression
from millstream.sql.tree.queries import Join, JoinKind, Query, Within


@dataclass(frozen=True)
class JoinCondition:
    """`left_expression = right_expression`, each over one source.

    Attributes:
        flipped: ON was written the other way round.
    """

    left: AliasedSource
    left_expression: Expression
    right: AliasedSource
    right_expression: Expression
    kind: JoinKind
    within: Within | None
    flipped: bool = False

    def flip(self) -> JoinCondition:
        """The same with the sides exchanged. The kind stays: it is about the order of the sources in FROM."""
        return JoinCondition(
            self.right, self.right_expression, self.left, self.left_expression, self.kind, self.within, flipped=True
        )

    def __str__(self) -> str:
        """The condition as it was written."""
        left, right = format_expression(self.left_expression), format_expression(self.right_expression)
        return f"{right} = {left}" if self.flipped else f"{left} = {right}"


def analyse_joins(query: Query, sources: QuerySources) -> tuple[JoinCondition, ...]:
    """The conditions of all joins, left to right.

    Raises:
        SqlError: a condition is no equality between expressions over two sources, or the sources cannot be joined.
    """
    conditions = []
    for index, join in enumerate(query.joins, start=1):
        seen = QuerySources(sources.all[: index + 1])
        _check_occurrences(seen)
        conditions.append(_analyse(join, seen))
    return tuple(conditions)


def _check_occurrences(sources: QuerySources) -> None:
    *others, added = sources
    if all(other.source.name != added.source.name for other in others):
        if any(other.alias == added.alias for other in others):
            raise SqlError(f"The name {quote(added.alias)} stands for more than one source.")
        return
    name = added.source.name
    if len(others) > 1:
        raise SqlError(f"N-way joins do not support multiple occurrences of the same source. Source: '{name}'.")
    raise SqlError(f"Can not join '{name}' to '{name}': self joins are not yet supported.")


def _analyse(join: Join, sources: QuerySources) -> JoinCondition:
    criteria = _equality(join.criteria)
    check = ReferenceCheck({source.alias: source.rows() for source in sources})
    left_names = check.sources_of(criteria.left, "JOIN ON")
    right_names = check.sources_of(criteria.right, "JOIN ON")
    left = _only_source(criteria.left, criteria, left_names, sources)
    right = _only_source(criteria.right, criteria, right_names, sources)
    if left == right:
        raise SqlError(
            "Each side of the join must reference exactly one source and not the same source. "
            f"Left side references {quote(left.alias)} and right references {quote(right.alias)}"
        )
    _check_windows(left, right)
    added = sources.all[-1]
    if added not in (left, right):
        raise SqlError(
            f"A join criteria is expected to reference the source ({quote(added.alias)}) in the FROM clause, instead "
            f"the right source references {quote(right.alias)} and the left source references {quote(left.alias)}"
        )
    condition = JoinCondition(left, criteria.left, right, criteria.right, join.kind, join.within)
    return condition.flip() if right == sources.all[0] else condition


def _equality(criteria: Expression) -> Comparison:
    if isinstance(criteria, Comparison):
        if criteria.operator is not ComparisonOperator.EQUAL:
            raise SqlError("Only equality join criteria is supported.")
        return criteria
    text = format_expression(criteria)
    if isinstance(criteria, Logical) and _is_equality(criteria.left) and _is_equality(criteria.right):
        raise SqlError(f"Invalid join condition: joins on multiple conditions are not yet supported. Got {text}.")
    raise SqlError(f"Unsupported join expression: {text}")


def _is_equality(expression: Expression) -> bool:
    return isinstance(expression, Comparison) and expression.operator is ComparisonOperator.EQUAL


def _only_source(expression: Expression, criteria: Comparison, names: set[str], sources: QuerySources) -> AliasedSource:
    if len(names) == 1:
        return next(source for source in sources if source.alias in names)
    raise SqlError(
        f"Invalid comparison expression '{format_expression(expression)}' in join '{format_expression(criteria)}'. "
        "Each side of the join comparision must contain references from exactly one source."
    )


def _check_windows(left: AliasedSource, right: AliasedSource) -> None:
    left_window, right_window = left.source.window, right.source.window
    if left_window is None and right_window is None:
        return
    if left_window is None or right_window is None:
        raise SqlError(
            "Can not join windowed source to non-windowed source.\n"
            + "\n".join(
                f"{quote(side.alias)} is {side.source.window.type.value if side.source.window else 'not'} windowed"
                for side in (left, right)
            )
        )
    if (left_window.type is WindowType.SESSION) != (right_window.type is WindowType.SESSION):
        raise SqlError(
            "Incompatible windowed sources.\n"
            f"Left source: {left_window.type.value}\nRight source: {right_window.type.value}\n"
            "Session windowed sources can only be joined to other session windowed sources, and may still not result "
            "in expected behaviour as session bounds must be an exact match for the join to work\n"
            "Hopping and tumbling windowed sources can only be joined to other hopping and tumbling windowed sources"
        )
