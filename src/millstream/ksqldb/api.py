"""What the rooms of a service know of each other.

REST asks a `Service`. Statements go to `ksqldb/commands`, queries to `ksqldb/queries`; both give back what is here.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from millstream.errors import MillstreamError
from millstream.sql.engine.answers.entities import CommandStatus, Entity
from millstream.sql.engine.progress import QueryProgress
from millstream.sql.engine.queries import QueryState
from millstream.sql.schema.columns import Column


class ServiceError(MillstreamError):
    """A request cannot be answered.

    Args:
        code: ksqlDB's error code; the HTTP status is a hundredth of it.
        primary: what is wrong.
        statement: the statement it is about; None if it is about no statement.
        status: the HTTP status, where the code does not tell it.
    """

    def __init__(
        self,
        code: int,
        primary: str,
        *,
        statement: str | None = None,
        detail: str | None = None,
        hint: str | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(primary, detail=detail, hint=hint)
        self.code = code
        self.status = code // 100 if status is None else status
        self.statement = statement


@dataclass(frozen=True)
class Request:
    """Statements of a client, and the session they are executed in.

    Args:
        sql: the statements.
        properties: what the client has SET.
        variables: what it has DEFINEd.
        after: the sequence number of a command that must have been executed before; None if any state will do.
        request_properties: `request.ksql.*`: how this one request is to be handled.
        may_change: whether who asks may change something.
    """

    sql: str
    properties: Mapping[str, Any] = field(default_factory=dict, hash=False)
    variables: Mapping[str, str] = field(default_factory=dict, hash=False)
    after: int | None = None
    request_properties: Mapping[str, Any] = field(default_factory=dict, hash=False)
    may_change: bool = True


class AnswerKind(enum.Enum):
    """Where the rows of an answer come from."""

    TABLE_PULL = "pull of a table"
    STREAM_PULL = "pull of a stream"
    PUSH = "push"
    PRINT = "print"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of an answer: plain values, structs as dicts; of PRINT, one line of text."""

    values: tuple[Any, ...]
    is_tombstone: bool = False


@dataclass(frozen=True)
class End:
    """How an answer ended.

    Args:
        message: "Limit Reached" or "Query Completed"; None if there is nothing to say.
        error: why it ended early.
    """

    message: str | None = None
    error: MillstreamError | None = None


class Answer(Protocol):
    """Rows on their way to one client. Its methods may be called from any thread, and none of them waits."""

    @property
    def query_id(self) -> str: ...

    @property
    def kind(self) -> AnswerKind: ...

    @property
    def columns(self) -> Sequence[Column]:
        """The columns of its rows; none of PRINT."""

    @property
    def key_columns(self) -> frozenset[str]:
        """The names of the columns that are keys; pulls of tables show it."""

    def listen(self, wake: Callable[[], None]) -> None:
        """Have `wake` called, from any thread, when there may be something to take, and at the end; also at once."""

    def take(self) -> list[Row]:
        """What has come since the last call."""

    @property
    def end(self) -> End | None:
        """How it ended; None as long as more may come or something is left to take."""

    def close(self) -> None:
        """Nobody listens any more. Safe to call again."""


class Inserting(Protocol):
    """Rows of one client on their way into a stream or table."""

    def insert(self, row: Mapping[str, Any], done: Callable[[MillstreamError | None], None]) -> None:
        """Write a row; `done` is called once, from any thread, when it is in the topic or why it is not.

        Raises:
            ServiceError: the row does not fit; `done` is not called.
        """

    def close(self) -> None:
        """That was all. Safe to call again."""


class ServerStatus(enum.Enum):
    """What a server says of itself."""

    RUNNING = "RUNNING"
    ERROR = "ERROR"
    DEGRADED = "DEGRADED"


class ServerState(enum.Enum):
    """Whether a server takes requests."""

    INITIALIZING = "INITIALIZING"
    READY = "READY"
    TERMINATING = "TERMINATING"
    TERMINATED = "TERMINATED"


@dataclass(frozen=True)
class ServerInfo:
    """What `/info` tells."""

    version: str
    kafka_cluster_id: str
    service_id: str
    status: ServerStatus


@dataclass(frozen=True)
class Health:
    """What `/healthcheck` tells."""

    metastore: bool
    kafka: bool
    command_runner: bool

    @property
    def is_healthy(self) -> bool:
        return self.metastore and self.kafka and self.command_runner


@dataclass(frozen=True)
class QueryFigures:
    """What a server does for a persistent query."""

    id: str
    state: QueryState
    progress: QueryProgress


class Service(Protocol):
    """What REST asks. Methods may wait, and may be called from several threads."""

    @property
    def state(self) -> ServerState: ...

    def execute(self, request: Request) -> list[Entity]:
        """Execute statements, in order, after all of them were checked.

        Raises:
            ServiceError: one of them cannot be executed.
        """

    def query(self, request: Request) -> Answer:
        """Begin to answer a single SELECT or PRINT.

        Raises:
            ServiceError: it cannot be answered.
        """

    def close_query(self, query_id: str) -> bool:
        """End a push query; False if there is none of that id."""

    def insert_into(self, target: str, properties: Mapping[str, Any]) -> Inserting:
        """Begin to insert rows.

        Raises:
            ServiceError: nothing can be inserted there.
        """

    def status_of(self, command_id: str) -> CommandStatus | None:
        """How a command went, or goes; None if none of that id is known."""

    def statuses(self) -> Mapping[str, str]:
        """The status of every command by its id."""

    def is_property(self, name: str) -> bool:
        """Whether a property is known and clients may set it."""

    def info(self) -> ServerInfo:
        """What this server is."""

    def health(self) -> Health:
        """How this server is."""

    def persistent_queries(self) -> list[QueryFigures]:
        """What this server does for each persistent query."""

    def terminate(self, delete_topics: Sequence[str]) -> list[Entity]:
        """End the service for good: its queries, sink topics that match one of these patterns, its command topic.

        Raises:
            ServiceError: a pattern is none, or something failed.
        """
