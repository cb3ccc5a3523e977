"""What is asked of the command topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from millstream.errors import MillstreamError


class TopicDamaged(MillstreamError):
    """The topic is not the one it was: it is gone, was made again, or has lost records."""


class WriterFenced(MillstreamError):
    """Another server has begun to write; nothing of this transaction is in the topic."""


@dataclass(frozen=True, slots=True)
class CommandRecord:
    """A record of the command topic."""

    key: bytes | None
    value: bytes | None
    offset: int


@dataclass(frozen=True, slots=True)
class Batch:
    """What was read.

    Attributes:
        records: in their order; often none.
        position: everything before this offset has been read.
    """

    records: tuple[CommandRecord, ...]
    position: int


class CommandReader(Protocol):
    """Reads the topic from its beginning: what is committed, in order. For one thread."""

    def read(self, seconds: float) -> Batch:
        """What comes next; waits so long for it.

        Raises:
            TopicDamaged: there is no going on.
        """

    def close(self) -> None:
        """Leave the brokers."""


class CommandWriter(Protocol):
    """Writes commands, each in a transaction. Of all writers of a service only the last that began can commit."""

    def begin(self) -> None:
        """Begin a transaction, if need be as the new owner: then those of other writers are at an end.

        Raises:
            WriterFenced: another one has begun meanwhile; try again.
            MillstreamError: it is not possible now.
        """

    def append(self, key: bytes, value: bytes) -> int:
        """Write a command; returns its offset.

        Raises:
            WriterFenced: another server writes; begin again.
            MillstreamError: it is not written.
        """

    def commit(self) -> None:
        """Have all servers see it.

        Raises:
            WriterFenced: another server writes; begin again.
            MillstreamError: it is not known whether they do.
        """

    def abort(self) -> None:
        """Take back what was written since `begin`. Raises nothing."""

    def close(self) -> None:
        """Leave the brokers."""


class CommandTopic(Protocol):
    """The command topic of a service."""

    @property
    def name(self) -> str: ...

    def ensure(self) -> bool:
        """Make the topic if it is not there; whether it was made."""

    def check(self) -> None:
        """See that the topic is still the one that `ensure` found.

        Raises:
            TopicDamaged: it is not.
        """

    def end(self) -> int:
        """The offset after the last committed command."""

    def reader(self) -> CommandReader:
        """A new reader, at the beginning."""

    def writer(self) -> CommandWriter:
        """A new writer; it does nothing before it begins."""

    def delete(self) -> None:
        """Delete the topic; nothing happens when there is none."""

    def close(self) -> None:
        """Leave the brokers."""
