"""`Topic`: a description of a topic, shared by agents that read it and by whoever sends to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from millstream.agents.body.current import CURRENT
from millstream.agents.body.events import SENT, Sent
from millstream.agents.body.outgoing import Outgoing
from millstream.agents.typed import serde_for
from millstream.errors import ArgumentError
from millstream.records import Headers
from millstream.serdes import Serdes

if TYPE_CHECKING:
    from millstream.agents.surroundings import Surroundings

#: What headers may be given as.
HeadersLike = Headers | Mapping[str, bytes | str] | Iterable[tuple[str, bytes | str | None]] | None


class Topic:
    """A topic by name; several names or a pattern are for reading only. Made by `App.topic`.

    Args:
        surroundings: of its application: who sends for those that are no agents.
        names: of the topic, or of several.
        pattern: all topics whose whole name matches.
        key_type: of the keys; bytes if missing. See `millstream.agents.typed`.
        value_type: of the values; anything that JSON has if missing.
        key_serializer: "json", "raw", or a serde.
        value_serializer: the same for values.
        partitions: how many, where the application makes the topic.
        replicas: how many copies, where the application makes the topic.
        internal: the application makes the topic if it is not there.
        config: properties of the topic, where the application makes it.
    """

    def __init__(
        self,
        surroundings: Surroundings,
        *names: str,
        pattern: str | None = None,
        key_type: Any = None,
        value_type: Any = None,
        key_serializer: Any = None,
        value_serializer: Any = None,
        partitions: int | None = None,
        replicas: int | None = None,
        internal: bool = False,
        config: Mapping[str, str] | None = None,
    ) -> None:
        if bool(names) == (pattern is not None):
            raise ArgumentError("a topic has either names or a pattern", detail=f"names {names}, pattern {pattern!r}")
        self._surroundings = surroundings
        self.names = names
        self.pattern = None if pattern is None else re.compile(pattern)
        self.key_type = key_type
        self.value_type = value_type
        self.key_serde = serde_for(key_type, key_serializer, Serdes.bytes)
        self.value_serde = serde_for(value_type, value_serializer, Serdes.json)
        self.partitions = partitions
        self.replicas = replicas
        self.internal = internal
        self.config = dict(config or {})

    @property
    def name(self) -> str:
        """Its name, to be written to."""
        if len(self.names) != 1:
            raise ArgumentError(f"{self!r} can only be read", hint="send to a topic that has one name")
        return self.names[0]

    async def maybe_declare(self) -> None:
        """Nothing: topics that are missing are made when the application starts."""

    #: As `maybe_declare`.
    declare = maybe_declare

    async def send(
        self,
        *,
        key: Any = None,
        value: Any = None,
        partition: int | None = None,
        timestamp: float | None = None,
        headers: HeadersLike = None,
    ) -> Sent:
        """Send a record: in an agent with the results of its batch, elsewhere at once. See `Sent`."""
        return self.send_soon(key=key, value=value, partition=partition, timestamp=timestamp, headers=headers)

    def send_soon(
        self,
        *,
        key: Any = None,
        value: Any = None,
        partition: int | None = None,
        timestamp: float | None = None,
        headers: HeadersLike = None,
    ) -> Sent:
        """The same without `await`.

        Args:
            key: None sends none. Text is encoded where keys are bytes.
            value: None deletes.
            partition: by the key if missing.
            timestamp: in seconds; that of the event in an agent, the current time elsewhere.
            headers: a mapping or pairs.
        """
        outgoing = Outgoing(self.name, partition, _serialized(self.value_serde, value))
        raw_key = _serialized(self.key_serde, key.encode() if self.key_type is None and isinstance(key, str) else key)
        current = CURRENT.get()
        at = None if timestamp is None else round(timestamp * 1000)
        if current is not None:
            current.send(raw_key, outgoing, current.timestamp if at is None else at, _headers(headers))
        else:
            self._surroundings.outside(f"send to topic {self.name}").send(raw_key, outgoing, at, _headers(headers))
        return SENT

    def __repr__(self) -> str:
        return f"<Topic {self.pattern.pattern if self.pattern else ', '.join(self.names)}>"


def _serialized(serde: Any, data: Any) -> bytes | None:
    if data is None:
        return None
    try:
        found: bytes = serde.serialize(data)
    except Exception as error:
        raise serde.serialization_error(data, error) from error
    return found


def _headers(given: HeadersLike) -> Headers | None:
    if given is None or isinstance(given, Headers):
        return given
    pairs = given.items() if isinstance(given, Mapping) else given
    return Headers((name, value.encode() if isinstance(value, str) else value) for name, value in pairs)
