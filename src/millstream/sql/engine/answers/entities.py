"""What statements answer, shaped like the entities that ksqlDB's server sends.

`to_json` gives the server's form: names in camel case, and `@type`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar

from millstream.sql.engine.answers.rows import as_json
from millstream.sql.engine.answers.schema_info import FieldInfo, SchemaInfo
from millstream.sql.engine.progress import QueryError
from millstream.sql.schema.columns import Column


@dataclass(frozen=True, kw_only=True)
class Entity:
    """An answer.

    Attributes:
        statement_text: the statement it answers.
        warnings: what the user should know although the statement worked.
    """

    type: ClassVar[str] = ""

    statement_text: str = ""
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The server's form."""
        content = {_camel(item.name): _json(getattr(self, item.name)) for item in dataclasses.fields(self)}
        content["warnings"] = [{"message": warning} for warning in self.warnings]
        return {"@type": self.type, **content}


# Definition and control.


@dataclass(frozen=True)
class CommandId:
    """What a command was about: `stream/ORDERS/create`."""

    type: str
    entity: str
    action: str

    def __str__(self) -> str:
        return f"{self.type}/{self.entity}/{self.action}"


@dataclass(frozen=True)
class CommandStatus:
    """How a command went."""

    message: str
    status: str = "SUCCESS"
    query_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class CurrentStatus(Entity):
    """The answer to what changes something.

    Attributes:
        command_sequence_number: its place in the command topic; -1 if it has none.
    """

    type: ClassVar[str] = "currentStatus"

    command_id: CommandId
    command_status: CommandStatus
    command_sequence_number: int = -1

    @property
    def message(self) -> str:
        return self.command_status.message

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "commandId": str(self.command_id)}


@dataclass(frozen=True, kw_only=True)
class WarningEntity(Entity):
    """The answer to what had nothing to do."""

    type: ClassVar[str] = "warning_entity"

    message: str


@dataclass(frozen=True, kw_only=True)
class AssertTopicResult(Entity):
    """The answer to ASSERT TOPIC."""

    type: ClassVar[str] = "assert_topic"

    topic_name: str
    exists: bool


@dataclass(frozen=True, kw_only=True)
class AssertSchemaResult(Entity):
    """The answer to ASSERT SCHEMA."""

    type: ClassVar[str] = "assert_schema"

    subject: str | None
    id: int | None
    exists: bool


@dataclass(frozen=True, kw_only=True)
class TerminatedQuery(Entity):
    """The answer to TERMINATE of a push query."""

    type: ClassVar[str] = "terminate_query"

    query_id: str
    was_terminated: bool


# Lists.


@dataclass(frozen=True)
class SourceInfo:
    """A stream or table in a list."""

    type: str
    name: str
    topic: str
    key_format: str
    value_format: str
    is_windowed: bool


@dataclass(frozen=True, kw_only=True)
class StreamsList(Entity):
    """SHOW STREAMS."""

    type: ClassVar[str] = "streams"

    streams: tuple[SourceInfo, ...]


@dataclass(frozen=True, kw_only=True)
class TablesList(Entity):
    """SHOW TABLES."""

    type: ClassVar[str] = "tables"

    tables: tuple[SourceInfo, ...]


@dataclass(frozen=True)
class TopicInfo:
    """A topic in a list."""

    name: str
    replica_info: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class TopicsList(Entity):
    """SHOW TOPICS."""

    type: ClassVar[str] = "kafka_topics"

    topics: tuple[TopicInfo, ...]


@dataclass(frozen=True)
class RunningQuery:
    """A query in a list."""

    id: str
    query_string: str
    sinks: tuple[str, ...]
    sink_kafka_topics: tuple[str, ...]
    state: str
    query_type: str = "PERSISTENT"
    status_count: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class QueriesList(Entity):
    """SHOW QUERIES."""

    type: ClassVar[str] = "queries"

    queries: tuple[RunningQuery, ...]


@dataclass(frozen=True)
class Property:
    """A property in a list."""

    name: str
    scope: str
    value: str | None
    editable: bool
    level: str | None = None


@dataclass(frozen=True, kw_only=True)
class PropertiesList(Entity):
    """SHOW PROPERTIES."""

    type: ClassVar[str] = "properties"

    properties: tuple[Property, ...]
    overwritten_properties: tuple[str, ...] = ()
    default_properties: tuple[str, ...] = ()


@dataclass(frozen=True)
class FunctionName:
    """A function in a list."""

    name: str
    type: str
    category: str


@dataclass(frozen=True, kw_only=True)
class FunctionsList(Entity):
    """SHOW FUNCTIONS."""

    type: ClassVar[str] = "function_names"

    functions: tuple[FunctionName, ...]


@dataclass(frozen=True, kw_only=True)
class TypesList(Entity):
    """SHOW TYPES."""

    type: ClassVar[str] = "type_list"

    types: Mapping[str, SchemaInfo]


@dataclass(frozen=True)
class Variable:
    """A variable in a list."""

    name: str
    value: str


@dataclass(frozen=True, kw_only=True)
class VariablesList(Entity):
    """SHOW VARIABLES."""

    type: ClassVar[str] = "variables"

    variables: tuple[Variable, ...]


# Descriptions.


@dataclass(frozen=True)
class ConsumerPartitionOffsets:
    """How far a query is in a partition."""

    partition: int
    log_start_offset: int
    log_end_offset: int
    consumer_offset: int


@dataclass(frozen=True)
class QueryTopicOffsetSummary:
    """How far a query is in a topic."""

    kafka_topic: str
    offsets: tuple[ConsumerPartitionOffsets, ...]


@dataclass(frozen=True)
class QueryOffsetSummary:
    """How far a query is."""

    group_id: str
    topic_summaries: tuple[QueryTopicOffsetSummary, ...]


@dataclass(frozen=True)
class SourceDescription:
    """A stream or table, described.

    Attributes:
        extended: whether the fields after it were asked for.
    """

    name: str
    window_type: str | None
    read_queries: tuple[RunningQuery, ...]
    write_queries: tuple[RunningQuery, ...]
    fields: tuple[FieldInfo, ...]
    type: str
    timestamp: str
    key_format: str
    value_format: str
    topic: str
    extended: bool = False
    statistics: str = ""
    error_stats: str = ""
    partitions: int = 0
    replication: int = 0
    statement: str = ""
    query_offset_summaries: tuple[QueryOffsetSummary, ...] = ()
    source_constraints: tuple[str, ...] = ()
    cluster_statistics: tuple[Any, ...] = ()
    cluster_error_stats: tuple[Any, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SourceDescriptionEntity(Entity):
    """DESCRIBE source."""

    type: ClassVar[str] = "sourceDescription"

    source_description: SourceDescription


@dataclass(frozen=True, kw_only=True)
class SourceDescriptionsEntity(Entity):
    """DESCRIBE STREAMS, and SHOW STREAMS EXTENDED."""

    type: ClassVar[str] = "source_descriptions"

    source_descriptions: tuple[SourceDescription, ...]


@dataclass(frozen=True)
class QueryDescription:
    """A query, described.

    Attributes:
        execution_plan: the steps, one per line.
    """

    id: str
    statement_text: str
    window_type: str | None
    fields: tuple[FieldInfo, ...]
    sources: tuple[str, ...]
    sinks: tuple[str, ...]
    topology: str
    execution_plan: str
    state: str
    overridden_properties: Mapping[str, Any] = field(default_factory=dict)
    ksql_host_query_status: Mapping[str, str] = field(default_factory=dict)
    query_type: str = "PERSISTENT"
    query_errors: tuple[QueryError, ...] = ()
    tasks_metadata: tuple[Any, ...] = ()
    consumer_group_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class QueryDescriptionEntity(Entity):
    """EXPLAIN."""

    type: ClassVar[str] = "queryDescription"

    query_description: QueryDescription


@dataclass(frozen=True, kw_only=True)
class QueryDescriptionsEntity(Entity):
    """SHOW QUERIES EXTENDED."""

    type: ClassVar[str] = "query_descriptions"

    query_descriptions: tuple[QueryDescription, ...]


@dataclass(frozen=True)
class FunctionArgument:
    """An argument of a function."""

    name: str
    type: str
    is_variadic: bool
    description: str = ""


@dataclass(frozen=True)
class FunctionVariant:
    """A variant of a function."""

    arguments: tuple[FunctionArgument, ...]
    return_type: str
    description: str


@dataclass(frozen=True, kw_only=True)
class FunctionDescriptionEntity(Entity):
    """DESCRIBE FUNCTION."""

    type: ClassVar[str] = "describe_function"

    name: str
    kind: str
    author: str
    description: str
    functions: tuple[FunctionVariant, ...]
    version: str = ""
    path: str = "internal"

    def to_json(self) -> dict[str, Any]:
        content = super().to_json()
        content["type"] = content.pop("kind")
        return content


@dataclass(frozen=True)
class PrintedRecord:
    """A record of PRINT.

    Attributes:
        key: as its guessed format shows it.
        value: as its guessed format shows it.
    """

    rowtime: int
    key: str
    value: str
    partition: int

    @property
    def line(self) -> str:
        """As ksqlDB writes it."""
        time = "N/A" if self.rowtime < 0 else _shown_time(self.rowtime)
        return f"rowtime: {time}, key: {self.key}, value: {self.value}, partition: {self.partition}"


@dataclass(frozen=True, kw_only=True)
class PrintedTopic(Entity):
    """PRINT: which formats the records seem to have, and the records; as they come when there is no end to them."""

    type: ClassVar[str] = "print_topic"

    topic: str
    key_format: str
    value_format: str
    records: Iterable[PrintedRecord]


@dataclass(frozen=True, kw_only=True)
class QueryAnswer(Entity):
    """SELECT: the answer to a pull or push query.

    Attributes:
        columns: of the rows; pull queries of tables tell which belong to the key.
        rows: their values, structs as dicts.
        tombstones: the positions of rows that say that a key is gone.
        final_message: why there are no more rows, where ksqlDB says so.
    """

    type: ClassVar[str] = "query_answer"

    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    tombstones: frozenset[int] = frozenset()
    final_message: str | None = None

    @property
    def schema(self) -> str:
        """The columns as the header of an answer shows them."""
        return ", ".join(map(str, self.columns))

    def to_json(self) -> dict[str, Any]:
        names = [column.name for column in self.columns]
        rows = [dict(zip(names, map(as_json, row), strict=True)) for row in self.rows]
        content = {"schema": self.schema, "rows": rows, "finalMessage": self.final_message}
        return {"@type": self.type, "statementText": self.statement_text, "warnings": [], **content}


def _shown_time(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    try:
        shown = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):  # later than Python's last year
        return str(milliseconds)
    return f"{shown:%Y/%m/%d %H:%M:%S}.{rest:03} Z"


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _json(value: Any) -> Any:
    if isinstance(value, (SchemaInfo, FieldInfo)):
        return value.to_json()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {_camel(item.name): _json(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {name: _json(item) for name, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_json(item) for item in value]
    return value
