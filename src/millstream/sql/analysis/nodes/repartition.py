"""PARTITION BY."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millstream.sql.analysis.environment import Environment
from millstream.sql.analysis.nodes.base import Node, in_star_order
from millstream.sql.analysis.query.projection import Projection
from millstream.sql.analysis.steps.rekeying import Rekeying, is_null_key, rekeyed_schema
from millstream.sql.analysis.steps.relations import Relation
from millstream.sql.analysis.wording import keys_missing
from millstream.sql.tree.expressions import ColumnReference, Expression, NullLiteral
from millstream.sql.tree.queries import AllColumns, SelectItem, SingleColumn


class RepartitionNode(Node):
    """Records get the key that the user asks for."""

    def __init__(
        self, source: Node, written: Sequence[Expression], expressions: Sequence[Expression], environment: Environment
    ) -> None:
        """Makes the node.

        Args:
            source: what gets the key.
            written: the expressions as they were prepared, for messages.
            expressions: the same in terms of the source's rows.
            environment: for types.
        """
        self.schema = rekeyed_schema(source.schema, expressions, environment)
        self.kind = source.kind
        self.alias = source.alias
        self.inputs = (source,)
        self._written = tuple(written)
        self._expressions = tuple(expressions)

    def star(self, alias: str | None) -> list[str]:
        names = in_star_order(self.schema)
        if alias is None or self.alias is not None:
            return names
        of_alias = set(super().star(alias))
        return [name for name in names if name in of_alias]

    def resolve(self, index: int, expression: Expression) -> Expression:
        if expression in self._expressions and self.schema.key:
            return ColumnReference(self.schema.key[self._expressions.index(expression)].name)
        return expression

    def check_keys(self, sink: str, projection: Projection) -> None:
        if not is_null_key(self._expressions) and not all(map(projection.contains, self._expressions)):
            raise keys_missing(sink, "partitioning expression", self._written)

    def build(self, environment: Environment) -> Relation:
        rekeying = Rekeying(self._expressions, self.value_format)
        return rekeying.apply(self.inputs[0].build(environment), ("PartitionBy",), environment)


def keyed_as_selected(source: Node, items: Sequence[SelectItem], environment: Environment) -> Node:
    """Records whose key is what is selected of it, in that order: the rule of `ksql.new.query.planner.enabled`."""
    keys = list(_selected_keys(source, items))
    if [key.name for key in keys] == [column.name for column in source.schema.key]:
        return source
    expressions: Sequence[Expression] = keys or [NullLiteral()]
    return RepartitionNode(source, expressions, expressions, environment)


def _selected_keys(source: Node, items: Sequence[SelectItem]) -> Iterator[ColumnReference]:
    keys = [column.name for column in source.schema.key]
    for item in items:
        if isinstance(item, AllColumns):
            yield from map(ColumnReference, keys)
            continue
        expression = item.expression if isinstance(item, SingleColumn) else None
        if isinstance(expression, ColumnReference) and expression.name in keys:
            yield ColumnReference(expression.name)
