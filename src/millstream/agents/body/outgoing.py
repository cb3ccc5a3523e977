"""Records that an agent's function sends to topics of its choice.

What it yields goes to the sinks it was declared with. What it sends in between may go anywhere, so there is one more
sink that asks each record for its topic; key and value are bytes already.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from millstream.records import RecordContext
from millstream.serdes import Serde, Serdes


class Outgoing(NamedTuple):
    """A record on its way, but for its key."""

    topic: str
    partition: int | None
    value: bytes | None


def _value_of(outgoing: Outgoing) -> bytes:
    return outgoing.value  # type: ignore[return-value]  # None is a deletion, which the sink passes on as it is


def _not_read(data: bytes) -> Outgoing:
    raise AssertionError("what is sent is not read again")


def topic_of(key: Any, outgoing: Outgoing, context: RecordContext) -> str:
    """The topic of a record."""
    return outgoing.topic


def partition_of(topic: str, key: Any, outgoing: Outgoing, partitions: int) -> int | None:
    """The partition of a record; None leaves it to the key."""
    return outgoing.partition


SENT_KEY = Serdes.bytes
SENT_VALUE: Serde[Outgoing] = Serde(_value_of, _not_read, name="outgoing")
