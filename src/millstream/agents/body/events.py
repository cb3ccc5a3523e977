"""`Event`: a record with all that is known of it."""

from __future__ import annotations

from collections.abc import Generator
from types import TracebackType
from typing import Any, NamedTuple, Self

from millstream.agents.body.current import CURRENT, Current
from millstream.records import Headers


class Message(NamedTuple):
    """Where a record came from. Its timestamp is in seconds, as in Faust."""

    topic: str | None
    partition: int
    offset: int
    timestamp: float
    headers: Headers


class Event:
    """A record: `key`, `value`, `headers`, and in `message` its topic, partition, offset and timestamp."""

    __slots__ = ("headers", "key", "message", "value")

    def __init__(self, key: Any, value: Any, message: Message) -> None:
        self.key = key
        self.value = value
        self.message = message
        self.headers = message.headers

    @property
    def timestamp_ms(self) -> int:
        """Its timestamp in milliseconds, as the rest of Millstream has it."""
        return round(self.message.timestamp * 1000)

    async def send(self, topic: Any, key: Any = None, value: Any = None, **options: Any) -> Sent:
        """Send a record to a topic, with the event's key and value unless others are given."""
        key = self.key if key is None else key
        value = self.value if value is None else value
        topic.send_soon(key=key, value=value, headers=self.headers, **options)
        return SENT

    #: Faust keeps the bytes as they were; here they are written anew.
    forward = send

    def ack(self) -> bool:
        """Nothing: all records of a batch are done, or none is."""
        return True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.ack()

    def __repr__(self) -> str:
        message = self.message
        return f"<Event {message.topic}-{message.partition}@{message.offset}: {self.key!r}, {self.value!r}>"


class Sent:
    """What sending gives: may be awaited, any number of times, and is there at once.

    The record goes out when the batch is committed. Its offset is known only then, so there is none here.
    """

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, Sent]:
        return self
        yield

    def done(self) -> bool:
        """Always."""
        return True


SENT = Sent()


def make_event(
    key: Any, value: Any, timestamp: int, headers: Headers | None, place: tuple[str | None, int, int]
) -> Event:
    """The event of a record, its timestamp in milliseconds and its place a topic, partition and offset."""
    return Event(key, value, Message(*place, timestamp / 1000, headers or Headers()))


def event_of(current: Current) -> Event:
    """The event that an agent's function is at."""
    return make_event(current.key, current.value, current.timestamp, current.headers, current.place())


def current_event() -> Event | None:
    """The event that the running agent is at; None outside of agents. Inside `take`, the last one of its list."""
    current = CURRENT.get()
    return None if current is None or current.timestamp < 0 else event_of(current)
