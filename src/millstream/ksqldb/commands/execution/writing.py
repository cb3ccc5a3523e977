"""Writes statements to the command topic, one server at a time."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from millstream.errors import MillstreamError
from millstream.ksqldb.api import ServiceError
from millstream.ksqldb.commands.execution.executor import QUEUED, Executor
from millstream.ksqldb.commands.execution.planning import Planned, plan
from millstream.ksqldb.commands.log.command import Command
from millstream.ksqldb.commands.log.topic import CommandTopic, CommandWriter, WriterFenced
from millstream.sql.engine.answers.entities import CommandId, CurrentStatus, Entity
from millstream.sql.parser import Parsed
from millstream.sql.settings import Settings

_LOG = logging.getLogger("millstream.ksqldb")
#: How long a server goes on trying while others write.
_PATIENCE_SECONDS = 30.0
#: How long a server waits for the command of the one that interrupted it.
_COURTESY_SECONDS = 1.0
_LONGEST_JITTER_SECONDS = 0.05
#: Itself, and the end of its transaction.
_TAKEN_BY_A_COMMAND = 2


class CommandWriting:
    """Writes commands that are decided on the state at the end of the topic, or not at all.

    A transaction is begun first, which ends those of other servers; then the server catches up with the topic, plans
    the statement on what it has then, and writes it. If another server begins meanwhile, Kafka refuses the commit, and
    the statement is planned anew.

    Args:
        topic: where commands go.
        executor: what executes them.
        refuse: raises if no commands are to be written.
        seconds: how long to wait for the execution of commands.
    """

    def __init__(
        self, topic: CommandTopic, executor: Executor, refuse: Callable[[], None], seconds: Callable[[], float]
    ) -> None:
        self._topic = topic
        self._executor = executor
        self._refuse = refuse
        self._seconds = seconds
        self._lock = threading.Lock()
        self._writer: CommandWriter | None = None
        self._own_end = 0

    def execute(self, parsed: Parsed, settings: Settings) -> Entity:
        """Have a statement executed by all servers; the answer is that of this one.

        Raises:
            StatementError: it cannot be executed.
            ServiceError: it cannot be written.
        """
        with self._lock:
            planned, offset = self._write(lambda: plan(self._executor.context, parsed, settings))
        if planned.command is None or offset is None or not isinstance(planned.answer, CurrentStatus):
            return planned.answer
        entity = self._executor.answer(offset, self._seconds())
        if entity is not None:
            if entity.command_status.status == "SUCCESS":
                self._delete_topics(planned)
            return entity
        if planned.deleted:
            threading.Thread(target=self._delete_later, args=(planned, offset), daemon=True).start()
        status = self._executor.status_of(planned.command.id) or QUEUED
        return replace(planned.answer, command_status=status, command_sequence_number=offset)

    def write(self, command: Command, command_id: CommandId) -> tuple[Entity, int]:
        """Write a command that needs no plan, without waiting for it."""
        answer = CurrentStatus(statement_text=command.statement, command_id=command_id, command_status=QUEUED)
        with self._lock:
            _, offset = self._write(lambda: Planned(answer, command))
        sequence = -1 if offset is None else offset
        return replace(answer, command_sequence_number=sequence), sequence

    def _write(self, make: Callable[[], Planned]) -> tuple[Planned, int | None]:
        """Make a command of what is in the topic, and write it; None if there was nothing to write."""
        give_up = time.monotonic() + _PATIENCE_SECONDS
        while True:
            self._refuse()
            seen = self._executor.position
            try:
                return self._attempt(make)
            except WriterFenced as fenced:
                self._leave()
                if time.monotonic() > give_up:
                    raise ServiceError(
                        50000,
                        "Could not write the statement into the command topic.",
                        detail="other servers of the service write all the time",
                        hint="try again",
                    ) from fenced
            # Servers that write at the same time must not interrupt each other again and again: the other goes first.
            self._executor.wait_for(seen + 1, _COURTESY_SECONDS)
            time.sleep(random.uniform(0, _LONGEST_JITTER_SECONDS))  # noqa: S311 - no secret

    def _attempt(self, make: Callable[[], Planned]) -> tuple[Planned, int | None]:
        writer = self._own_writer()
        planned: Planned | None = None
        try:
            writer.begin()
            self._topic.check()
            self._catch_up()
            planned = make()
            if planned.command is None:
                writer.abort()
                return planned, None
            offset = writer.append(planned.command.key, planned.command.value)
        except WriterFenced:
            raise  # what was made stays: another server may have found it there
        except BaseException:
            if planned is not None:
                planned.take_back(self._executor.context)
            writer.abort()
            raise
        self._executor.expect(planned.command, offset)
        try:
            writer.commit()
        except WriterFenced:
            self._executor.forget(planned.command, offset)
            raise
        except BaseException:
            self._leave()
            raise
        self._own_end = offset + _TAKEN_BY_A_COMMAND
        return planned, offset

    def _own_writer(self) -> CommandWriter:
        """The writer of the last command, unless another server has written since: then it is at its end."""
        if self._writer is not None and self._topic.end() > self._own_end:
            self._leave()
        if self._writer is None:
            self._writer = self._topic.writer()
        return self._writer

    def _catch_up(self) -> None:
        # Kafka says that a transaction is committed before its end is in the topic.
        end = max(self._topic.end(), self._own_end)
        if not self._executor.wait_for(end, self._seconds()):
            raise ServiceError(50000, "Timeout while waiting for command topic consumer to process command topic")

    def _delete_later(self, planned: Planned, offset: int) -> None:
        if self._executor.wait_for(offset + 1, 10 * _PATIENCE_SECONDS):
            self._delete_topics(planned)

    def _delete_topics(self, planned: Planned) -> None:
        """By the server that wrote the command alone: a slow one would delete a topic that was made again."""
        for name in planned.deleted:
            try:
                self._executor.context.topics.delete(name)
            except MillstreamError as error:
                _LOG.error("topic %s is not deleted: %s", name, error)

    def _leave(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def close(self) -> None:
        """Leave the brokers."""
        with self._lock:
            self._leave()
