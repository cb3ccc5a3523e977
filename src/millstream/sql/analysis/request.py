"""What the planner is asked for, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from millstream.sql.catalogue import Source
from millstream.sql.errors import Location
from millstream.sql.plan.steps import QueryPlan
from millstream.sql.schema.columns import Schema
from millstream.sql.schema.formats import TimestampColumn
from millstream.sql.tree.statements import SourceKind

#: How many partitions a topic has.
PartitionCount = Callable[[str], int]


@dataclass(frozen=True)
class SinkRequest:
    """Where the result of a persistent query goes.

    Attributes:
        name: the stream or table.
        kind: what CREATE .. AS makes; None for INSERT INTO, whose target exists.
        topic: KAFKA_TOPIC; else the prefix `ksql.output.topic.name.prefix` and the name.
        key_format: KEY_FORMAT or FORMAT; else that of the leftmost source.
        value_format: VALUE_FORMAT or FORMAT; else that of the leftmost source.
        key_properties: what WITH says about the key's format (`delimiter`, `fullSchemaName`, ...).
        value_properties: what WITH says about the value's format.
        wrap_single_value: WRAP_SINGLE_VALUE.
        timestamp: TIMESTAMP and TIMESTAMP_FORMAT.
        or_replace: CREATE OR REPLACE.
        if_not_exists: CREATE .. IF NOT EXISTS.
        sql: the statement, for the catalogue.
        at: where the statement begins, for messages.
    """

    name: str
    kind: SourceKind | None
    topic: str | None = None
    key_format: str | None = None
    value_format: str | None = None
    key_properties: Mapping[str, str] = field(default_factory=dict)
    value_properties: Mapping[str, str] = field(default_factory=dict)
    wrap_single_value: bool | None = None
    timestamp: TimestampColumn | None = None
    or_replace: bool = False
    if_not_exists: bool = False
    sql: str = ""
    at: Location | None = None


@dataclass(frozen=True)
class PlannedQuery:
    """A query, ready to be built.

    Attributes:
        kind: whether the result is a stream or a table.
        schema: the columns of the result.
        sink: what to put into the catalogue; None for INSERT INTO and for pull and push queries.
        limit: LIMIT of a pull or push query.
    """

    plan: QueryPlan
    kind: SourceKind
    schema: Schema
    sink: Source | None = None
    limit: int | None = None
