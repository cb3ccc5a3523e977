"""Agents that wait for nothing but records: no event loop, one record after the other.

The coroutine is resumed with each record and runs until it asks for the next one. That is a handful of calls, so an
agent costs about as much as a processor that is written as a class.
"""

from __future__ import annotations

from contextvars import copy_context
from typing import Any

from millstream.agents.body.current import CURRENT, Current
from millstream.agents.body.events import Event, event_of
from millstream.agents.body.operator import AgentOperator
from millstream.agents.body.requests import EVENT, ITEM, VALUE, Request, Take
from millstream.processors.context import TaskContext
from millstream.processors.operator import Forward
from millstream.records import Headers


class PlainAgent(AgentOperator):
    """Runs a function that has no `await`."""

    def init(self, context: TaskContext) -> None:
        super().init(context)
        task = self.context
        self._current = Current(
            self.spec.name,
            self.tables,
            task.now,
            lambda: (task.topic, task.partition, task.offset),
            self.send_by(_forward),
        )
        self._context = copy_context()
        self._context.run(CURRENT.set, self._current)
        self._run = self._context.run
        self._coroutine: Any = None
        #: What the coroutine waits for; None if there is none.
        self._wanted: Request | None = None
        if self._open is not None and isinstance(wanted := self._begin(), Take):
            self.tick_every(wanted, self._tick)

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        current = self._current
        current.key = key
        current.value = value
        current.timestamp = timestamp
        current.headers = headers
        wanted = self._wanted
        if wanted is ITEM:
            item: Any = key, value
        elif wanted is VALUE:
            item = value
        elif wanted is EVENT:
            item = event_of(current)
        else:
            self._rarely(wanted)
            return
        # What `_resume` does, without a further call for each record.
        try:
            following = self._run(self._send, item)
        except StopIteration:
            following = None
        except BaseException:
            self._wanted = None
            raise
        if following is not wanted:
            self._note(following)

    def close(self) -> None:
        if self._coroutine is not None:
            self._run(self._coroutine.close)

    def _resume(self, item: Any) -> None:
        try:
            wanted = self._run(self._send, item)
        except StopIteration:
            wanted = None  # the function has returned: the next record begins it anew
        except BaseException:
            self._wanted = None
            raise
        if wanted is not self._wanted:
            self._note(wanted)

    def _rarely(self, wanted: Request | None) -> None:
        """Handle the current record where there is no coroutine yet, or one that takes several at once."""
        if wanted is None:
            wanted = self._begin()
        if isinstance(wanted, Take):
            self._resume_with(wanted, self.taken(wanted, event_of(self._current)))
        elif wanted is not None:
            current = self._current
            self.process(current.key, current.value, current.timestamp, current.headers)

    def _begin(self) -> Request | None:
        """Start the function, up to where it asks for its first record."""
        self._coroutine = self._run(self.body, self._current, _forward)
        self._send = self._coroutine.send
        self._resume(None)
        return self._wanted

    def _note(self, wanted: Any) -> None:
        if wanted is not None and not isinstance(wanted, Request):
            self._wanted = None
            raise self.unexpected(wanted)
        self._wanted = wanted

    def _tick(self, _: int) -> None:
        if isinstance(self._wanted, Take):
            self._resume_with(self._wanted, self.hand_out())

    def _resume_with(self, request: Take, events: list[Event]) -> None:
        if events:
            current, last = self._current, events[-1]
            current.key, current.value, current.headers = last.key, last.value, last.headers
            current.timestamp = last.timestamp_ms
            self._resume([request.make(event) for event in events])


def _forward(forward: Forward, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
    forward(key, value, timestamp, headers)
