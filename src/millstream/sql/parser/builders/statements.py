"""Statements."""

from __future__ import annotations

from typing import Any

from lark import Token

from millstream.sql.errors import Location
from millstream.sql.parser.builders.elements import Column, check_keys, elements_of
from millstream.sql.parser.builders.queries import QueryBuilder
from millstream.sql.parser.names import Name, PrepareError, unquote
from millstream.sql.parser.numbers import parse_integer
from millstream.sql.schema.types import SqlType
from millstream.sql.tree import statements as tree
from millstream.sql.tree.expressions import Expression, IntegerLiteral, Literal
from millstream.sql.tree.format import format_expression
from millstream.sql.tree.queries import Duration, Query
from millstream.sql.tree.statements import Constraint, Element, Listing, Properties, SourceKind, Statement


class StatementBuilder(QueryBuilder):
    """Builds statements."""

    # Flags: they are there, or None is in their place.

    def _flag(self, at: Location) -> bool:
        return True

    all = extended = or_replace = read_only = _flag
    if_exists = if_not_exists = not_exists = delete_topic = from_beginning = _flag

    # Parts of statements.

    def source_kind(self, at: Location, token: Token) -> SourceKind:
        return SourceKind[token.type]

    def connector_kind(self, at: Location, token: Token) -> str:
        return token.type

    def resource_name(self, at: Location, name: Name | Token) -> str:
        if isinstance(name, Token):
            return unquote(name)
        return name.text if name.quoted else name.written

    def variable_name(self, at: Location, name: Name | Token) -> str:
        return name.written if isinstance(name, Name) else str(name)

    def interval(self, at: Location, number: tuple[Token, bool]) -> int:
        return parse_integer(number[0], at, negative=number[1], use="INTERVAL")

    def timeout(self, at: Location, duration: Duration) -> Duration:
        return duration

    def columns(self, at: Location, *names: Name) -> tuple[str, ...]:
        return tuple(name.text for name in names)

    def values(self, at: Location, *values: Any) -> tuple[Expression, ...]:
        return self._values(values)

    def assignment(self, at: Location, name: Name | Token, value: Literal) -> tuple[str, Literal]:
        return (name.text if isinstance(name, Name) else unquote(name)), value

    def properties(self, at: Location, *assignments: tuple[str, Literal]) -> Properties:
        properties: dict[str, Literal] = {}
        for name, value in assignments:
            if name in properties:
                raise PrepareError(
                    f"Multiple entries with same key: {name}={format_expression(properties[name])} "
                    f"and {name}={format_expression(value)}",
                    value.at,
                )
            properties[name] = value
        return properties

    def key(self, at: Location) -> tuple[Constraint, str | None]:
        return Constraint.KEY, None

    def primary_key(self, at: Location) -> tuple[Constraint, str | None]:
        return Constraint.PRIMARY_KEY, None

    def headers(self, at: Location) -> tuple[Constraint, str | None]:
        return Constraint.HEADERS, None

    def header(self, at: Location, key: Token) -> tuple[Constraint, str | None]:
        name = unquote(key).strip()
        return (Constraint.HEADER, name) if name else (Constraint.HEADERS, None)

    def table_element(
        self, at: Location, name: Name, kind: SqlType, constraint: tuple[Constraint, str | None] | None
    ) -> Column:
        return Column(Element(name.text, kind, *(constraint or (Constraint.NONE, None))), at)

    def table_elements(self, at: Location, *columns: Column) -> tuple[Column, ...]:
        return columns

    def schema(self, at: Location, *columns: Column) -> tuple[Element, ...]:
        return elements_of(columns)

    def alter_option(self, at: Location, name: Name | Token, kind: SqlType) -> Element:
        return Element((name if isinstance(name, Name) else self.name(name)).text, kind)

    # Definition.

    def create_source(
        self,
        at: Location,
        or_replace: bool | None,
        read_only: bool | None,
        kind: SourceKind,
        if_not_exists: bool | None,
        name: Name,
        columns: tuple[Column, ...] | None,
        properties: Properties | None,
    ) -> tree.CreateSource:
        if columns is not None:
            check_keys(kind, columns)
        return tree.CreateSource(
            kind,
            name.text,
            None if columns is None else elements_of(columns),
            _upper(properties),
            or_replace=bool(or_replace),
            if_not_exists=bool(if_not_exists),
            read_only=bool(read_only),
            at=at,
        )

    def create_as_select(
        self,
        at: Location,
        or_replace: bool | None,
        kind: SourceKind,
        if_not_exists: bool | None,
        name: Name,
        properties: Properties | None,
        query: Query,
    ) -> Statement:
        if query.limit is not None:
            raise PrepareError(f"CREATE {kind.name} AS SELECT statements don't support LIMIT clause.", query.at)
        return tree.CreateAsSelect(
            kind,
            name.text,
            query,
            _upper(properties),
            or_replace=bool(or_replace),
            if_not_exists=bool(if_not_exists),
            at=at,
        )

    def create_connector(
        self, at: Location, kind: str, if_not_exists: bool | None, name: Name, properties: Properties
    ) -> Statement:
        return tree.CreateConnector(kind, name.text, properties, if_not_exists=bool(if_not_exists), at=at)

    def create_type(self, at: Location, if_not_exists: bool | None, name: Name, kind: SqlType) -> Statement:
        return tree.CreateType(name.text, kind, if_not_exists=bool(if_not_exists), at=at)

    def drop_source(
        self, at: Location, kind: SourceKind, if_exists: bool | None, name: Name, delete_topic: bool | None
    ) -> Statement:
        return tree.DropSource(kind, name.text, bool(if_exists), bool(delete_topic), at=at)

    def drop_connector(self, at: Location, if_exists: bool | None, name: Name) -> Statement:
        return tree.DropConnector(name.text, bool(if_exists), at=at)

    def drop_type(self, at: Location, if_exists: bool | None, name: Name) -> Statement:
        return tree.DropType(name.text, bool(if_exists), at=at)

    def alter_source(self, at: Location, kind: SourceKind, name: Name, *options: Element) -> Statement:
        return tree.AlterSource(kind, name.text, options, at=at)

    # Data.

    def select_query(self, at: Location, query: Query) -> Statement:
        return tree.SelectQuery(query, at=at)

    def insert_into(self, at: Location, target: Name, properties: Properties | None, query: Query) -> Statement:
        return tree.InsertInto(target.text, query, _upper(properties), at=at)

    def insert_values(
        self, at: Location, target: Name, columns: tuple[str, ...] | None, values: tuple[Expression, ...]
    ) -> Statement:
        return tree.InsertValues(target.text, *_check_values(target, columns, values), at=at)

    # Inspection.

    def show_topics(self, at: Location, all_topics: bool | None, extended: bool | None) -> Statement:
        return tree.Show(Listing.TOPICS, bool(extended), bool(all_topics), at=at)

    def show_streams(self, at: Location, extended: bool | None) -> Statement:
        return tree.Show(Listing.STREAMS, bool(extended), at=at)

    def show_tables(self, at: Location, extended: bool | None) -> Statement:
        return tree.Show(Listing.TABLES, bool(extended), at=at)

    def show_queries(self, at: Location, extended: bool | None) -> Statement:
        return tree.Show(Listing.QUERIES, bool(extended), at=at)

    def show_properties(self, at: Location) -> Statement:
        return tree.Show(Listing.PROPERTIES, at=at)

    def show_functions(self, at: Location) -> Statement:
        return tree.Show(Listing.FUNCTIONS, at=at)

    def show_connectors(self, at: Location, kind: str | None) -> Statement:
        return tree.Show(Listing.CONNECTORS if kind is None else Listing[f"{kind}_CONNECTORS"], at=at)

    def show_plugins(self, at: Location) -> Statement:
        return tree.Show(Listing.CONNECTOR_PLUGINS, at=at)

    def show_types(self, at: Location) -> Statement:
        return tree.Show(Listing.TYPES, at=at)

    def show_variables(self, at: Location) -> Statement:
        return tree.Show(Listing.VARIABLES, at=at)

    def describe(self, at: Location, name: Name, extended: bool | None) -> Statement:
        # TABLES is a name as well: it lists the tables unless it is in quotes.
        if name.text == "TABLES" and not name.quoted:
            return tree.DescribeSources(SourceKind.TABLE, bool(extended), at=at)
        return tree.Describe(name.text, bool(extended), at=at)

    def describe_streams(self, at: Location, extended: bool | None) -> Statement:
        return tree.DescribeSources(SourceKind.STREAM, bool(extended), at=at)

    def describe_function(self, at: Location, name: Name) -> Statement:
        return tree.DescribeFunction(name.text if name.quoted else name.written, at=at)

    def describe_connector(self, at: Location, name: Name) -> Statement:
        return tree.DescribeConnector(name.text, at=at)

    def explain(self, at: Location, subject: Name | Statement) -> Statement:
        if isinstance(subject, Name):
            return tree.Explain(query_id=subject.text, at=at)
        return tree.Explain(statement=subject, at=at)

    def print_topic(
        self, at: Location, topic: str, from_beginning: bool | None, interval: int | None, limit: int | None
    ) -> Statement:
        return tree.PrintTopic(topic, bool(from_beginning), interval, limit, at=at)

    # Control.

    def terminate(self, at: Location, query: Name | bool) -> Statement:
        return tree.Terminate(_query_id(query), at=at)

    def pause(self, at: Location, query: Name | bool) -> Statement:
        return tree.Pause(_query_id(query), at=at)

    def resume(self, at: Location, query: Name | bool) -> Statement:
        return tree.Resume(_query_id(query), at=at)

    def set_property(self, at: Location, name: Token, value: Token) -> Statement:
        return tree.SetProperty(self._setting(name), self._setting(value), at=at)

    def unset_property(self, at: Location, name: Token) -> Statement:
        return tree.UnsetProperty(self._setting(name), at=at)

    def alter_system(self, at: Location, name: Token, value: Token) -> Statement:
        return tree.AlterSystem(unquote(name), unquote(value), at=at)

    def define(self, at: Location, name: str, value: Token) -> Statement:
        return tree.Define(name, unquote(value), at=at)

    def undefine(self, at: Location, name: str) -> Statement:
        return tree.Undefine(name, at=at)

    def run_script(self, at: Location, path: Token) -> Statement:
        return tree.RunScript(unquote(path), at=at)

    def _setting(self, token: Token) -> str:
        if token.type == "VARIABLE":
            self.variable_literal(self.source.at(token), token)
        return unquote(token)

    # Assertions.

    def assert_topic(
        self,
        at: Location,
        not_exists: bool | None,
        topic: str,
        properties: Properties | None,
        timeout: Duration | None,
    ) -> Statement:
        return tree.AssertTopic(topic, _upper(properties), timeout, exists=not not_exists, at=at)

    def assert_schema(
        self,
        at: Location,
        not_exists: bool | None,
        subject: str | None,
        schema_id: Literal | None,
        timeout: Duration | None,
    ) -> Statement:
        if schema_id is not None and not isinstance(schema_id, IntegerLiteral):
            raise PrepareError("ID must be an integer", schema_id.at)
        number = None if schema_id is None else schema_id.value
        return tree.AssertSchema(subject, number, timeout, exists=not not_exists, at=at)

    def assert_values(
        self, at: Location, source: Name, columns: tuple[str, ...] | None, values: tuple[Expression, ...]
    ) -> Statement:
        return tree.AssertValues(source.text, *_check_values(source, columns, values), at=at)

    def assert_tombstone(
        self, at: Location, source: Name, columns: tuple[str, ...] | None, values: tuple[Expression, ...]
    ) -> Statement:
        return tree.AssertTombstone(source.text, *_check_values(source, columns, values), at=at)

    def assert_source(
        self,
        at: Location,
        kind: SourceKind,
        name: Name,
        columns: tuple[Column, ...] | None,
        properties: Properties | None,
    ) -> Statement:
        created = self.create_source(at, None, None, kind, None, name, columns, properties)
        return tree.AssertSource(created, at=at)


def _check_values(
    target: Name, columns: tuple[str, ...] | None, values: tuple[Expression, ...]
) -> tuple[tuple[str, ...], tuple[Expression, ...]]:
    if not values:
        raise PrepareError("Expected some values for INSERT INTO statement.", target.at)
    if columns is not None and len(columns) != len(values):
        raise PrepareError(f"Expected number columns and values to match: {len(columns)}, {len(values)}", target.at)
    return columns or (), values


def _upper(properties: Properties | None) -> Properties:
    """Properties of ours: their names are the same in any case, even in quotes."""
    return {name.upper(): value for name, value in (properties or {}).items()}


def _query_id(query: Name | bool) -> str | None:
    return query.text if isinstance(query, Name) else None
