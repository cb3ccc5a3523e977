"""A command: a statement with all that must be known to execute it again, anywhere, with the same result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.config import is_secret
from millstream.errors import MillstreamError
from millstream.sql.settings import FUNCTIONS_PREFIX, KSQL_PROPERTIES, Settings

#: Of the JSON of commands. A server that meets a greater one is older than the server that wrote it.
VERSION = 1
TERMINATE_ID = "cluster/TerminateCluster/terminate"
TERMINATE_TEXT = "TERMINATE CLUSTER;"
DELETE_TOPICS = "deleteTopicList"


class UnreadableCommand(MillstreamError):
    """A record of the command topic that this server does not understand."""


@dataclass(frozen=True)
class Command:
    """A statement on its way to all servers.

    Attributes:
        id: ``stream/`S`/create``.
        statement: its text; variables have been replaced.
        number: what its query is numbered with, if it starts one. It is in the command, so that ids stay as they are
            when the topic is restored at other offsets.
        properties: what the session had set.
        original: the settings of the server that planned it, as far as they count for what statements mean.
        plan: what the statement learnt of topics and schemas when it was planned; see `Observed`.
    """

    id: str
    statement: str
    number: int = 0
    properties: Mapping[str, Any] = field(default_factory=dict, hash=False)
    original: Mapping[str, Any] = field(default_factory=dict, hash=False)
    plan: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> bytes:
        return json.dumps(self.id, ensure_ascii=False).encode()

    @property
    def value(self) -> bytes:
        content = {
            "statement": self.statement,
            "streamsProperties": self.properties,
            "originalProperties": self.original,
            "plan": self.plan,
            "queryNumber": self.number,
            "version": VERSION,
        }
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()

    def settings(self, server: Settings) -> Settings:
        """The settings to execute it with.

        Args:
            server: of the server that executes it: it has what is the server's own business, such as addresses.
        """
        own = {name: value for name, value in server.configured.items() if not _is_meaning(name)}
        return Settings({**own, **self.original}, self.properties)


def meaning(settings: Settings) -> dict[str, Any]:
    """The configured settings that count for what statements mean, and so must be the same on all servers."""
    return {name: value for name, value in settings.configured.items() if _is_meaning(name)}


def storable(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Properties of a session without secrets: queries reach Kafka with the credentials of the server."""
    return {name: value for name, value in properties.items() if not is_secret(name)}


def _is_meaning(name: str) -> bool:
    if name.startswith(FUNCTIONS_PREFIX):
        return not is_secret(name)
    definition = KSQL_PROPERTIES.get(name)
    return definition is not None and definition.editable


def decode(key: bytes | None, value: bytes | None) -> Command:
    """The command that a record of the topic holds.

    Raises:
        UnreadableCommand: it holds none, or one of a later version.
    """
    try:
        command_id, content = json.loads(key or b""), json.loads(value or b"")
        version = content["version"]
        if isinstance(version, int) and version > VERSION:
            raise UnreadableCommand(
                f"a command of version {version}, and this server knows versions up to {VERSION}",
                detail=str(command_id),
                hint="run the version of Millstream that wrote it, or a later one",
            )
        statement, number = content["statement"], content["queryNumber"]
        properties, original, plan = content["streamsProperties"], content["originalProperties"], content["plan"]
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableCommand("a record that is no command", detail=f"{type(error).__name__}: {error}") from error
    texts_are_texts = isinstance(command_id, str) and isinstance(statement, str) and isinstance(number, int)
    if not texts_are_texts or not all(isinstance(part, dict) for part in (properties, original, plan)):
        raise UnreadableCommand("a record that is no command", detail=str(command_id)[:200])
    return Command(command_id, statement, number, properties, original, plan)
