"""Executes commands, one after the other."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import replace

from millstream.errors import MillstreamError
from millstream.ksqldb.commands.execution.observed import Observed, PlannedRegistry, PlannedTopics
from millstream.ksqldb.commands.execution.sandbox import RememberingRunner
from millstream.ksqldb.commands.execution.steady import SteadyRunner
from millstream.ksqldb.commands.log.command import Command
from millstream.sql.engine.answers.entities import CommandId, CommandStatus, CurrentStatus, Entity
from millstream.sql.engine.context import Context
from millstream.sql.engine.engine import Engine
from millstream.sql.parser import parse_one

_LOG = logging.getLogger("millstream.ksqldb")
QUEUED = CommandStatus("Statement written to command topic", "QUEUED")
EXECUTING = CommandStatus("Executing statement", "EXECUTING")


class Executor:
    """Executes commands, and knows how they went. One thread executes, any thread may ask.

    The state after a command is a new `Context`, published at once: who has one never sees half a command, and need
    not lock anything. During a replay nothing runs: queries are started by `go_live`, with the state at its end, so
    that what was dropped in between is never started.

    Args:
        context: the state to begin with; its runner runs queries once the replay is over.
    """

    def __init__(self, context: Context) -> None:
        self.runner = SteadyRunner(context.queries.runner)
        self._remembering = RememberingRunner()
        self._context = replace(context, queries=context.queries.copy(self._remembering))
        self._changed = threading.Condition()
        self._position = 0
        self._statuses: dict[str, CommandStatus] = {}
        self._expected: dict[int, CurrentStatus | None] = {}

    @property
    def context(self) -> Context:
        """The state after the last command. Not to be changed."""
        return self._context

    def execute(self, command: Command, offset: int) -> None:
        """Execute a command. It raises nothing: what goes wrong is the status of the command."""
        self._statuses[command.id] = EXECUTING
        number = max(self._context.queries.next_number, command.number)
        queries = self._context.queries.copy()
        queries.number_from(command.number)
        try:
            entity = self._executed(command, replace(self._context, queries=queries))
        except MillstreamError as error:
            _LOG.error("command %s at offset %s: %s", command.id, offset, error)
            entity = _failed(command, str(error))
        except Exception as error:
            _LOG.exception("command %s at offset %s", command.id, offset)
            entity = _failed(command, f"{type(error).__name__}: {error}")
        self._context.queries.number_from(max(number, command.number + 1, offset + 1))
        self._statuses[command.id] = entity.command_status
        with self._changed:
            if offset in self._expected:
                self._expected[offset] = replace(entity, command_sequence_number=offset)
            self._position = max(self._position, offset + 1)
            self._changed.notify_all()

    def _executed(self, command: Command, context: Context) -> CurrentStatus:
        live = self._context
        observed = Observed.from_json(command.plan)
        working = replace(
            context,
            catalogue=live.catalogue.copy(),
            topics=PlannedTopics(live.topics, observed),
            registry=None if live.registry is None else PlannedRegistry(live.registry, observed),
            live_registry=live.registry,
            settings=command.settings(live.settings),
            variables={},
        )
        parsed = parse_one(command.statement, types=working.catalogue.types)
        (entity,) = Engine(working).execute_parsed(parsed)
        self._context = replace(live, catalogue=working.catalogue, queries=working.queries)
        if not isinstance(entity, CurrentStatus):  # what has nothing to do is not written to the topic
            return _done(command, entity)
        failure = self.runner.failure(entity.command_status.query_id or "")
        return entity if failure is None else replace(entity, warnings=(*entity.warnings, failure))

    def go_live(self, refusal: str | None = None) -> None:
        """The replay is over: start the queries that are left.

        Args:
            refusal: why they must not be started.
        """
        queries = self._context.queries.copy(self.runner)
        for query in queries:
            if refusal is not None:
                self.runner.refuse(query, refusal)
                continue
            self.runner.start(query)
            if query.id in self._remembering.paused and self.runner.failure(query.id) is None:
                self.runner.pause(query)
        self._context = replace(self._context, queries=queries)

    def publish(self, context: Context) -> None:
        """Have another state: of a server that executes statements without a command topic."""
        self._context = context

    # How far it is.

    @property
    def position(self) -> int:
        """All commands before this offset are executed."""
        return self._position

    def advance(self, position: int) -> None:
        """There is no command before an offset that is not executed."""
        with self._changed:
            self._position = max(self._position, position)
            self._changed.notify_all()

    def wait_for(self, position: int, seconds: float) -> bool:
        """Wait until all commands before an offset are executed; False if they are not in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._position >= position, seconds)

    def expect(self, command: Command, offset: int) -> None:
        """Keep the answer to a command that is being written."""
        self._statuses[command.id] = QUEUED
        with self._changed:
            self._expected[offset] = None

    def forget(self, command: Command, offset: int) -> None:
        """A command was not written after all."""
        self._statuses.pop(command.id, None)
        with self._changed:
            self._expected.pop(offset, None)

    def answer(self, offset: int, seconds: float) -> CurrentStatus | None:
        """The answer to an expected command; None if it is not executed in time."""
        with self._changed:
            self._changed.wait_for(lambda: self._expected.get(offset) is not None, seconds)
            return self._expected.pop(offset, None)

    # Statuses.

    def status_of(self, command_id: str) -> CommandStatus | None:
        """How a command went, or goes."""
        return self._statuses.get(command_id)

    def statuses(self) -> Mapping[str, str]:
        """The status of every command by its id."""
        return {command_id: status.status for command_id, status in self._statuses.copy().items()}


def _failed(command: Command, message: str) -> CurrentStatus:
    return CurrentStatus(
        statement_text=command.statement,
        command_id=command_id(command.id),
        command_status=CommandStatus(message, "ERROR"),
    )


def _done(command: Command, entity: Entity) -> CurrentStatus:
    message = getattr(entity, "message", "")
    return CurrentStatus(
        statement_text=command.statement, command_id=command_id(command.id), command_status=CommandStatus(message)
    )


def command_id(text: str) -> CommandId:
    """The parts of a command's id; names may have slashes.

    >>> command_id("stream/`A/B`/create").entity
    '`A/B`'
    """
    kind, _, rest = text.partition("/")
    entity, _, action = rest.rpartition("/")
    return CommandId(kind, entity, action)
