"""The service: statements and queries of one server."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self

import millstream
from millstream.config import StreamsConfig
from millstream.errors import MillstreamError
from millstream.ksqldb.api import (
    Answer,
    Health,
    Inserting,
    QueryFigures,
    Request,
    ServerInfo,
    ServerState,
    ServerStatus,
    ServiceError,
)
from millstream.ksqldb.commands import processing_log
from millstream.ksqldb.commands.errors import service_error
from millstream.ksqldb.commands.execution.executor import Executor, command_id
from millstream.ksqldb.commands.execution.following import Following
from millstream.ksqldb.commands.execution.writing import CommandWriting
from millstream.ksqldb.commands.headless import execute_file
from millstream.ksqldb.commands.inserting import KafkaRecords, Records, RowInserting
from millstream.ksqldb.commands.log.backup import Backup
from millstream.ksqldb.commands.log.command import DELETE_TOPICS, TERMINATE_ID, TERMINATE_TEXT, Command
from millstream.ksqldb.commands.log.kafka_topic import KafkaCommandTopic
from millstream.ksqldb.commands.log.topic import CommandTopic, TopicDamaged
from millstream.ksqldb.commands.names import command_topic
from millstream.ksqldb.commands.session import Session, is_property, with_properties
from millstream.ksqldb.commands.statements import Statements
from millstream.sql.engine.answers.entities import CommandStatus, Entity
from millstream.sql.engine.context import Context
from millstream.sql.parser import statements

_LOG = logging.getLogger("millstream.ksqldb")
_GRACE_SECONDS = 2.0
_HEADLESS = "The KSQL server was started with a queries file; it is headless, and takes no statements"


class QueryAnswers(Protocol):
    """What answers SELECT and PRINT: `ksqldb/queries`."""

    def answer(self, context: Context, text: str) -> Answer:
        """Begin to answer a single SELECT or PRINT.

        Args:
            context: the state of the engine as the client sees it. Not to be changed.
            text: the statement.

        Raises:
            ServiceError: it cannot be answered.
        """

    def close(self, query_id: str) -> bool:
        """End a push query; False if there is none of that id. Ids are known in any case, as SQL has them."""

    def stop(self) -> None:
        """End all queries."""


class KsqlService:
    """See `Service`. `start` replays the command topic, and starts the queries that are left.

    Args:
        context: the catalogue to begin with (an empty one), topics, schema registry, settings, and the runner of
            persistent queries.
        queries: what answers queries.
        records: where rows of clients go.
        topic: the command topic.
        cluster_id: asks for the id of the Kafka cluster.
    """

    def __init__(
        self,
        context: Context,
        queries: QueryAnswers,
        records: Records,
        topic: CommandTopic,
        cluster_id: Callable[[], str] = lambda: "",
    ) -> None:
        self._settings = context.settings
        self._queries = queries
        self._records = records
        self._topic = topic
        self._cluster_id = cluster_id
        self._known_cluster_id: str | None = None
        self._state = ServerState.INITIALIZING
        self._terminates = False
        self._terminated = threading.Event()
        self._executor = Executor(context)
        self._following = Following(topic, self._executor, self._backup(), self._end)
        self._writing = CommandWriting(topic, self._executor, self._refuse, self._seconds)
        self._statements = Statements(
            self._executor, self._writing, queries.close, lambda: self._following.degraded, self._seconds
        )

    @classmethod
    def connect(cls, config: StreamsConfig, context: Context, queries: QueryAnswers) -> KsqlService:
        """A service whose command topic is in Kafka.

        Args:
            config: where the brokers are and how to reach them.
            context: see `KsqlService`; `ksql.service.id` names the service.
            queries: see `KsqlService`.
        """
        service_id = context.settings.get("ksql.service.id")
        topic = KafkaCommandTopic(config, service_id, command_topic(service_id))
        return cls(context, queries, KafkaRecords(config), topic, topic.cluster_id)

    @staticmethod
    def headless(context: Context, queries: QueryAnswers, text: str, cluster_id: str = "") -> HeadlessService:
        """A service that runs the statements of a file and takes no others.

        Args:
            context: see `KsqlService`.
            queries: see `KsqlService`.
            text: what the file holds.
            cluster_id: of the Kafka cluster.

        Raises:
            ServiceError: a statement cannot be executed.
        """
        execute_file(context, text)
        return HeadlessService(context, queries, cluster_id)

    def _backup(self) -> Backup | None:
        location = self._settings.get("ksql.metastore.backup.location")
        return Backup(Path(location), self._topic.name) if location else None

    def start(self) -> Self:
        """Replay the command topic; when it returns, requests are taken."""
        next(statements("SHOW STREAMS;"))  # reads the grammar, else the first requests all do so at the same time
        processing_log.make_topic(self._executor.context.topics, self._settings)
        self._following.start()
        if self._state is ServerState.INITIALIZING:
            self._state = ServerState.READY
            self._make_log_stream()
        return self

    def _make_log_stream(self) -> None:
        """Make the stream of the processing log, if it is wanted, for a new service only: who drops it means it."""
        statement = processing_log.stream_statement(self._settings)
        if statement is None or self._executor.position > 0:
            return
        try:
            self.execute(Request(statement))
        except ServiceError as error:  # another server may have been quicker
            _LOG.warning("the stream of the processing log is not made: %s", error)

    @property
    def context(self) -> Context:
        """The state after the last command. Not to be changed."""
        return self._executor.context

    @property
    def state(self) -> ServerState:
        return self._state

    def execute(self, request: Request) -> list[Entity]:
        self._require_ready()
        try:
            return self._statements.execute(request)
        except ServiceError as error:
            if isinstance(error.__cause__, TopicDamaged):
                self._following.damaged(error.__cause__)
            raise

    def query(self, request: Request) -> Answer:
        self._require_ready()
        self._statements.wait_after(request)
        return _answer(self._queries, request, self._executor.context)

    def close_query(self, query_id: str) -> bool:
        return self._queries.close(query_id)

    def insert_into(self, target: str, properties: Mapping[str, Any]) -> Inserting:
        self._require_ready()
        settings = with_properties(self._settings, properties)
        return RowInserting(replace(self._executor.context, settings=settings), target, self._records)

    def status_of(self, command_id: str) -> CommandStatus | None:
        return self._executor.status_of(command_id)

    def statuses(self) -> Mapping[str, str]:
        return self._executor.statuses()

    def is_property(self, name: str) -> bool:
        return is_property(self._settings, name)

    def info(self) -> ServerInfo:
        if self._known_cluster_id is None:
            self._known_cluster_id = self._cluster_id()
        status = ServerStatus.RUNNING
        if self._following.degraded is not None:
            status = ServerStatus.DEGRADED
        elif self._state is ServerState.READY and not self._following.is_alive:
            status = ServerStatus.ERROR
        return ServerInfo(
            millstream.__version__, self._known_cluster_id, self._settings.get("ksql.service.id", ""), status
        )

    def health(self) -> Health:
        is_ready = self._state is ServerState.READY
        return Health(is_ready, _reaches_kafka(self._executor.context), self._following.is_alive)

    def persistent_queries(self) -> list[QueryFigures]:
        return _figures(self._executor.context)

    # The end.

    def terminate(self, delete_topics: Sequence[str]) -> list[Entity]:
        self._require_ready()
        for pattern in delete_topics:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ServiceError(40000, f"Invalid pattern: {pattern}", detail=str(error)) from error
        self._terminates = True
        command = Command(TERMINATE_ID, TERMINATE_TEXT, properties={DELETE_TOPICS: list(delete_topics)})
        try:
            entity, _ = self._writing.write(command, command_id(TERMINATE_ID))
        except MillstreamError as error:
            self._terminates = False
            raise service_error(error, TERMINATE_TEXT) from error
        self._terminated.wait(self._seconds())
        return [entity]

    def _end(self, command: Command) -> None:
        """All servers do this, when they come to the command; topics are deleted by the one that wrote it.

        A server that finds the command when it starts deletes them, too: the one that wrote it did not come to it.
        """
        deletes = self._terminates or self._state is ServerState.INITIALIZING
        self._state = ServerState.TERMINATING
        _LOG.warning("the service is terminated")
        context = self._executor.context
        patterns = [re.compile(pattern) for pattern in command.properties.get(DELETE_TOPICS, ())]
        sinks = {source.topic for source in context.catalogue if source.from_query}
        sinks |= {query.sink_topic for query in context.queries if query.sink_topic is not None}
        ending = context.queries.copy(self._executor.runner)
        for query in list(ending):
            ending.remove(query)
        self._executor.publish(replace(context, queries=ending))
        if deletes:
            time.sleep(_GRACE_SECONDS)  # the others still have to read the command, and to stop writing
            for name in sorted(sinks):
                if any(pattern.fullmatch(name) for pattern in patterns):
                    _try_to_delete(name, partial(context.topics.delete, name))
            _try_to_delete(self._topic.name, self._topic.delete)
        self._state = ServerState.TERMINATED
        self._terminated.set()

    def close(self) -> None:
        """Take no further requests, and leave. Queries go on where they were when the service is started again."""
        self._state = ServerState.TERMINATING
        self._queries.stop()
        self._following.close()
        self._writing.close()
        self._executor.context.queries.runner.close()
        if isinstance(self._records, KafkaRecords):
            self._records.close()
        self._topic.close()

    def _require_ready(self) -> None:
        if self._state is ServerState.INITIALIZING:
            raise ServiceError(50302, "KSQL is not yet ready to serve requests.")
        if self._state is ServerState.TERMINATING:
            raise ServiceError(50303, "The cluster is in the process of shutting down.")
        if self._state is ServerState.TERMINATED:
            raise ServiceError(50304, "The cluster has been terminated. New requests will not be accepted.")

    def _refuse(self) -> None:
        degraded = self._following.degraded
        if degraded is not None:
            raise ServiceError(50000, f"Failed to handle Ksql Statement.\n{degraded}")
        self._require_ready()

    def _seconds(self) -> float:
        return float(self._settings.get("ksql.server.command.response.timeout.ms", 5000)) / 1000


class HeadlessService:
    """See `Service`. Queries are answered; what there is was made by a file.

    Args:
        context: the state; nothing changes it any more.
        queries: what answers queries.
        cluster_id: of the Kafka cluster.
    """

    def __init__(self, context: Context, queries: QueryAnswers, cluster_id: str) -> None:
        self._context = context
        self._queries = queries
        self._cluster_id = cluster_id
        self._state = ServerState.READY

    @property
    def context(self) -> Context:
        """The state. Not to be changed."""
        return self._context

    @property
    def state(self) -> ServerState:
        return self._state

    def execute(self, request: Request) -> list[Entity]:
        raise ServiceError(40000, _HEADLESS)

    def query(self, request: Request) -> Answer:
        return _answer(self._queries, request, self._context)

    def close_query(self, query_id: str) -> bool:
        return self._queries.close(query_id)

    def insert_into(self, target: str, properties: Mapping[str, Any]) -> Inserting:
        raise ServiceError(40000, _HEADLESS)

    def status_of(self, command_id: str) -> CommandStatus | None:
        return None

    def statuses(self) -> Mapping[str, str]:
        return {}

    def is_property(self, name: str) -> bool:
        return is_property(self._context.settings, name)

    def info(self) -> ServerInfo:
        service_id = self._context.settings.get("ksql.service.id", "")
        return ServerInfo(millstream.__version__, self._cluster_id, service_id, ServerStatus.RUNNING)

    def health(self) -> Health:
        return Health(metastore=True, kafka=_reaches_kafka(self._context), command_runner=True)

    def persistent_queries(self) -> list[QueryFigures]:
        return _figures(self._context)

    def terminate(self, delete_topics: Sequence[str]) -> list[Entity]:
        raise ServiceError(40000, _HEADLESS)

    def close(self) -> None:
        """Take no further requests, and leave. Queries go on where they were when the service is started again."""
        self._state = ServerState.TERMINATING
        self._queries.stop()
        self._context.queries.runner.close()


def _answer(queries: QueryAnswers, request: Request, state: Context) -> Answer:
    session = Session.of(request, state.settings)
    try:
        return queries.answer(session.context(state), request.sql)
    except MillstreamError as error:
        raise service_error(error, request.sql) from error


def _figures(context: Context) -> list[QueryFigures]:
    runner = context.queries.runner
    return [QueryFigures(query.id, runner.state(query), runner.progress(query)) for query in context.queries]


def _reaches_kafka(context: Context) -> bool:
    try:
        context.topics.describe(command_topic(context.settings.get("ksql.service.id", "")))
    except MillstreamError:
        return False
    return True


def _try_to_delete(name: str, delete: Callable[[], None]) -> None:
    try:
        delete()
    except MillstreamError as error:
        _LOG.error("topic %s is not deleted: %s", name, error)
