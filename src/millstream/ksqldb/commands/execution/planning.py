"""From a statement to a command."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace

from millstream.errors import MillstreamError
from millstream.ksqldb.commands.execution.observed import NotedRegistry, NotedTopics, Observed
from millstream.ksqldb.commands.execution.sandbox import RememberingRunner
from millstream.ksqldb.commands.log.command import Command, meaning, storable
from millstream.sql.engine.answers.entities import CurrentStatus, Entity
from millstream.sql.engine.context import Context
from millstream.sql.engine.engine import Engine
from millstream.sql.parser import Parsed
from millstream.sql.settings import Settings


@dataclass(frozen=True)
class Planned:
    """A statement that can be executed, and for which topics and schemas are there.

    Attributes:
        answer: what it will answer.
        command: None if there is nothing to do.
        created: the topics that were made for it.
        deleted: the topics that are to be deleted once it is executed.
    """

    answer: Entity
    command: Command | None
    created: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()

    def take_back(self, context: Context) -> None:
        """Delete the topics that were made, as the command will not be executed."""
        for name in self.created:
            with contextlib.suppress(MillstreamError):
                context.topics.delete(name)


def plan(context: Context, parsed: Parsed, settings: Settings) -> Planned:
    """Execute a statement on copies of the catalogue and the queries, but make its topics and schemas for good.

    Args:
        context: the state it will be executed in.
        parsed: the statement.
        settings: of the session.

    Raises:
        StatementError: it cannot be executed; topics and schemas are as before.
    """
    observed = Observed()
    topics = NotedTopics(context.topics, observed)
    working = replace(
        context,
        catalogue=context.catalogue.copy(),
        queries=context.queries.copy(RememberingRunner()),
        topics=topics,
        registry=None if context.registry is None else NotedRegistry(context.registry, observed),
        live_registry=context.registry,
        settings=settings,
    )
    (answer,) = Engine(working).execute_parsed(parsed)
    if not isinstance(answer, CurrentStatus):
        return Planned(answer, None)
    command = Command(
        str(answer.command_id),
        parsed.text,
        context.queries.next_number,
        storable(settings.overrides),
        meaning(settings),
        observed.to_json(),
    )
    return Planned(answer, command, tuple(topics.created), tuple(topics.deleted))
