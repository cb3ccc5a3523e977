"""Queries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lark import Token

from millstream.sql.errors import Location
from millstream.sql.parser.builders.expressions import ExpressionBuilder
from millstream.sql.parser.names import Name, PrepareError, Source, place
from millstream.sql.parser.numbers import parse_duration, parse_integer
from millstream.sql.schema.types import SqlType
from millstream.sql.tree import queries as tree
from millstream.sql.tree.expressions import Expression
from millstream.sql.tree.format import format_expression
from millstream.sql.tree.queries import Duration, JoinKind

_SOURCE_NAME = re.compile(r"[A-Za-z0-9_-]*")


class QueryBuilder(ExpressionBuilder):
    """Builds queries, and sees to it that qualified names are those of the query's sources."""

    def __init__(self, source: Source, types: Mapping[str, SqlType]) -> None:
        super().__init__(source, types)
        self._sources: set[str] = set()
        self._qualifiers: list[tuple[str, Location]] = []

    def check_qualifiers(self) -> None:
        """Refuses names that belong to no source of the statement.

        Raises:
            PrepareError: there is one.
        """
        for qualifier, at in self._qualifiers:
            if qualifier not in self._sources:
                raise PrepareError(f"'{qualifier}' is not a valid stream/table name or alias.", at)

    def qualified_column(self, at: Location, source: Name, name: Name) -> Expression:
        self._qualifiers.append((source.text, source.at))
        return super().qualified_column(at, source, name)

    # Names.

    def source_name(self, at: Location, name: Name) -> Name:
        if not _SOURCE_NAME.fullmatch(name.text):
            raise PrepareError(
                f"Illegal argument at {place(name.at)}. "
                f"Source names may only contain alphanumeric values, '_' or '-'. Got: '{name.text}'",
                name.at,
                plain=True,
            )
        return name

    def source_alias(self, at: Location, token: Token) -> Name:
        return self.source_name(at, self.name(token))

    # Numbers.

    def limit(self, at: Location, number: tuple[Token, bool]) -> int:
        return parse_integer(number[0], at, negative=number[1], use="LIMIT")

    def window_unit(self, at: Location, token: Token) -> Token:
        return token

    def duration(self, at: Location, number: tuple[Token, bool], unit: Token) -> Duration:
        return parse_duration(number[0], at, negative=number[1], unit=unit)

    def retention(self, at: Location, duration: Duration) -> Duration:
        return duration

    def grace(self, at: Location, duration: Duration) -> Duration:
        return duration

    # The parts of a query.

    def single_column(self, at: Location, expression: Any, alias: Name | None) -> tree.SelectItem:
        return tree.SingleColumn(self._value(expression), None if alias is None else alias.text, at=at)

    def all_fields(self, at: Location, base: Any) -> tree.SelectItem:
        return tree.AllFields(self._value(base), at=at)

    def all_columns(self, at: Location, source: Name | None = None) -> tree.SelectItem:
        if source is None:
            return tree.AllColumns(at=at)
        self._qualifiers.append((source.text, source.at))
        return tree.AllColumns(source.text, at=at)

    def relation(self, at: Location, name: Name, alias: Name | None) -> tree.Table:
        given = name if alias is None else alias
        self._sources.update((name.text, given.text))
        return tree.Table(name.text, given.text, at=at)

    def inner_join(self, at: Location) -> JoinKind:
        return JoinKind.INNER

    def left_join(self, at: Location) -> JoinKind:
        return JoinKind.LEFT

    def right_join(self, at: Location) -> JoinKind:
        return JoinKind.RIGHT

    def outer_join(self, at: Location) -> JoinKind:
        return JoinKind.OUTER

    def within(self, at: Location, size: Duration, grace: Duration | None) -> tree.Within:
        return tree.Within(size, size, grace, at=at)

    def within_both(self, at: Location, before: Duration, after: Duration, grace: Duration | None) -> tree.Within:
        return tree.Within(before, after, grace, at=at)

    def join(
        self, at: Location, kind: JoinKind | None, right: tree.Table, within: tree.Within | None, criteria: Any
    ) -> tree.Join:
        return tree.Join(kind or JoinKind.INNER, right, self._value(criteria), within, at=at)

    def joins(self, at: Location, *joins: tree.Join) -> tuple[tree.Join, ...]:
        return joins

    def tumbling(self, at: Location, size: Duration, retention: Duration | None, grace: Duration | None) -> tree.Window:
        return tree.TumblingWindow(size, retention, grace, at=at)

    def hopping(
        self, at: Location, size: Duration, advance: Duration, retention: Duration | None, grace: Duration | None
    ) -> tree.Window:
        return tree.HoppingWindow(size, advance, retention, grace, at=at)

    def session(self, at: Location, gap: Duration, retention: Duration | None, grace: Duration | None) -> tree.Window:
        return tree.SessionWindow(gap, retention, grace, at=at)

    def window(self, at: Location, name: Token | None, window: tree.Window) -> tree.Window:
        # Nothing can refer to a window by its name.
        return window

    def grouping(self, at: Location, *expressions: Any) -> tuple[Expression, ...]:
        return self._values(expressions)

    def _clause(self, at: Location, content: Any) -> Any:
        return content

    window_clause = where_clause = group_by_clause = partition_by_clause = _clause
    having_clause = emit_clause = limit_clause = _clause

    def emit(self, at: Location, token: Token) -> tree.Emit:
        return tree.Emit[token.type]

    def query(self, at: Location, *parts: Any) -> tree.Query:
        *select, source, joins, window, where, group_by, partition_by, having, emit, limit = parts
        for clause, expressions in (("GROUP BY", group_by), ("PARTITION BY", partition_by)):
            if expressions is not None:
                _check_grouping(clause, expressions)
        return tree.Query(
            select=tuple(select),
            source=source,
            joins=joins,
            window=window,
            where=self._optional(where),
            group_by=group_by or (),
            partition_by=partition_by or (),
            having=self._optional(having),
            emit=emit,
            limit=limit,
            at=at,
        )


def _check_grouping(clause: str, expressions: tuple[Expression, ...]) -> None:
    if not expressions:
        raise PrepareError(f"{clause} requires at least one expression")
    seen: set[Expression] = set()
    for expression in expressions:
        if expression in seen:
            raise PrepareError(f"Duplicate {clause} expression: {format_expression(expression)}", expression.at)
        seen.add(expression)
