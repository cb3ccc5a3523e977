"""GROUP BY and the projection over it."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.sql.analysis.environment import Environment
from millstream.sql.analysis.groups.aggregation import Aggregation
from millstream.sql.analysis.groups.grouping import Grouping, analyse_grouping
from millstream.sql.analysis.names import Aliases
from millstream.sql.analysis.nodes.base import Node
from millstream.sql.analysis.query.analyse import EVERYTHING, Analysis
from millstream.sql.analysis.query.projection import projected_schema, selected_columns
from millstream.sql.analysis.schemas import checked, row_schema, typed
from millstream.sql.analysis.steps.filters import check_condition
from millstream.sql.analysis.steps.relations import Relation
from millstream.sql.analysis.wording import key_more_than_once, keys_missing, listed
from millstream.sql.errors import SqlError
from millstream.sql.plan.steps import Selected
from millstream.sql.schema.columns import Schema
from millstream.sql.schema.types import quote
from millstream.sql.tree.expressions import ColumnReference, Expression
from millstream.sql.tree.format import format_expression
from millstream.sql.tree.statements import SourceKind


class AggregateNode(Node):
    """Records become a table of aggregates."""

    def __init__(self, source: Node, analysis: Analysis, environment: Environment, target: Schema | None) -> None:
        """Makes the node.

        Args:
            source: whose records are grouped.
            analysis: of the query.
            environment: for types and functions.
            target: the columns of the stream that INSERT INTO adds to.
        """
        self.kind = SourceKind.TABLE
        self.alias = None
        self.inputs = (source,)
        self._analysis = analysis
        self._groups = tuple(map(analysis.plain, analysis.group_by))
        self._selected = tuple(selected_columns(source, analysis.select, target))
        self._grouping = self._analyse_grouping(environment)
        self.schema = self._make_schema(source.schema, environment)
        self._having = None if analysis.query.having is None else analysis.plain(analysis.query.having)
        if self._having is not None:
            check_condition(self._having, "HAVING", source.schema, environment)

    def _analyse_grouping(self, environment: Environment) -> Grouping:
        return analyse_grouping(self._analysis, self._selected, self._groups, environment.functions)

    def _make_schema(self, source: Schema, environment: Environment) -> Schema:
        rows = row_schema(source, windowed=True) if self._analysis.window is not None else source
        projection = projected_schema(rows, self._selected, environment)
        if self._analysis.persistent:
            keys = {self._selected_as(group) for group in self._groups}
            values = [column for column in projection.value if column.name not in keys]
            if not values:
                raise SqlError("The projection contains no value columns.")
        else:
            values = list(projection)
        names = [self._key_name(group, source) for group in self._groups]
        types = environment.known_types(self._groups, source)
        return checked(Schema.of(zip(names, types, strict=True), typed(values)))

    def _key_name(self, group: Expression, source: Schema) -> str:
        selected = self._selected_as(group)
        if selected is not None:
            return selected
        return group.name if isinstance(group, ColumnReference) else Aliases([source]).for_expression(group)

    def _selected_as(self, group: Expression) -> str | None:
        names = [column.name for column in self._selected if column.expression == group]
        if len(names) > 1:
            raise key_more_than_once(f"a key column more than once: {listed([*map(quote, names)], ' and ')}")
        return names[0] if names else None

    def check_own_keys(self, sink: str) -> None:
        """See that what is selected holds what is grouped by.

        Raises:
            SqlError: it does not.
        """
        selected = [column.expression for column in self._selected]
        missing = [group for group in self._groups if group not in selected]
        if EVERYTHING in missing:
            calls = ", ".join(map(format_expression, self._grouping.aggregates))
            raise SqlError(
                f"CREATE TABLE AS SELECT statement does not support aggregate function [{calls}] without a GROUP BY "
                "clause."
            )
        if missing:
            raise keys_missing(sink, "grouping expression", missing)

    def build(self, environment: Environment) -> Relation:
        aggregation = Aggregation(
            self._groups,
            self._grouping,
            self._having,
            self._final_columns(),
            [column.name for column in self.schema.key],
            self._analysis.window,
            final=self._analysis.final,
        )
        return aggregation.apply(self.inputs[0].build(environment), self.value_format, environment)

    def _final_columns(self) -> Sequence[Selected]:
        """What the rows hold in the end: the key of a persistent query is not part of them."""
        if not self._analysis.persistent:
            return self._selected
        return [column for column in self._selected if column.expression not in self._groups]
