"""A prepared query, taken apart and checked: what it reads, joins, groups by and calls."""

from __future__ import annotations

from dataclasses import dataclass, replace

from millstream.sql.analysis.joins.conditions import JoinCondition, analyse_joins
from millstream.sql.analysis.names import joined_name
from millstream.sql.analysis.query.references import ReferenceCheck, UnknownColumn, unqualified
from millstream.sql.analysis.query.sources import AliasedSource, QuerySources
from millstream.sql.analysis.query.table_calls import TableFunctionSearch
from millstream.sql.analysis.windows import window_info
from millstream.sql.catalogue import Catalogue
from millstream.sql.errors import SqlError
from millstream.sql.functions.registry import Registry
from millstream.sql.schema.columns import ROWTIME, SYSTEM_COLUMNS
from millstream.sql.schema.formats import WindowInfo
from millstream.sql.tree.expressions import BytesLiteral, ColumnReference, Expression, FunctionCall, TimeUnit
from millstream.sql.tree.format import format_expression
from millstream.sql.tree.queries import AllColumns, AllFields, Duration, Emit, Query, SelectItem, SingleColumn, Window
from millstream.sql.tree.walk import walk

#: What aggregates without GROUP BY are grouped by: all records belong together.
EVERYTHING = BytesLiteral(b"\x01")

_KAFKA_LIMITS = (
    "The KAFKA format is primarily intended for use as a key format. It can be used as a value format, but can not be "
    "used in any operation that requires a repartition or changelog topic."
)


@dataclass(frozen=True)
class Analysis:
    """What a query asks for.

    Attributes:
        group_by: GROUP BY, or `EVERYTHING` for aggregates without it.
        select: the projection as it was prepared.
        table_functions: calls of table functions in the projection, in order.
    """

    query: Query
    sources: QuerySources
    joins: tuple[JoinCondition, ...]
    group_by: tuple[Expression, ...]
    table_functions: tuple[FunctionCall, ...]
    persistent: bool

    @property
    def first(self) -> AliasedSource:
        """The source of FROM."""
        return self.sources.all[0]

    @property
    def window(self) -> Window | None:
        """The window; with EMIT FINAL it has to end some time: records may not be late unless GRACE says so."""
        window = self.query.window
        if window is None or not self.final or window.grace is not None:
            return window
        return replace(window, grace=Duration(0, TimeUnit.MILLISECONDS))

    @property
    def result_window(self) -> WindowInfo | None:
        """The window of the result's keys: a new one, or that of the source unless records are grouped anew."""
        if self.window is not None:
            return window_info(self.window)
        return None if self.group_by else self.first.source.window

    @property
    def final(self) -> bool:
        """EMIT FINAL."""
        return self.query.emit is Emit.FINAL

    @property
    def select(self) -> tuple[SelectItem, ...]:
        """The projection, its columns named as the rows name them."""
        return tuple(map(self._plain_item, self.query.select))

    @property
    def default_argument(self) -> ColumnReference:
        """What COUNT(*) counts."""
        return ColumnReference(joined_name(self.first.alias, ROWTIME) if self.sources.is_join else ROWTIME)

    def plain(self, expression: Expression) -> Expression:
        """An expression, its columns named as the rows name them."""
        return unqualified(expression, joined=self.sources.is_join)

    @property
    def plain_table_functions(self) -> tuple[FunctionCall, ...]:
        """The calls of table functions, their columns named as the rows name them."""
        calls = map(self.plain, self.table_functions)
        return tuple(call for call in calls if isinstance(call, FunctionCall))

    def _plain_item(self, item: SelectItem) -> SelectItem:
        if isinstance(item, SingleColumn):
            return replace(item, expression=self.plain(item.expression))
        if isinstance(item, AllFields):
            return replace(item, base=self.plain(item.base))
        return item


def analyse(query: Query, catalogue: Catalogue, functions: Registry, *, persistent: bool) -> Analysis:
    """Takes a prepared query apart.

    Raises:
        SqlError: it names what does not exist, or puts together what does not go together.
    """
    sources = QuerySources.of(query, catalogue)
    joins = analyse_joins(query, sources)
    group_by = query.group_by
    search = TableFunctionSearch(functions)
    for item in query.select:
        if isinstance(item, AllColumns | AllFields):
            continue
        _check_alias(item, persistent=persistent)
        if not group_by and _has_aggregate(item.expression, functions):
            group_by = (EVERYTHING,)
        search.visit(item.expression, grouped=bool(group_by))
    _check_references(query, sources, synthetic_keys=not query.group_by and (persistent or query.emit is not None))
    _check_kafka_values(query, sources)
    return Analysis(query, sources, joins, group_by, tuple(search.found), persistent)


def _check_alias(item: SingleColumn, *, persistent: bool) -> None:
    alias = item.alias
    if alias is None or alias.upper() not in SYSTEM_COLUMNS:
        return
    text = format_expression(item.expression)
    if text.split(".", 1)[-1].upper() != alias.upper():
        raise SqlError(f"`{alias.upper()}` is a reserved column name. You cannot use it as an alias for a column.")
    if persistent:
        raise SqlError(f"Reserved column name in select: `{alias.upper()}`. Please remove or alias the column.")


def _has_aggregate(expression: Expression, functions: Registry) -> bool:
    return any(isinstance(part, FunctionCall) and functions.is_aggregate(part.name) for part in walk(expression))


def _check_references(query: Query, sources: QuerySources, *, synthetic_keys: bool) -> None:
    # Bounds of the window that GROUP BY makes may be selected; where they may not be used is checked later.
    rows = {source.alias: source.rows(windowed=query.window is not None) for source in sources}
    check = ReferenceCheck(rows, synthetic_keys)
    if query.where is not None:
        check.sources_of(query.where, "WHERE")
    for expression in query.group_by:
        check.sources_of(expression, "GROUP BY")
    for expression in query.partition_by:
        _check_partition_by(expression, check)
    if query.having is not None:
        check.sources_of(query.having, "HAVING")
    for item in query.select:
        if isinstance(item, SingleColumn):
            check.sources_of(item.expression, "SELECT")


def _check_partition_by(expression: Expression, check: ReferenceCheck) -> None:
    try:
        check.sources_of(expression, "PARTITION BY")
    except UnknownColumn as error:
        name = format_expression(error.column)
        raise UnknownColumn(
            "PARTITION BY",
            error.column,
            f"cannot be resolved. '{name}' must be a column in the source schema since PARTITION BY is applied on the "
            "input.",
        ) from None


def _check_kafka_values(query: Query, sources: QuerySources) -> None:
    names = ", ".join(source.alias for source in sources if source.source.formats.value.format.name == "KAFKA")
    operation = "JOIN" if query.joins else "GROUP BY" if query.group_by else None
    if names and operation:
        raise SqlError(
            f"Source(s) {names} are using the 'KAFKA' value format. This format does not yet support {operation}.\n"
            f"{_KAFKA_LIMITS}"
        )
