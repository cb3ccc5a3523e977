"""Table functions."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.sql.analysis.environment import Environment
from millstream.sql.analysis.names import exploded_name
from millstream.sql.analysis.nodes.base import Node
from millstream.sql.analysis.schemas import checked, typed
from millstream.sql.analysis.steps.relations import Relation
from millstream.sql.functions.registry import Registry
from millstream.sql.plan.steps import StreamFlatMap
from millstream.sql.schema.columns import Schema
from millstream.sql.tree.expressions import ColumnReference, Expression, FunctionCall
from millstream.sql.tree.queries import SelectItem, SingleColumn
from millstream.sql.tree.walk import rewrite


class ExplodeNode(Node):
    """One record becomes as many as the table functions give."""

    def __init__(
        self, source: Node, calls: Sequence[FunctionCall], items: Sequence[SelectItem], environment: Environment
    ) -> None:
        """Makes the node.

        Args:
            source: whose records are multiplied.
            calls: of table functions, in the order of the projection.
            items: the projection.
            environment: for types.
        """
        made = [(exploded_name(index), environment.known_type(call, source.schema)) for index, call in enumerate(calls)]
        self.schema = checked(Schema.of(typed(source.schema.key), [*typed(source.schema.value), *made]))
        self.kind = source.kind
        self.alias = None
        self.inputs = (source,)
        self._calls = tuple(calls)
        self._selected = _with_made_columns(items, environment.functions)

    def resolve(self, index: int, expression: Expression) -> Expression:
        return self._selected.get(index, expression)

    def build(self, environment: Environment) -> Relation:
        source = self.inputs[0].build(environment)
        return source.then(StreamFlatMap(("FlatMap",), self.schema, source.step, self._calls))


def _with_made_columns(items: Sequence[SelectItem], functions: Registry) -> dict[int, Expression]:
    """The selected expressions, each call of a table function replaced by the column with its results."""
    calls = 0

    def replaced(expression: Expression) -> Expression | None:
        nonlocal calls
        if not isinstance(expression, FunctionCall) or not functions.is_table_function(expression.name):
            return None
        calls += 1
        return ColumnReference(exploded_name(calls - 1))

    return {
        index: rewrite(item.expression, replaced) for index, item in enumerate(items) if isinstance(item, SingleColumn)
    }
