"""Requests with statements: all of them are tried in a sandbox, then executed in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from millstream.errors import MillstreamError
from millstream.ksqldb.api import Request, ServiceError
from millstream.ksqldb.commands.errors import service_error
from millstream.ksqldb.commands.execution.executor import Executor
from millstream.ksqldb.commands.execution.sandbox import sandbox
from millstream.ksqldb.commands.masking import masked, masked_entity
from millstream.ksqldb.commands.session import Session, denied_properties
from millstream.sql.engine.answers.entities import CurrentStatus, Entity, TerminatedQuery
from millstream.sql.engine.engine import Engine
from millstream.sql.errors import SqlError
from millstream.sql.parser import Parsed
from millstream.sql.parser import statements as split
from millstream.sql.settings import Settings
from millstream.sql.tree import statements as tree

_DISTRIBUTED = (
    tree.CreateSource,
    tree.CreateAsSelect,
    tree.InsertInto,
    tree.DropSource,
    tree.AlterSource,
    tree.CreateType,
    tree.DropType,
    tree.Terminate,
    tree.Pause,
    tree.Resume,
)
_QUERIES = (tree.SelectQuery, tree.PrintTopic)
_ASSERTIONS = (tree.AssertTopic, tree.AssertSchema)
#: What changes nothing, or only the client's own session.
_LOOKING = (
    tree.Show,
    tree.Describe,
    tree.DescribeSources,
    tree.DescribeFunction,
    tree.DescribeConnector,
    tree.Explain,
    tree.SetProperty,
    tree.UnsetProperty,
    tree.Define,
    tree.Undefine,
    *_ASSERTIONS,
)
_OF_CONNECT = (
    tree.Listing.CONNECTORS,
    tree.Listing.SOURCE_CONNECTORS,
    tree.Listing.SINK_CONNECTORS,
    tree.Listing.CONNECTOR_PLUGINS,
)
_WRONG_ENDPOINT = (
    "The following statement types should be issued to the websocket endpoint '/query':\n\t* PRINT\n\t* SELECT"
)
_TRANSIENT = ("transient_", "scalable_push_query_")


class Distributing(Protocol):
    """What has statements executed by all servers."""

    def execute(self, parsed: Parsed, settings: Settings) -> Entity: ...


class Statements:
    """Executes the statements of requests.

    Args:
        executor: has the state.
        distributing: what changes the state goes there.
        close_query: ends a push query; False if there is none of that id.
        warning: what every answer is to tell; None if all is well.
        seconds: how long to wait for commands.
    """

    def __init__(
        self,
        executor: Executor,
        distributing: Distributing,
        close_query: Callable[[str], bool],
        warning: Callable[[], str | None],
        seconds: Callable[[], float],
    ) -> None:
        self._executor = executor
        self._distributing = distributing
        self._close_query = close_query
        self._warning = warning
        self._seconds = seconds

    def execute(self, request: Request) -> list[Entity]:
        """Execute the statements of a request, after all of them were tried.

        Raises:
            ServiceError: one of them cannot be executed.
        """
        self.wait_after(request)
        session = Session.of(request, self._executor.context.settings)
        try:
            texts = list(split(request.sql))
        except SqlError as error:
            raise service_error(error, request.sql) from error
        if not texts:
            raise ServiceError(40000, "no statement was given")
        self._try_all(texts, session.copy(), may_change=request.may_change)
        found = []
        for text in texts:
            try:
                found += self._execute(text, session)
            except MillstreamError as error:
                raise service_error(error, text) from error
        return list(map(self._told, found))

    def wait_after(self, request: Request) -> None:
        """Wait for the command that a request comes after.

        Raises:
            ServiceError: it is not executed in time.
        """
        if request.after is not None and not self._executor.wait_for(request.after + 1, self._seconds()):
            raise ServiceError(
                50301,
                f"Timed out while waiting for a previous command to execute. command sequence number: {request.after}",
            )

    def _try_all(self, texts: Sequence[str], session: Session, *, may_change: bool) -> None:
        tried = sandbox(self._executor.context)
        for text in texts:
            engine = Engine(session.context(tried))
            try:
                parsed = engine.parse(text)
                self._check_kind(parsed, session)
                if not may_change and not isinstance(parsed.statement, _LOOKING):
                    raise ServiceError(40300, "You may look, and change nothing", statement=masked(parsed.text))
                if not _only_when_executed(parsed.statement):
                    engine.execute_parsed(parsed)
            except MillstreamError as error:
                raise service_error(error, text) from error
            session.take(engine.context)

    def _check_kind(self, parsed: Parsed, session: Session) -> None:
        if isinstance(parsed.statement, _QUERIES):
            raise ServiceError(40002, _WRONG_ENDPOINT, statement=masked(parsed.text))
        if isinstance(parsed.statement, tree.SetProperty):
            name = parsed.statement.name
            if name in denied_properties(session.settings):
                raise ServiceError(40000, f"Cannot override property '{name}'")

    def _execute(self, text: str, session: Session) -> list[Entity]:
        engine = Engine(session.context(self._executor.context))
        parsed = engine.parse(text)
        if isinstance(parsed.statement, tree.Terminate) and _ends_push_query(parsed.statement):
            return [self._end_push_query(parsed.statement.query_id or "", parsed.text)]
        if isinstance(parsed.statement, _DISTRIBUTED):
            entity = self._distributing.execute(parsed, session.settings)
            if isinstance(entity, CurrentStatus):  # the next statement may be about what this one made
                self._executor.wait_for(entity.command_sequence_number + 1, self._seconds())
            return [entity]
        entities = engine.execute_parsed(parsed)
        session.take(engine.context)
        return entities

    def _end_push_query(self, query_id: str, text: str) -> Entity:
        if not self._close_query(query_id):
            raise SqlError(f"Unknown queryId: {query_id}")
        return TerminatedQuery(statement_text=text, query_id=query_id, was_terminated=True)

    def _told(self, entity: Entity) -> Entity:
        warning = self._warning()
        if warning is not None:
            entity = replace(entity, warnings=(*entity.warnings, warning))
        return masked_entity(entity)


def _only_when_executed(statement: tree.Statement) -> bool:
    """Whether trying a statement is no use: it waits, or asks Kafka Connect what only counts at its turn."""
    if isinstance(statement, tree.Show):
        return statement.listing in _OF_CONNECT
    return isinstance(statement, (*_ASSERTIONS, tree.DescribeConnector, tree.DropConnector)) or _ends_push_query(
        statement
    )


def _ends_push_query(statement: tree.Statement) -> bool:
    return isinstance(statement, tree.Terminate) and (statement.query_id or "").lower().startswith(_TRANSIENT)
