"""What the operators of all agents have in common: tables, results, replies, `take`."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine
from datetime import timedelta
from inspect import isawaitable
from typing import Any

from millstream.agents.body.current import Access, Current
from millstream.agents.body.events import Event
from millstream.agents.body.outgoing import Outgoing
from millstream.agents.body.replies import reply_to
from millstream.agents.body.requests import Take
from millstream.agents.body.spec import AgentSpec
from millstream.agents.body.stream import Stream
from millstream.agents.body.taking import OpenList
from millstream.errors import StreamsError, describe_callable
from millstream.processors.context import TaskContext
from millstream.processors.operator import Forward, Operator, forward_to_nobody
from millstream.processors.punctuation import PunctuationType, Punctuator
from millstream.processors.user_context import HostContext, NodeContext
from millstream.records import Headers

#: Takes one output: where to forward it, and the record.
Output = Callable[[Forward, Any, Any, int, Headers | None], None]


class AgentOperator(Operator):
    """Runs an agent's function in one task."""

    hosts_user_code = True
    context: HostContext

    def __init__(self, spec: AgentSpec) -> None:
        self.spec = spec
        self._open: OpenList | None = None

    def init(self, context: TaskContext) -> None:
        super().init(context)
        spec = self.spec
        self._sends = self.children.get(spec.sends, forward_to_nobody)
        self._results = _all([child for name, child in self.children.items() if name != spec.sends])
        self.tables = {name: _access(context.store(name)) for name in spec.tables}
        if spec.open_list is not None:
            self._open = OpenList(context.store(spec.open_list), spec.key, spec.value)

    def drain(self) -> None:
        if self._open is not None:
            self._open.save()

    # --- for subclasses

    def body(self, current: Current, output: Output) -> Coroutine[Any, Any, Any]:
        """A new run of the function; `output` takes what it yields."""
        spec = self.spec
        found = spec.function(Stream())
        if inspect.isasyncgen(found):
            return self._yielding(found, current, output)
        if inspect.iscoroutine(found):
            return found
        raise StreamsError(
            f"agent '{spec.name}' is no coroutine",
            detail=f"{describe_callable(spec.function)} returned {found!r}",
            hint="write it as `async def` with an `async for` over its stream",
        )

    def send_by(self, output: Output) -> Callable[[Any, Outgoing, int, Headers | None], None]:
        """`Current.send`: hands a record for any topic to `output`."""
        sends = self._sends

        def send(key: Any, outgoing: Outgoing, timestamp: int, headers: Headers | None) -> None:
            output(sends, key, outgoing, timestamp, headers)

        return send

    def tick_every(self, request: Take, tick: Punctuator) -> None:
        """Have `tick`, a method of the operator, called so often that nobody waits longer than he said."""
        ticking = NodeContext(self.context, self.name, self, lambda punctuator, now: punctuator(now))
        interval = timedelta(milliseconds=max(request.within_ms, 1))
        ticking.schedule(interval, PunctuationType.WALL_CLOCK_TIME, tick)

    def taken(self, request: Take, event: Event) -> list[Event]:
        """Put a record into the open list; answers what to hand out: nothing, unless the list is full."""
        opened = self._opened()
        if request.accept(event):
            opened.events.append(event)
        return opened.take() if len(opened.events) >= request.most else []

    def hand_out(self) -> list[Event]:
        """What is in the open list."""
        return self._opened().take()

    def unexpected(self, found: object) -> StreamsError:
        """What to say of a coroutine that waits for something outside where that is not provided for."""
        return StreamsError(
            f"agent '{self.spec.name}' waits for {found!r} where nothing can be waited for",
            detail="its own code has no `await`, and something that it calls has",
            hint="await it in the agent's function itself",
        )

    def _opened(self) -> OpenList:
        if self._open is None:
            raise StreamsError(
                f"agent '{self.spec.name}' uses take() without its code saying so",
                hint="call stream.take(...) in the agent's function itself",
            )
        return self._open

    async def _yielding(self, found: AsyncGenerator[Any, Any], current: Current, output: Output) -> None:
        sinks, results, sends = self.spec.sinks, self._results, self._sends
        async for result in found:
            for sink in sinks:
                answer = sink(result)
                if isawaitable(answer):
                    await answer
            headers = current.headers
            output(results, current.key, result, current.timestamp, headers)
            if headers:
                reply = reply_to(headers, current.key, result)
                if reply is not None:
                    output(sends, *reply, current.timestamp, None)


def _access(store: Any) -> Access:
    return Access(store, store.read, store.write)


def _all(children: list[Forward]) -> Forward:
    if not children:
        return forward_to_nobody
    if len(children) == 1:
        return children[0]

    def forward(key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        for child in children:
            child(key, value, timestamp, headers)

    return forward
