"""The projection of a query without aggregates."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.sql.analysis.environment import Environment
from millstream.sql.analysis.nodes.base import Node
from millstream.sql.analysis.query.projection import Projection, projected_schema, selected_columns
from millstream.sql.analysis.query.references import UnknownColumn
from millstream.sql.analysis.schemas import checked, is_key, sink_schema, typed
from millstream.sql.analysis.steps.relations import Relation
from millstream.sql.analysis.steps.selecting import select
from millstream.sql.analysis.wording import key_more_than_once, listed
from millstream.sql.errors import SqlError
from millstream.sql.plan.steps import Selected
from millstream.sql.schema.columns import WINDOW_BOUNDS, Schema
from millstream.sql.schema.types import quote
from millstream.sql.tree.expressions import ColumnReference
from millstream.sql.tree.queries import SelectItem
from millstream.sql.tree.walk import references


class ProjectNode(Node):
    """What is selected of the records."""

    def __init__(
        self,
        source: Node,
        items: Sequence[SelectItem],
        environment: Environment,
        *,
        persistent: bool,
        target: Schema | None,
    ) -> None:
        """Makes the node.

        Args:
            source: what is selected from.
            items: what is selected.
            environment: for types.
            persistent: the key columns go to the key; else all that is selected is part of the row.
            target: the columns of the stream that INSERT INTO adds to.
        """
        self.kind = source.kind
        self.alias = source.alias
        self.inputs = (source,)
        self._projection = Projection(items)
        selected = selected_columns(source, items, target)
        schema = projected_schema(source.schema, selected, environment)
        if persistent:
            self._selected = _without_keys(selected, source.schema)
            self.schema = sink_schema(schema)
        else:
            self._selected = tuple(selected)
            self.schema = checked(Schema.of(typed(source.schema.key), typed(schema)))
        if not self.schema.value:
            raise SqlError("The projection contains no value columns.")
        self._check_columns()

    def _check_columns(self) -> None:
        """Names of key columns that joins make are only known now."""
        columns = frozenset(column for expression in self._projection.expressions for column in references(expression))
        unknown = self.inputs[0].unknown(columns)
        if unknown:
            raise SqlError("\n".join(sorted(UnknownColumn("", column).primary for column in unknown)))

    def check_keys(self, sink: str, projection: Projection) -> None:
        self.inputs[0].check_keys(sink, projection)

    def check_own_keys(self, sink: str) -> None:
        """See that what is selected holds the key."""
        self.check_keys(sink, self._projection)

    def build(self, environment: Environment) -> Relation:
        source = self.inputs[0].build(environment)
        names = [column.name for column in self.schema.key]
        return select(source, names, self._selected, ("Project",), self.value_format, environment)


def _without_keys(selected: Sequence[Selected], source: Schema) -> tuple[Selected, ...]:
    """What is selected beside the key columns, which the key holds.

    Raises:
        SqlError: a key column is there under several names.
    """
    values = []
    keys: dict[str, set[str]] = {}
    for column in selected:
        expression = column.expression
        if isinstance(expression, ColumnReference):
            if expression.name in WINDOW_BOUNDS and column.name == expression.name:
                continue
            if is_key(source, expression.name):
                keys.setdefault(expression.name, set()).add(column.name)
                continue
        values.append(column)
    for name, aliases in keys.items():
        if len(aliases) > 1:
            raise key_more_than_once(
                f"a key column ({quote(name)}) more than once, aliased as: {listed(sorted(aliases), ' and ')}"
            )
    return tuple(values)
