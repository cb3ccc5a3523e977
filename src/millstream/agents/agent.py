"""`Agent`: a function over a stream, with the topic it reads and an address for others."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from typing import TYPE_CHECKING, Any

from millstream.agents.body.current import CURRENT
from millstream.agents.body.events import Sent
from millstream.agents.body.outgoing import Outgoing
from millstream.agents.body.replies import CORRELATION_ID, REPLY_TO
from millstream.agents.surroundings import Surroundings
from millstream.agents.tables import TableBase
from millstream.agents.topics import HeadersLike, Topic
from millstream.errors import StreamsError, TopologyError
from millstream.records import Headers

if TYPE_CHECKING:
    from millstream.dsl.streams.kstream import KStream

#: What results can be given to: a topic, another agent, a function or a coroutine function.
Sink = Any


class Agent:
    """Made by `App.agent`.

    Args:
        surroundings: of its application.
        name: its name: what its node and its own topic are called after.
        function: `async def`, with one parameter, the stream.
        channel: the topic or the KStream that it reads.
        sinks: where what it yields goes.
        tables: those it uses beside the ones that its code names.
        in_flight: how many records may be under way at once, if it waits for something outside.
    """

    def __init__(
        self,
        surroundings: Surroundings,
        name: str,
        function: Callable[..., Any],
        channel: Topic | KStream[Any, Any],
        sinks: Iterable[Sink],
        tables: Iterable[TableBase],
        in_flight: int,
    ) -> None:
        self._surroundings = surroundings
        self.name = name
        self.function = function
        self.channel = channel
        self.sinks = list(sinks)
        self.tables = list(tables)
        self.in_flight = in_flight
        self.__doc__ = function.__doc__

    def add_sink(self, sink: Sink) -> None:
        """One more place for what it yields; before the application is started."""
        self.sinks.append(sink)

    @property
    def topic(self) -> Topic:
        """The topic that it reads."""
        if not isinstance(self.channel, Topic):
            raise TopologyError(
                f"agent '{self.name}' reads a stream of the DSL, not a topic",
                hint="send to the topic that the stream begins with",
            )
        return self.channel

    def __call__(self, stream: Any) -> Any:
        """The function itself, on a stream: to use one agent's logic inside another."""
        return self.function(stream)

    # --- sending

    async def send(
        self,
        *,
        key: Any = None,
        value: Any = None,
        partition: int | None = None,
        timestamp: float | None = None,
        headers: HeadersLike = None,
        reply_to: Any = None,
        correlation_id: str | None = None,
    ) -> Sent:
        """Send it a record; with `reply_to`, what it yields for it goes to that topic or agent."""
        if reply_to is not None:
            headers = _asking(reply_to, correlation_id, headers)
        return self.topic.send_soon(key=key, value=value, partition=partition, timestamp=timestamp, headers=headers)

    async def cast(self, value: Any = None, *, key: Any = None, **options: Any) -> Sent:
        """Send it a value, without an answer."""
        return await self.send(key=key, value=value, **options)

    # --- asking

    async def ask(self, value: Any = None, *, key: Any = None) -> Any:
        """Send it a value, and wait for what it yields for it.

        An answer is there when the agent's batch is committed. So an agent cannot ask one of its own application: it
        would wait for itself.
        """
        current = CURRENT.get()
        if current is not None:
            raise StreamsError(
                f"agent '{current.agent}' cannot ask agent '{self.name}'",
                detail="the answer is committed with the batch that waits for it",
                hint="send with reply_to=, and have another agent go on with the answer",
            )
        outside = self._surroundings.outside(f"ask agent {self.name}")
        topic = self.topic
        raw_key = None if key is None else topic.key_serde.serialize(key.encode() if _is_text(topic, key) else key)
        raw_value = None if value is None else topic.value_serde.serialize(value)
        answer = await outside.ask((raw_key, Outgoing(topic.name, None, raw_value)), Headers())
        return answer["value"]

    async def map(self, values: AsyncIterable[Any] | Iterable[Any], key: Any = None) -> AsyncIterator[Any]:
        """Ask for each value, and give the answers as they come."""
        async for _, answer in self.kvmap(_with_key(values, key)):
            yield answer

    async def kvmap(self, items: AsyncIterable[tuple[Any, Any]] | Iterable[tuple[Any, Any]]) -> AsyncIterator[Any]:
        """The same for keys and values; gives keys and answers."""
        import asyncio

        async def answered(key: Any, value: Any) -> tuple[Any, Any]:
            return key, await self.ask(value, key=key)

        asked = [asyncio.ensure_future(answered(key, value)) async for key, value in _async(items)]
        for answer in asyncio.as_completed(asked):
            yield await answer

    async def join(self, values: AsyncIterable[Any] | Iterable[Any], key: Any = None) -> list[Any]:
        """Ask for each value; the answers in the order of the values."""
        return await self.kvjoin(_with_key(values, key))

    async def kvjoin(self, items: AsyncIterable[tuple[Any, Any]] | Iterable[tuple[Any, Any]]) -> list[Any]:
        """The same for keys and values."""
        import asyncio

        return await asyncio.gather(*[self.ask(value, key=key) async for key, value in _async(items)])

    # --- tests

    def test_context(self) -> Any:
        """The agent alone, without a broker: `async with agent.test_context() as a: await a.put(value)`."""
        if self._surroundings.agent_test is None:
            raise StreamsError(f"agent '{self.name}' cannot be tested here", hint="do it where it is defined")
        return self._surroundings.agent_test(self)

    def __reduce__(self) -> tuple[Callable[..., Agent], tuple[Any, ...]]:
        # Elsewhere it is an address. Its function goes to the tasks that run it, not to those that send to it.
        channel = self.channel if isinstance(self.channel, Topic) else None
        return _address, (self.name, channel)

    def __repr__(self) -> str:
        return f"<Agent {self.name}>"


def _address(name: str, channel: Any) -> Agent:
    return Agent(Surroundings(), name, _elsewhere, channel, (), (), 1)


async def _elsewhere(stream: Any) -> None:
    """Stands for a function that runs elsewhere."""


def _asking(reply_to: Any, correlation_id: str | None, headers: HeadersLike) -> Headers:
    topic = (
        reply_to if isinstance(reply_to, str) else reply_to.topic.name if isinstance(reply_to, Agent) else reply_to.name
    )
    asking = Headers([(REPLY_TO, topic.encode()), (CORRELATION_ID, (correlation_id or uuid.uuid4().hex).encode())])
    for name, value in dict(headers or {}).items():
        asking.add(name, value.encode() if isinstance(value, str) else value)
    return asking


def _is_text(topic: Topic, key: Any) -> bool:
    return topic.key_type is None and isinstance(key, str)


async def _async(items: AsyncIterable[Any] | Iterable[Any]) -> AsyncIterator[Any]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


async def _with_key(values: AsyncIterable[Any] | Iterable[Any], key: Any) -> AsyncIterator[tuple[Any, Any]]:
    async for value in _async(values):
        yield key, value
