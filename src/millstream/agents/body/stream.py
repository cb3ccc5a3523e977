"""`Stream`: what an agent's function loops over."""

from __future__ import annotations

import types
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from datetime import timedelta
from inspect import isawaitable
from typing import Any, Final

from millstream.agents.body.current import CURRENT
from millstream.agents.body.events import Event
from millstream.agents.body.requests import EVENT, ITEM, VALUE, Request, Take, ask
from millstream.agents.times import to_milliseconds
from millstream.errors import StreamsError

#: A step between a topic and the loop: gives the new value, or `SKIPPED`.
Step = Callable[[Any], Any]
SKIPPED: Final = object()


class Stream:
    """The records of an agent's topic, for `async for`.

    The loop waits for the next record for as long as the agent lives; code behind it is not reached.
    """

    def __init__(self, *, steps: tuple[Step, ...] = ()) -> None:
        self._steps = steps

    def __aiter__(self) -> AsyncIterator[Any]:
        return self if not self._steps else self._stepped(lambda event: event.value)

    @types.coroutine
    def __anext__(self) -> Generator[Request, Any, Any]:
        return (yield VALUE)

    def items(self) -> AsyncIterator[tuple[Any, Any]]:
        """Keys and values."""
        return _Asking(ITEM) if not self._steps else self._stepped(lambda event: (event.key, event.value))

    def events(self) -> AsyncIterator[Event]:
        """Events: with headers, topic, partition, offset and timestamp."""
        return _Asking(EVENT) if not self._steps else self._stepped(lambda event: event)

    async def enumerate(self, start: int = 0) -> AsyncIterator[tuple[int, Any]]:
        """Values with their number, which begins anew where the agent does."""
        number = start
        async for value in self:
            yield number, value
            number += 1

    # --- steps before the loop

    def filter(self, predicate: Callable[[Any], Any]) -> Stream:
        """Only the values for which `predicate(value)` is true; it may be a coroutine function."""

        def step(value: Any) -> Any:
            kept = predicate(value)
            return _awaited(kept, value) if isawaitable(kept) else value if kept else SKIPPED

        return self.then(step)

    def then(self, step: Step) -> Stream:
        """The values that `step(value)` gives."""
        return Stream(steps=(*self._steps, step))

    def echo(self, *topics: Any) -> Stream:
        """Copy each record to topics, under its key, before the loop has it."""

        def step(value: Any) -> Any:
            current = CURRENT.get()
            for topic in topics:
                topic.send_soon(key=None if current is None else current.key, value=value)
            return value

        return self.then(step)

    def group_by(self, key: Any, *, name: str | None = None, partitions: int | None = None) -> Stream:
        """The same records under another key, each in the partition of that key.

        The topology is made before the function runs, so it is looked at beforehand: the records that come here are
        grouped already. See `millstream.agents.planning`.
        """
        return self

    def through(self, topic: Any) -> Stream:
        """The same records by way of a topic; as `group_by`, it is done before they come here."""
        return self

    # --- several at once

    def take(self, most: int, within: float | timedelta) -> AsyncIterator[list[Any]]:
        """Lists of up to so many values: as soon as there are so many, or `within` after the first has come.

        A list that is not full is part of the agent's state: it survives restarts and crashes.
        """
        return self._taking(most, within, lambda event: event.value)

    def take_events(self, most: int, within: float | timedelta) -> AsyncIterator[list[Event]]:
        """As `take`, with events."""
        return self._taking(most, within, lambda event: event)

    def take_with_timestamp(
        self, most: int, within: float | timedelta, timestamp_field_name: str = "timestamp"
    ) -> AsyncIterator[list[dict[str, Any]]]:
        """As `take`, where each value is a dict and gets its record's timestamp, in seconds."""

        def timed(event: Event) -> dict[str, Any]:
            return {**event.value, timestamp_field_name: event.message.timestamp}

        return self._taking(most, within, timed)

    def noack(self) -> Stream:
        """Itself: all records of a batch are done, or none is, so that there is nothing to acknowledge."""
        return self

    #: Faust acknowledges these one by one.
    noack_take = take

    async def ack(self, event: Event) -> bool:
        """Nothing; see `noack`."""
        return event.ack()

    # --- inside

    def _taking(self, most: int, within: float | timedelta, make: Callable[[Event], Any]) -> AsyncIterator[list[Any]]:
        return _Asking(Take(most, to_milliseconds(within, "within"), make, self._accept))

    def _accept(self, event: Event) -> bool:
        """Apply the steps to an event that is to be taken."""
        for step in self._steps:
            value = step(event.value)
            if isawaitable(value):
                raise StreamsError(
                    "take() needs filters that are plain functions",
                    detail=f"{step} is a coroutine function",
                    hint="await what it awaits in the loop over the list",
                )
            if value is SKIPPED:
                return False
            event.value = value
        return True

    async def _stepped(self, make: Callable[[Event], Any]) -> AsyncIterator[Any]:
        steps = self._steps
        while True:
            event = await ask(EVENT)
            for step in steps:
                value = step(event.value)
                if isawaitable(value):
                    value = await value
                if value is SKIPPED:
                    break
                event.value = value
            else:
                yield make(event)


class _Asking:
    """Gives what the operator resumes a request with."""

    def __init__(self, request: Request) -> None:
        self._request = request

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    @types.coroutine
    def __anext__(self) -> Generator[Request, Any, Any]:
        return (yield self._request)


async def _awaited(kept: Awaitable[Any], value: Any) -> Any:
    return value if await kept else SKIPPED
