"""A query as it was written becomes one without doubt: columns say their source, selected columns have names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from millstream.sql.analysis.names import Aliases, joined_name
from millstream.sql.analysis.query.sources import QuerySources
from millstream.sql.analysis.wording import listed, place
from millstream.sql.catalogue import Catalogue
from millstream.sql.errors import SqlError
from millstream.sql.settings import Settings
from millstream.sql.tree.expressions import ColumnReference, Expression, LambdaFunction
from millstream.sql.tree.format import format_expression
from millstream.sql.tree.queries import AllColumns, AllFields, Query, SelectItem
from millstream.sql.tree.walk import children, rewrite


def prepare_query(query: Query, catalogue: Catalogue, settings: Settings) -> Query:
    """Qualifies all columns and names all selected expressions.

    Raises:
        SqlError: a source does not exist, or a column could be of several sources.
    """
    preparation = _Preparation(QuerySources.of(query, catalogue), lambdas=settings.get("ksql.lambdas.enabled", True))
    prepared = replace(
        query,
        select=tuple(map(preparation.select_item, query.select)),
        joins=tuple(replace(join, criteria=preparation.expression(join.criteria)) for join in query.joins),
        where=preparation.optional(query.where),
        group_by=preparation.expressions(query.group_by),
        partition_by=preparation.expressions(query.partition_by),
        having=preparation.optional(query.having),
    )
    _check_groups(prepared.group_by)
    return prepared


class _Preparation:
    def __init__(self, sources: QuerySources, *, lambdas: bool) -> None:
        self._sources = sources
        self._lambdas = lambdas
        self._aliases = Aliases(source.source.schema for source in sources)

    def select_item(self, item: SelectItem) -> SelectItem:
        if isinstance(item, AllColumns):
            self._check_alias(item.source)
            return item
        if isinstance(item, AllFields):
            return replace(item, base=self.expression(item.base))
        expression = self.expression(item.expression)
        return replace(item, expression=expression, alias=item.alias or self._name(expression))

    def _name(self, expression: Expression) -> str:
        if not isinstance(expression, ColumnReference):
            return self._aliases.for_expression(expression)
        if expression.source is not None and self._sources.clash(expression.name):
            return joined_name(expression.source, expression.name)
        return expression.name

    def expressions(self, expressions: Iterable[Expression]) -> tuple[Expression, ...]:
        return tuple(map(self.expression, expressions))

    def optional(self, expression: Expression | None) -> Expression | None:
        return None if expression is None else self.expression(expression)

    def expression(self, expression: Expression) -> Expression:
        self._check_lambdas(expression, frozenset())
        return rewrite(expression, self._qualify)

    def _qualify(self, expression: Expression) -> Expression | None:
        if not isinstance(expression, ColumnReference):
            return None
        if expression.source is not None:
            self._check_alias(expression.source)
            return expression
        found = self._sources.with_column(expression.name)
        if len(found) > 1:
            choices = sorted(format_expression(replace(expression, source=source.alias)) for source in found)
            raise SqlError(
                f"{place(expression.at)}Column '{format_expression(expression)}' is ambiguous. "
                f"Could be {listed(choices, ' or ')}."
            )
        # What is unknown may still be the key column that a join makes.
        return replace(expression, source=found[0].alias) if found else expression

    def _check_alias(self, alias: str | None) -> None:
        if alias is not None and self._sources.by_alias(alias) is None:
            raise SqlError(f"'{alias}' is not a valid stream/table name or alias.")

    def _check_lambdas(self, expression: Expression, outer: frozenset[str]) -> None:
        if isinstance(expression, LambdaFunction):
            if not self._lambdas:
                raise SqlError("Lambdas are not enabled at this time.")
            for source in self._sources:
                for parameter in expression.parameters:
                    if source.source.schema.find(parameter) is not None:
                        raise SqlError(f"Lambda function argument can't be a column name: {parameter}")
            if not outer.isdisjoint(expression.parameters):
                raise SqlError("Reusing lambda arguments in nested lambda is not allowed")
            outer |= frozenset(expression.parameters)
        for child in children(expression):
            self._check_lambdas(child, outer)


def _check_groups(expressions: tuple[Expression, ...]) -> None:
    seen: set[Expression] = set()
    for expression in expressions:
        if expression in seen:
            raise SqlError(f"Duplicate GROUP BY expression: {format_expression(expression)}")
        seen.add(expression)
