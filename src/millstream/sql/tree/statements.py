"""Statements."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from millstream.sql.errors import Location
from millstream.sql.schema.types import SqlType
from millstream.sql.tree.expressions import Expression, Literal
from millstream.sql.tree.queries import Duration, Query

#: What WITH(..) holds: names in upper case.
Properties = Mapping[str, Literal]


class SourceKind(enum.Enum):
    """Streams and tables."""

    STREAM = "STREAM"
    TABLE = "TABLE"


class Constraint(enum.Enum):
    """What follows a column's type."""

    NONE = ""
    KEY = "KEY"
    PRIMARY_KEY = "PRIMARY KEY"
    HEADERS = "HEADERS"
    HEADER = "HEADER"


@dataclass(frozen=True)
class Element:
    """A column as CREATE names it.

    Attributes:
        header: the k of HEADER('k').
    """

    name: str
    type: SqlType
    constraint: Constraint = Constraint.NONE
    header: str | None = None


@dataclass(frozen=True, kw_only=True)
class Statement:
    """Anything that can be executed.

    Attributes:
        at: where it begins.
    """

    at: Location | None = field(default=None, compare=False, repr=False)


# Definition.


@dataclass(frozen=True)
class CreateSource(Statement):
    """CREATE [OR REPLACE] [SOURCE] STREAM|TABLE. `elements` is None when there were no parentheses."""

    kind: SourceKind
    name: str
    elements: tuple[Element, ...] | None
    properties: Properties
    or_replace: bool = False
    if_not_exists: bool = False
    read_only: bool = False


@dataclass(frozen=True)
class CreateAsSelect(Statement):
    """CREATE [OR REPLACE] STREAM|TABLE .. AS SELECT."""

    kind: SourceKind
    name: str
    query: Query
    properties: Properties
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class InsertInto(Statement):
    """INSERT INTO target SELECT."""

    target: str
    query: Query
    properties: Properties


@dataclass(frozen=True)
class InsertValues(Statement):
    """INSERT INTO target (columns) VALUES (values); no columns were given when `columns` is empty."""

    target: str
    columns: tuple[str, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True)
class SelectQuery(Statement):
    """A pull or push query."""

    query: Query


@dataclass(frozen=True)
class DropSource(Statement):
    """DROP STREAM|TABLE."""

    kind: SourceKind
    name: str
    if_exists: bool = False
    delete_topic: bool = False


@dataclass(frozen=True)
class AlterSource(Statement):
    """ALTER STREAM|TABLE .. ADD COLUMN."""

    kind: SourceKind
    name: str
    columns: tuple[Element, ...]


@dataclass(frozen=True)
class CreateType(Statement):
    """CREATE TYPE."""

    name: str
    type: SqlType
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropType(Statement):
    """DROP TYPE."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class CreateConnector(Statement):
    """CREATE SOURCE|SINK CONNECTOR."""

    kind: str
    name: str
    properties: Properties
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropConnector(Statement):
    """DROP CONNECTOR."""

    name: str
    if_exists: bool = False


# Inspection.


class Listing(enum.Enum):
    """What LIST and SHOW can list."""

    PROPERTIES = "PROPERTIES"
    TOPICS = "TOPICS"
    STREAMS = "STREAMS"
    TABLES = "TABLES"
    FUNCTIONS = "FUNCTIONS"
    QUERIES = "QUERIES"
    TYPES = "TYPES"
    VARIABLES = "VARIABLES"
    CONNECTORS = "CONNECTORS"
    SOURCE_CONNECTORS = "SOURCE CONNECTORS"
    SINK_CONNECTORS = "SINK CONNECTORS"
    CONNECTOR_PLUGINS = "CONNECTOR PLUGINS"


@dataclass(frozen=True)
class Show(Statement):
    """LIST|SHOW [ALL] .. [EXTENDED]."""

    listing: Listing
    extended: bool = False
    all: bool = False


@dataclass(frozen=True)
class Describe(Statement):
    """DESCRIBE source [EXTENDED]."""

    name: str
    extended: bool = False


@dataclass(frozen=True)
class DescribeSources(Statement):
    """DESCRIBE STREAMS|TABLES [EXTENDED]."""

    kind: SourceKind
    extended: bool = False


@dataclass(frozen=True)
class DescribeFunction(Statement):
    """DESCRIBE FUNCTION."""

    name: str


@dataclass(frozen=True)
class DescribeConnector(Statement):
    """DESCRIBE CONNECTOR."""

    name: str


@dataclass(frozen=True)
class Explain(Statement):
    """EXPLAIN query id | statement: one of the two is there."""

    query_id: str | None = None
    statement: Statement | None = None


@dataclass(frozen=True)
class PrintTopic(Statement):
    """PRINT topic."""

    topic: str
    from_beginning: bool = False
    interval: int | None = None
    limit: int | None = None


# Control.


@dataclass(frozen=True)
class Terminate(Statement):
    """TERMINATE id; None for ALL."""

    query_id: str | None


@dataclass(frozen=True)
class Pause(Statement):
    """PAUSE id; None for ALL."""

    query_id: str | None


@dataclass(frozen=True)
class Resume(Statement):
    """RESUME id; None for ALL."""

    query_id: str | None


@dataclass(frozen=True)
class SetProperty(Statement):
    """SET 'name' = 'value'."""

    name: str
    value: str


@dataclass(frozen=True)
class UnsetProperty(Statement):
    """UNSET 'name'."""

    name: str


@dataclass(frozen=True)
class AlterSystem(Statement):
    """ALTER SYSTEM 'name' = 'value'."""

    name: str
    value: str


@dataclass(frozen=True)
class Define(Statement):
    """DEFINE name = 'value'."""

    name: str
    value: str


@dataclass(frozen=True)
class Undefine(Statement):
    """UNDEFINE name."""

    name: str


@dataclass(frozen=True)
class RunScript(Statement):
    """RUN SCRIPT 'file'."""

    path: str


# Assertions.


@dataclass(frozen=True)
class AssertTopic(Statement):
    """ASSERT [NOT EXISTS] TOPIC."""

    topic: str
    properties: Properties
    timeout: Duration | None = None
    exists: bool = True


@dataclass(frozen=True)
class AssertSchema(Statement):
    """ASSERT [NOT EXISTS] SCHEMA."""

    subject: str | None
    id: int | None
    timeout: Duration | None = None
    exists: bool = True


@dataclass(frozen=True)
class AssertValues(Statement):
    """ASSERT VALUES source (columns) VALUES (values)."""

    source: str
    columns: tuple[str, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True)
class AssertTombstone(Statement):
    """ASSERT NULL VALUES source (columns) KEY (values)."""

    source: str
    columns: tuple[str, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True)
class AssertSource(Statement):
    """ASSERT STREAM|TABLE name (elements) WITH (..)."""

    statement: CreateSource
