"""Copies of an agent's function that wait for something outside, each with a task of an event loop.

A record is begun without the loop: the coroutine is resumed with it and usually runs to its end. Only if it then waits
for something outside is it handed to its loop task, which goes on with it while other copies take further records.
"""

from __future__ import annotations

import asyncio
import types
from asyncio.events import _get_running_loop, _set_running_loop
from asyncio.tasks import _enter_task, _leave_task
from collections.abc import Callable, Generator
from contextvars import copy_context
from typing import Any, Final, Protocol

from millstream.agents.body.current import CURRENT, Current
from millstream.agents.body.events import event_of
from millstream.agents.body.operator import AgentOperator
from millstream.agents.body.requests import ITEM, VALUE, Request, Take
from millstream.processors.operator import Forward
from millstream.records import Headers

#: What a coroutine that has come to its end, or has failed, answers.
ENDED: Final = object()


class Entry:
    """A record on its way through an agent, and what has come of it so far."""

    __slots__ = (
        "done", "error", "headers", "ident", "items", "key", "outputs", "place", "source", "timestamp", "value",
    )  # fmt: skip

    def __init__(
        self, key: Any, value: Any, timestamp: int, headers: Headers | None, place: tuple[str | None, int, int]
    ) -> None:
        self.key = key
        self.value = value
        self.timestamp = timestamp
        self.headers = headers
        self.place = place
        #: The input record it comes from, if errors may be passed over.
        self.source: Any = None
        #: Records of the same ident are handled one after the other.
        self.ident: Any = None
        #: What `take` is given instead of the record.
        self.items: list[Any] | None = None
        #: Where to forward what.
        self.outputs: list[tuple[Forward, Any, Any, int, Headers | None]] = []
        self.done = False
        self.error: BaseException | None = None


class Owner(Protocol):
    """What a copy needs of its operator."""

    loop: asyncio.AbstractEventLoop

    def finished(self, copy: Copy, entry: Entry, error: BaseException | None) -> Entry | None:
        """An entry is done; answers the next one for the same copy."""


class Copy:
    """One running copy of the function. It is at one record at a time."""

    def __init__(self, operator: AgentOperator, owner: Owner, now: Callable[[], int]) -> None:
        self._owner = owner
        self._loop = owner.loop
        self._entry: Entry | None = None
        self._delivered = False
        self.current = Current(
            operator.spec.name, operator.tables, now, lambda: self._now_at().place, operator.send_by(self._output)
        )
        self._context = copy_context()
        self._context.run(CURRENT.set, self.current)
        coroutine = self._context.run(operator.body, self.current, self._output)
        self._coroutine = coroutine
        self._send, self._throw = coroutine.send, coroutine.throw
        self._failure: BaseException | None = None
        #: What it waits for: a request, `ENDED`, or None before it has begun.
        self.wanted: Any = None
        self._gate: asyncio.Future[Any] = self._loop.create_future()
        self.task = self._loop.create_task(self._serve(), context=self._context)

    @property
    def is_over(self) -> bool:
        """Whether the function has returned or raised, so that nothing more can be done with this copy."""
        return self.wanted is ENDED

    def begin(self) -> None:
        """Run the function up to its first request, outside of the loop; it must not wait for anything before."""
        self.wanted = self._stepped(None)

    def run(self, entry: Entry) -> None:
        """Handle an entry, and those that follow it; called outside of the loop, returns when it has to wait."""
        self._enter(entry)
        yielded = self.wanted if self.wanted is not None else self._stepped(None)
        while True:
            if isinstance(yielded, Request) and not self._delivered:
                yielded = self._stepped(self._item(yielded))
            elif yielded is ENDED or isinstance(yielded, Request):
                if not self._go_on(yielded):
                    return
            else:
                self._gate.set_result(yielded)
                return

    async def _serve(self) -> None:
        """The loop task: goes on with what waits."""
        await self._handed_over()

    @types.coroutine
    def _handed_over(self) -> Generator[Any, Any, None]:
        while not self.is_over:
            yielded = yield from self._gate
            self._gate = self._loop.create_future()
            while True:
                if isinstance(yielded, Request) and not self._delivered:
                    yielded = self._resumed(self._send, self._item(yielded))
                elif yielded is ENDED or isinstance(yielded, Request):
                    if not self._go_on(yielded):
                        break
                else:
                    try:
                        sent = yield yielded
                    except BaseException as error:
                        yielded = self._resumed(self._throw, error)
                    else:
                        yielded = self._resumed(self._send, sent)

    def close(self) -> None:
        """End it; its task is cancelled and has to be run once more."""
        self.task.cancel()
        if self._entry is None:
            self._context.run(self._coroutine.close)

    # --- inside

    def _enter(self, entry: Entry) -> None:
        self._entry = entry
        self._delivered = False
        current = self.current
        current.key, current.value = entry.key, entry.value
        current.timestamp, current.headers = entry.timestamp, entry.headers

    def _now_at(self) -> Entry:
        if self._entry is None:
            raise AssertionError("there is no record")
        return self._entry

    def _output(self, forward: Forward, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        self._now_at().outputs.append((forward, key, value, timestamp, headers))

    def _item(self, wanted: Request) -> Any:
        self._delivered = True
        if wanted is VALUE:
            return self.current.value
        if wanted is ITEM:
            return self.current.key, self.current.value
        return self._now_at().items if isinstance(wanted, Take) else event_of(self.current)

    def _go_on(self, yielded: Any) -> bool:
        """The entry is done: take the next one, if there is one for this copy."""
        self.wanted = yielded
        entry, self._entry = self._now_at(), None
        failure, self._failure = self._failure, None
        following = self._owner.finished(self, entry, failure)
        if following is None:
            return False
        self._enter(following)
        return True

    def _resumed(self, function: Callable[[Any], Any], argument: Any) -> Any:
        try:
            return function(argument)
        except StopIteration:
            return ENDED
        except BaseException as error:
            self._failure = error
            return ENDED

    def _stepped(self, item: Any) -> Any:
        """Resume the coroutine outside of the loop, as if the loop had done it."""
        loop, task = self._loop, self.task
        before = _get_running_loop()
        _set_running_loop(loop)
        _enter_task(loop, task)
        try:
            return self._context.run(self._resumed, self._send, item)
        finally:
            _leave_task(loop, task)
            _set_running_loop(before)
