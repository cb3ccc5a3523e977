"""Agents that may wait for something outside: many records are under way at once.

Records of one key are handled one after the other, in their order. Results are forwarded in the order of the records
they come from, however long each took, so that the same input gives the same output. Nothing is under way when the task
commits: what was written, yielded and sent for a record is committed with it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Any, Final

from millstream.agents.body.events import Event, make_event
from millstream.agents.body.flight import Copy, Entry
from millstream.agents.body.loops import acquire_loop, release_loop, run
from millstream.agents.body.operator import AgentOperator
from millstream.agents.body.requests import Request, Take
from millstream.errors import StreamsError
from millstream.processors.context import TaskContext
from millstream.records import Headers, Record
from millstream.state.caches.cache import record_context_kept

#: The ident of all lists of `take`.
_LISTS: Final = object()


class WaitingAgent(AgentOperator):
    """Runs a function that has an `await`."""

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self.loop = acquire_loop()
        #: Records in the order they came, those that are done at the front excepted.
        self._entries: deque[Entry] = deque()
        self._unfinished = 0
        #: Idents that are under way, and what waits for each.
        self._busy: dict[Hashable, deque[Entry] | None] = {}
        self._idle: list[Copy] = []
        self._copies: set[Copy] = set()
        #: What waited for a copy that has ended.
        self._orphans: deque[Entry] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._enough = 0
        self._take: Take | None = None
        if self._open is not None:
            self._begin_taking()

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        context = self.context
        place = context.topic, context.partition, context.offset
        if self._take is not None:
            event = make_event(key, value, timestamp, headers, place)
            self._hand_over(self._take, self.taken(self._take, event))
            return
        entry = Entry(key, value, timestamp, headers, place)
        # Records without a key have no order among each other.
        entry.ident = entry if key is None else key if isinstance(key, Hashable) else self.spec.key.serialize(key)
        self._add(entry)

    def drain(self) -> None:
        self._wait(0)
        super().drain()

    def close(self) -> None:
        copies = list(self._copies)
        for copy in copies:
            copy.close()
        if copies:
            run(self.loop, asyncio.gather(*(copy.task for copy in copies), return_exceptions=True))
        release_loop()

    def finished(self, copy: Copy, entry: Entry, error: BaseException | None) -> Entry | None:
        """See `Owner`. Called inside and outside of the loop, so that nothing is forwarded here."""
        entry.done, entry.error = True, error
        self._unfinished -= 1
        following = None
        waiting = self._busy[entry.ident]
        if waiting:
            following = waiting.popleft()
        else:
            del self._busy[entry.ident]
        if copy.is_over:
            self._copies.discard(copy)
            if following is not None:
                self._orphans.append(following)
        elif following is None:
            self._idle.append(copy)
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            first_is_done = self._entries[0].done
            if (first_is_done and self._unfinished <= self._enough) or self._orphans:
                waiter.set_result(None)
        return None if copy.is_over else following

    # --- inside

    def _add(self, entry: Entry) -> None:
        entries, busy, ident = self._entries, self._busy, entry.ident
        entries.append(entry)
        if self.guard is not None:
            entry.source = self.guard.source()
        self._unfinished += 1
        if ident in busy:
            waiting = busy[ident]
            if waiting is None:
                busy[ident] = deque((entry,))
            else:
                waiting.append(entry)
        else:
            busy[ident] = None
            self._start(entry)
        if self._orphans or entries[0].done:
            self._release()
        if len(entries) >= self.spec.in_flight:
            self._wait(self.spec.in_flight // 2)

    def _start(self, entry: Entry) -> None:
        (self._idle.pop() if self._idle else self._new_copy()).run(entry)

    def _new_copy(self) -> Copy:
        copy = Copy(self, self, self.context.now)
        self._copies.add(copy)
        return copy

    def _release(self) -> None:
        """Forward the results of records that are done, up to the first that is not."""
        while self._orphans:
            self._start(self._orphans.popleft())
        entries, context = self._entries, self.context
        while entries and entries[0].done:
            entry = entries.popleft()
            if entry.error is None and not entry.outputs:
                continue
            with record_context_kept(context):
                context.topic, context.partition, context.offset = entry.place
                context.timestamp, context.headers = entry.timestamp, entry.headers
                try:
                    _end(entry)
                except Exception as error:
                    if self.guard is None:
                        raise
                    record = Record(entry.key, entry.value, entry.timestamp, entry.headers)
                    self.guard.failed(error, record, entry.source)

    def _wait(self, most: int) -> None:
        """Until so few records are left that are not done."""
        self._release()
        while len(self._entries) > most:
            self._enough = most
            self._waiter = self.loop.create_future()
            run(self.loop, self._waiter)
            self._waiter = None
            self._release()

    def _begin_taking(self) -> None:
        copy = self._new_copy()
        copy.begin()
        self._idle.append(copy)
        if isinstance(copy.wanted, Take):
            self._take = copy.wanted
            self.tick_every(copy.wanted, self._tick)
        elif not isinstance(copy.wanted, Request):
            raise StreamsError(
                f"agent '{self.spec.name}' does not come to its first record",
                detail="it uses take(), so it is started with its task; it ends or awaits something before its loop",
                hint="await it in the loop",
            )

    def _hand_over(self, request: Take, events: list[Event]) -> None:
        if events:
            last = events[-1]
            message = last.message
            place = message.topic, message.partition, message.offset
            entry = Entry(last.key, last.value, last.timestamp_ms, last.headers, place)
            entry.ident, entry.items = _LISTS, [request.make(event) for event in events]
            self._add(entry)

    def _tick(self, _: int) -> None:
        if self._take is not None:
            self._hand_over(self._take, self.hand_out())


def _end(entry: Entry) -> None:
    """Forward what has come of a record; if that is an error, nothing but the error."""
    if entry.error is not None:
        raise entry.error
    for forward, key, value, timestamp, headers in entry.outputs:
        forward(key, value, timestamp, headers)
