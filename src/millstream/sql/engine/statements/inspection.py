"""SHOW, DESCRIBE, EXPLAIN and PRINT."""

from __future__ import annotations

from millstream.config import is_secret
from millstream.sql.engine.answers.descriptions import (
    describe_query,
    describe_source,
    push_query,
    running_query,
    source_info,
)
from millstream.sql.engine.answers.entities import (
    Entity,
    FunctionArgument,
    FunctionDescriptionEntity,
    FunctionName,
    FunctionsList,
    FunctionVariant,
    PropertiesList,
    Property,
    QueriesList,
    QueryDescriptionEntity,
    QueryDescriptionsEntity,
    SourceDescriptionEntity,
    SourceDescriptionsEntity,
    StreamsList,
    TablesList,
    TopicInfo,
    TopicsList,
    TypesList,
    Variable,
    VariablesList,
)
from millstream.sql.engine.answers.printing import print_records
from millstream.sql.engine.answers.schema_info import SchemaInfo
from millstream.sql.engine.context import Context
from millstream.sql.engine.statements import persistent
from millstream.sql.engine.statements.connectors import show_connectors
from millstream.sql.errors import SqlError
from millstream.sql.settings import definition_of
from millstream.sql.tree.statements import (
    CreateAsSelect,
    Describe,
    DescribeFunction,
    DescribeSources,
    Explain,
    InsertInto,
    Listing,
    PrintTopic,
    SelectQuery,
    Show,
    SourceKind,
)

_INTERNAL_TOPICS = ("_confluent", "__confluent", "_schemas", "__consumer_offsets", "__transaction_state")
_TOPICS_OF_CONNECT = ("connect-configs", "connect-offsets", "connect-status", "connect-statuses")


def show(context: Context, statement: Show, text: str) -> Entity:
    """SHOW anything."""
    listing = statement.listing
    if listing in (Listing.STREAMS, Listing.TABLES):
        return _show_sources(context, statement, text)
    if listing is Listing.TOPICS:
        return _show_topics(context, text, everything=statement.all)
    if listing is Listing.QUERIES:
        return _show_queries(context, text, extended=statement.extended)
    if listing is Listing.PROPERTIES:
        return _show_properties(context, text)
    if listing is Listing.FUNCTIONS:
        return FunctionsList(
            statement_text=text,
            functions=tuple(
                FunctionName(found.name, found.kind, found.category) for found in context.functions.describe()
            ),
        )
    if listing is Listing.TYPES:
        types = {name: SchemaInfo.of(kind) for name, kind in sorted(context.catalogue.types.items())}
        return TypesList(statement_text=text, types=types)
    if listing is Listing.VARIABLES:
        variables = tuple(Variable(name, value) for name, value in sorted(context.variables.items()))
        return VariablesList(statement_text=text, variables=variables)
    return show_connectors(context, statement, text)


def _show_sources(context: Context, statement: Show, text: str) -> Entity:
    kind = SourceKind.STREAM if statement.listing is Listing.STREAMS else SourceKind.TABLE
    if statement.extended:
        return describe_sources(context, DescribeSources(kind, extended=True), text)
    sources = sorted((source for source in context.catalogue if source.kind is kind), key=lambda source: source.name)
    listed = tuple(map(source_info, sources))
    if kind is SourceKind.STREAM:
        return StreamsList(statement_text=text, streams=listed)
    return TablesList(statement_text=text, tables=listed)


def _show_topics(context: Context, text: str, *, everything: bool) -> Entity:
    found = []
    for name in context.topics.names():
        topic = context.topics.describe(name)
        is_internal = name.startswith(_INTERNAL_TOPICS) or name in _TOPICS_OF_CONNECT
        if topic is not None and (everything or not is_internal):
            found.append(TopicInfo(name, (topic.replicas,) * topic.partitions))
    return TopicsList(statement_text=text, topics=tuple(found))


def _show_queries(context: Context, text: str, *, extended: bool) -> Entity:
    if extended:
        described = tuple(describe_query(context, query) for query in context.queries)
        return QueryDescriptionsEntity(statement_text=text, query_descriptions=described)
    queries = [running_query(context, query) for query in context.queries]
    return QueriesList(statement_text=text, queries=(*queries, *map(push_query, context.push_queries())))


def _show_properties(context: Context, text: str) -> Entity:
    settings = context.settings
    listed = []
    for name in sorted(settings):
        definition = definition_of(name)
        value = settings.get(name)
        listed.append(
            Property(
                name,
                "KSQL" if name.startswith("ksql.") else "EXTERNAL",
                None if value is None else "[hidden]" if is_secret(name) else str(value),
                definition is None or definition.editable,
                "QUERY" if name in settings.overrides else "SERVER",
            )
        )
    return PropertiesList(
        statement_text=text,
        properties=tuple(listed),
        overwritten_properties=tuple(sorted(settings.overrides)),
    )


def describe(context: Context, statement: Describe, text: str) -> Entity:
    """DESCRIBE source."""
    source = context.catalogue.get(statement.name)
    if source is None:
        raise SqlError(f"Could not find STREAM/TABLE '{statement.name}' in the Metastore")
    described = describe_source(context, source, extended=statement.extended)
    return SourceDescriptionEntity(statement_text=text, source_description=described)


def describe_sources(context: Context, statement: DescribeSources, text: str) -> Entity:
    """DESCRIBE STREAMS and DESCRIBE TABLES."""
    sources = sorted(
        (source for source in context.catalogue if source.kind is statement.kind), key=lambda source: source.name
    )
    described = tuple(describe_source(context, source, extended=statement.extended) for source in sources)
    return SourceDescriptionsEntity(statement_text=text, source_descriptions=described)


def describe_function(context: Context, statement: DescribeFunction, text: str) -> Entity:
    """DESCRIBE FUNCTION."""
    name = statement.name.upper()
    for function in context.functions.describe():
        if function.name == name:
            variants = tuple(
                FunctionVariant(
                    tuple(
                        FunctionArgument(argument.name, argument.type, argument.is_variadic)
                        for argument in variant.arguments
                    ),
                    variant.returns,
                    variant.description,
                )
                for variant in function.variants
            )
            return FunctionDescriptionEntity(
                statement_text=text,
                name=name,
                kind=function.kind,
                author=function.author,
                description=function.description,
                functions=variants,
            )
    raise SqlError(f"Can't find any functions with the name '{statement.name}'")


def explain(context: Context, statement: Explain, text: str) -> Entity:
    """EXPLAIN a running query, or what a statement would run."""
    if statement.query_id is not None:
        query = context.queries.get(statement.query_id)
        if query is None:
            raise SqlError(
                f"Query with id:{statement.query_id} does not exist, use SHOW QUERIES to view the full set of queries."
            )
        return QueryDescriptionEntity(statement_text=text, query_description=describe_query(context, query))
    inner = statement.statement
    if not isinstance(inner, CreateAsSelect | InsertInto | SelectQuery):
        raise SqlError("The provided statement does not run a ksql query")
    planned = persistent.plan_for_explain(context, inner, text)
    described = describe_query(context, planned, running=False)
    return QueryDescriptionEntity(statement_text=text, query_description=described)


def print_topic(context: Context, statement: PrintTopic, text: str) -> Entity:
    """PRINT topic."""
    return print_records(context, statement, text)
