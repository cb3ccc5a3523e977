"""The persistent queries that run, and their ids."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from millstream.sql.engine.progress import InputOffsets, QueryError, QueryProgress
from millstream.sql.errors import SqlError
from millstream.sql.physical import Kept
from millstream.sql.plan.steps import QueryPlan
from millstream.sql.pull import StoredRows
from millstream.sql.settings import Settings
from millstream.sql.tree.statements import SourceKind
from millstream.topology import Topology

_RESERVED_PREFIXES = ("INSERTQUERY_", "CTAS_", "CSAS_", "CST_")


class QueryKind(enum.Enum):
    """How a query came to be."""

    CREATE_AS = "CREATE_AS"
    INSERT = "INSERT"
    CREATE_SOURCE = "CREATE_SOURCE"
    PUSH = "PUSH"


class QueryState(enum.Enum):
    """What a persistent query does."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    ERROR = "ERROR"
    UNRESPONSIVE = "UNRESPONSIVE"


@dataclass(frozen=True)
class PersistentQuery:
    """A persistent query.

    Attributes:
        sql: its statement.
        application_id: the name it has in Kafka: of its consumer group and in front of its internal topics.
        settings: those in force when it was started.
        source_topics: what it reads.
        sink_topic: where it writes; None for a query that only keeps a source table.
        kept: the store behind the table it makes or keeps.
    """

    id: str
    kind: QueryKind
    sql: str
    plan: QueryPlan
    topology: Topology
    application_id: str
    settings: Settings
    source_topics: frozenset[str] = frozenset()
    sink_topic: str | None = None
    kept: Kept | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        return self.plan.sources

    @property
    def sink(self) -> str | None:
        return self.plan.sink


@dataclass(frozen=True)
class PushQuery:
    """A push query that a client looks at."""

    id: str
    sql: str


class QueryRunner(Protocol):
    """What runs persistent queries."""

    def start(self, query: PersistentQuery) -> None:
        """Run a query. One of the same id that runs already is replaced, and its state kept."""

    def stop(self, query: PersistentQuery) -> None:
        """End a query for good: its state and internal topics go too."""

    def pause(self, query: PersistentQuery) -> None:
        """Process nothing until `resume`."""

    def resume(self, query: PersistentQuery) -> None:
        """Go on after `pause`."""

    def state(self, query: PersistentQuery) -> QueryState:
        """What it does."""

    def errors(self, query: PersistentQuery) -> list[QueryError]:
        """What went wrong lately."""

    def progress(self, query: PersistentQuery) -> QueryProgress:
        """What this server does for it."""

    def offsets(self, query: PersistentQuery) -> list[InputOffsets]:
        """How far it is in the inputs that this server reads for it.

        Raises:
            MillstreamError: Kafka cannot be asked.
        """

    def rows(self, query: PersistentQuery, store: str) -> StoredRows:
        """What a store of a query holds now.

        Raises:
            MillstreamError: it cannot be asked.
        """

    def run_to_end(self, query: PersistentQuery, is_enough: Callable[[], bool]) -> None:
        """Run a query that is not started over the records that its topics hold now, until `is_enough` says so.

        Raises:
            SqlError: the records have no end.
        """

    def close(self) -> None:
        """End all queries; those that keep their state go on when they are started again."""


class Queries:
    """The persistent queries by id, and the runner that runs them."""

    def __init__(self, runner: QueryRunner) -> None:
        self.runner = runner
        self._queries: dict[str, PersistentQuery] = {}
        self._next_number = 0

    def copy(self, runner: QueryRunner | None = None) -> Queries:
        """The same queries in a list of its own; nothing is started.

        Args:
            runner: who is told of changes to the copy; the same as before unless given.
        """
        copied = Queries(self.runner if runner is None else runner)
        copied._queries = dict(self._queries)
        copied._next_number = self._next_number
        return copied

    @property
    def next_number(self) -> int:
        """The number in the id of the next query that gets one."""
        return self._next_number

    def number_from(self, number: int) -> None:
        """Give the next query this number: servers that execute the same statements must give the same ids."""
        self._next_number = number

    def __iter__(self) -> Iterator[PersistentQuery]:
        return iter(self._queries.values())

    def __len__(self) -> int:
        return len(self._queries)

    def get(self, query_id: str) -> PersistentQuery | None:
        """A query; ids are known in any case."""
        return self._queries.get(query_id) or self._queries.get(query_id.upper())

    def add(self, query: PersistentQuery, *, numbered: bool) -> None:
        """Start a query, or replace the one of the same id.

        Args:
            query: the query.
            numbered: whether its id has a new number, which no other may get.
        """
        self.runner.start(query)
        self._queries[query.id] = query
        self._next_number += numbered

    def remove(self, query: PersistentQuery) -> None:
        """End a query."""
        self.runner.stop(query)
        del self._queries[query.id]

    def writing(self, source: str) -> list[PersistentQuery]:
        """The queries whose results go to a source."""
        return [query for query in self if query.sink == source]

    def reading(self, source: str) -> list[PersistentQuery]:
        """The queries that read a source."""
        return [query for query in self if source in query.sources]

    def creating(self, source: str) -> PersistentQuery | None:
        """The query of CREATE .. AS SELECT that made a source, or that keeps a source table."""
        for query in self:
            made = query.sink if query.kind is QueryKind.CREATE_AS else None
            kept = query.sources[0] if query.kind is QueryKind.CREATE_SOURCE else None
            if source in (made, kept):
                return query
        return None

    # Ids.

    def create_as_id(self, kind: SourceKind, name: str, *, replaceable: bool) -> str:
        """The id of CREATE .. AS SELECT: that of the query it replaces, or a new one.

        Raises:
            SqlError: the source is written by a query that cannot be replaced.
        """
        writing = self.writing(name)
        if len(writing) > 1:
            ids = ", ".join(query.id for query in writing)
            raise SqlError(
                f"REPLACE for sink `{name}` is not supported because there are multiple queries writing into it: "
                f"[{ids}]"
            )
        if writing:
            if not replaceable:
                shown = kind.value.lower()
                raise SqlError(f"Cannot add {shown} '{name}': A {shown} with the same name already exists")
            return writing[0].id
        prefix = "CTAS" if kind is SourceKind.TABLE else "CSAS"
        return f"{prefix}_{name.upper()}_{self._next_number}"

    def source_table_id(self, name: str) -> str:
        """The id of the query that keeps a source table."""
        return f"CST_{name.upper()}_{self._next_number}"

    def insert_id(self, wanted: str | None) -> str:
        """The id of INSERT INTO .. SELECT.

        Raises:
            SqlError: the wanted id cannot be used.
        """
        if wanted is None:
            return f"INSERTQUERY_{self._next_number}"
        query_id = wanted.upper()
        if query_id.startswith(_RESERVED_PREFIXES):
            listed = ", ".join(_RESERVED_PREFIXES)
            raise SqlError(f"Query IDs must not start with a reserved query ID prefix ({listed}). Got '{query_id}'.")
        if not query_id.isascii() or not query_id.replace("_", "a").isalnum():
            raise SqlError(f"Query IDs may contain only alphanumeric characters and '_'. Got: '{query_id}'")
        if query_id in self._queries:
            raise SqlError(f"Query ID '{query_id}' already exists.")
        return query_id
