"""What a query with GROUP BY computes: its aggregates, and the columns they and the groups need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from millstream.sql.analysis.query.analyse import Analysis
from millstream.sql.errors import SqlError
from millstream.sql.functions.registry import Registry
from millstream.sql.plan.steps import Selected
from millstream.sql.schema.columns import WINDOW_BOUNDS
from millstream.sql.tree.expressions import ColumnReference, Expression, FunctionCall
from millstream.sql.tree.format import format_expression
from millstream.sql.tree.walk import children

#: Told of each column outside the grouped expressions, and of the aggregate around it.
_Collect = Callable[[str | None, ColumnReference], None]


@dataclass
class Grouping:
    """What was found.

    Attributes:
        required: the columns that must be there before grouping, each once.
        arguments: the arguments of the aggregates.
        aggregates: the calls of aggregates, in the order in which they were written.
    """

    required: list[ColumnReference] = field(default_factory=list)
    arguments: list[Expression] = field(default_factory=list)
    aggregates: list[FunctionCall] = field(default_factory=list)


def analyse_grouping(
    analysis: Analysis, selected: Sequence[Selected], group_by: Sequence[Expression], functions: Registry
) -> Grouping:
    """Looks for aggregates.

    Args:
        analysis: of the query.
        selected: the projection.
        group_by: what is grouped by. These and `selected` are in terms of rows.
        functions: for telling aggregates apart.

    Raises:
        SqlError: what is selected is neither grouped by nor aggregated, or an aggregate is where none can be.
    """
    query = analysis.query
    rules = _Rules(analysis, tuple(group_by), functions)
    for column in selected:
        rules.check_select(column.expression)
    if query.where is not None:
        rules.check_where(analysis.plain(query.where))
    for expression in group_by:
        rules.check_group(expression)
    if query.having is not None:
        rules.check_having(analysis.plain(query.having))
    rules.enforce()
    return rules.found


class _Rules:
    def __init__(self, analysis: Analysis, group_by: tuple[Expression, ...], functions: Registry) -> None:
        self.found = Grouping()
        self._windowed = analysis.window is not None
        self._default_argument = analysis.default_argument
        self._functions = functions
        bounds = map(ColumnReference, WINDOW_BOUNDS) if self._windowed else ()
        self._groups = frozenset((*group_by, *bounds))
        # Of a windowed source they are columns like others.
        self._bounds = frozenset(WINDOW_BOUNDS if self._windowed else ())
        self._bad_selects: list[Expression] = []
        self._bad_having: list[Expression] = []

    def check_select(self, expression: Expression) -> None:
        outside: set[Expression] = set()

        def collect(aggregate: str | None, column: ColumnReference) -> None:
            if aggregate is not None:
                self._refuse_bounds(column)
            elif column not in self._groups:
                outside.add(column)

        self._visit(expression, collect)
        if expression not in self._groups and outside:
            self._bad_selects.append(expression)

    def check_where(self, expression: Expression) -> None:
        self._visit(expression, lambda aggregate, column: self._refuse_bounds(column))

    def check_group(self, expression: Expression) -> None:
        def collect(aggregate: str | None, column: ColumnReference) -> None:
            if aggregate is not None:
                raise SqlError(f"GROUP BY does not support aggregate functions: {aggregate} is an aggregate function.")
            self._refuse_bounds(column)

        self._visit(expression, collect)

    def check_having(self, expression: Expression) -> None:
        def collect(aggregate: str | None, column: ColumnReference) -> None:
            self._refuse_bounds(column)
            if aggregate is None and column not in self._groups:
                self._bad_having.append(column)

        self._visit(expression, collect)

    def _visit(self, expression: Expression, collect: _Collect) -> None:
        visit = _Visit(self.found, self._groups, self._bounds, self._functions, self._default_argument, collect)
        visit.visit(expression)

    def _refuse_bounds(self, column: ColumnReference) -> None:
        if column.name in self._bounds:
            raise SqlError(
                f"Window bounds column {format_expression(column)} can only be used in the SELECT clause of windowed "
                "aggregations and can not be passed to aggregate functions.\n"
                "See https://github.com/confluentinc/ksql/issues/4397"
            )

    def enforce(self) -> None:
        if not self.found.aggregates:
            raise SqlError("GROUP BY requires aggregate functions in either the SELECT or HAVING clause.")
        if self._bad_selects:
            names = ", ".join(map(format_expression, self._bad_selects))
            advice = "Either add the column(s) to the GROUP BY or remove them from the SELECT."
            raise SqlError(f"Non-aggregate SELECT expression(s) not part of GROUP BY: {names}\n{advice}")
        if self._bad_having:
            raise SqlError(
                "Non-aggregate HAVING expression not part of GROUP BY: "
                f"{', '.join(map(format_expression, self._bad_having))}\n"
                "Consider switching the HAVING clause to a WHERE clause before the GROUP BY."
            )


@dataclass
class _Visit:
    """Goes through one expression.

    Attributes:
        bounds: the names of the bounds of the window that is being made.
        aggregate: the aggregate around what is looked at.
        aggregated: an aggregate was met before; from then on no column hides behind a grouped expression.
        grouped: what is looked at is part of an expression that is grouped by.
    """

    found: Grouping
    groups: frozenset[Expression]
    bounds: frozenset[str]
    functions: Registry
    default_argument: ColumnReference
    collect: _Collect
    aggregate: str | None = None
    aggregated: bool = False
    grouped: bool = False

    def visit(self, expression: Expression) -> None:
        enters_group = not self.grouped and expression in self.groups
        self.grouped = self.grouped or enters_group
        if isinstance(expression, ColumnReference):
            self._column(expression)
        elif isinstance(expression, FunctionCall) and self.functions.is_aggregate(expression.name):
            self._aggregate(expression)
        else:
            if isinstance(expression, FunctionCall) and not self.functions.exists(expression.name):
                raise SqlError(f"Can't find any functions with the name '{expression.name}'")
            for child in children(expression):
                self.visit(child)
        if enters_group:
            self.grouped = False

    def _column(self, column: ColumnReference) -> None:
        is_bound = column.name in self.bounds
        if not self.grouped or self.aggregated or is_bound:
            self.collect(self.aggregate, column)
        if not is_bound and column not in self.found.required:
            self.found.required.append(column)

    def _aggregate(self, written: FunctionCall) -> None:
        if self.aggregate is not None:
            raise SqlError(f"Aggregate functions can not be nested: {self.aggregate}({written.name}())")
        call = with_default_argument(written, self.default_argument)
        self.aggregated = True
        self.aggregate = call.name
        self.found.arguments += call.arguments
        self.found.aggregates.append(call)
        for argument in call.arguments:
            self.visit(argument)
        self.aggregate = None


def with_default_argument(call: FunctionCall, argument: ColumnReference) -> FunctionCall:
    """COUNT(*) counts the times of the records."""
    return call if call.arguments else FunctionCall(call.name, (argument,), at=call.at)
