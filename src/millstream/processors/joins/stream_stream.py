"""Joins of two streams in a window of time: `join`, `left_join` and `outer_join` of a KStream with a KStream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millstream.processors.context import TaskContext
from millstream.processors.joins.outer_store import OuterJoinStore
from millstream.processors.operator import Operator
from millstream.records import MAX_TIMESTAMP, NO_TIMESTAMP, Headers

#: Called with the key, the left and the right value.
Joiner = Callable[[Any, Any, Any], Any]

_EMIT_INTERVAL_MS = 1000


def finder(store: Any) -> Callable[[Any, int, int], Sequence[tuple[int, Any]]]:
    """`find(key, earliest, latest)` of a window store; a user's own kind of store may have no quick one."""

    def find(key: Any, earliest: int, latest: int) -> list[tuple[int, Any]]:
        return list(store.fetch_range(key, earliest, latest))

    quick: Callable[[Any, int, int], Sequence[tuple[int, Any]]] = getattr(store, "find", find)
    return quick


class JoinClock:
    """The time that both sides of one join share in a task."""

    __slots__ = ("emit_interval_ms", "min_time", "next_emit", "stream_time")

    def __init__(self, emit_interval_ms: int) -> None:
        self.stream_time = NO_TIMESTAMP
        #: No unmatched record is older, as far as the last scan of them could tell.
        self.min_time = MAX_TIMESTAMP
        #: Wall-clock time before which unmatched records are not looked for again.
        self.next_emit = 0
        self.emit_interval_ms = emit_interval_ms


class JoinWindowStoreOperator(Operator):
    """Keeps the records of one side for the other side to find.

    A record is passed on first: it must not meet itself where a stream is joined with itself.
    """

    def __init__(self, store: str) -> None:
        self._store_name = store

    def init(self, context: TaskContext) -> None:
        """Find the window store."""
        super().init(context)
        store = context.store(self._store_name)
        self._put = store.put
        self._keep = getattr(store, "keep", store.put)

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        """Pass the record on, then keep it. A store with duplicates ignores None as a value."""
        self.forward(key, value, timestamp, headers)
        if key is None:
            return
        if value is None:
            self._put(key, value, timestamp)
        else:
            self._keep(key, value, timestamp)


class StreamStreamJoin(Operator):
    """One side of a join: looks for partners of its records among those the other side keeps.

    Args:
        left_side: whether this is the left stream's side.
        other_store: the window store of the other side.
        outer_store: the store of unmatched records, shared by both sides of a left or outer join.
        before_ms: how much earlier than a left record its right partner may be.
        after_ms: how much later.
        grace_ms: how long after its end a window stays open.
        outer: unmatched records of this side are results.
        spurious_fix: unmatched records wait in `outer_store` until their window closes; False: they are sent at once.
        joiner: makes a result of key, left and right value.
        shared: the name of the clock both sides share.
    """

    def __init__(
        self,
        *,
        left_side: bool,
        other_store: str,
        outer_store: str | None,
        before_ms: int,
        after_ms: int,
        grace_ms: int,
        outer: bool,
        spurious_fix: bool,
        joiner: Joiner,
        shared: str,
    ) -> None:
        self._left_side = left_side
        self._other_store_name = other_store
        self._outer_store_name = outer_store if spurious_fix else None
        self._before, self._after = (before_ms, after_ms) if left_side else (after_ms, before_ms)
        # How long after its timestamp an unmatched record may still find a partner: of right ones, of left ones.
        self._waits = (before_ms + grace_ms, after_ms + grace_ms)
        self._gate = self._after + grace_ms
        self._outer = outer
        self._joiner = joiner
        self._shared = shared
        self._uses_clock = outer or self._outer_store_name is not None
        if not self._uses_clock:
            self.process = self._process_inner  # type: ignore[method-assign]  # no clock, no outer store

    def init(self, context: TaskContext) -> None:
        """Find the stores, and the clock (whichever side comes first makes it)."""
        super().init(context)
        self._find = finder(context.store(self._other_store_name))
        self._outer_store: OuterJoinStore | None = None
        clock = context.shared.get(self._shared)
        if clock is None:
            interval = context.config.get("emit_interval_ms_outer_join", _EMIT_INTERVAL_MS)
            clock = context.shared[self._shared] = JoinClock(interval)
        self._clock: JoinClock = clock
        if self._outer_store_name is not None:
            store: OuterJoinStore = context.store(self._outer_store_name)
            self._outer_store = store
            if len(store):
                clock.min_time = -MAX_TIMESTAMP  # restored, of unknown age: the next record looks

    def clock(self) -> list[int] | None:
        """The clock of both sides. The left side tells it: wherever there is one, that side uses it."""
        clock = self._clock
        return [clock.stream_time, clock.min_time, clock.next_emit] if self._left_side and self._uses_clock else None

    def set_clock(self, values: list[int]) -> None:
        """Set the clock of both sides."""
        clock = self._clock
        clock.stream_time, clock.min_time, clock.next_emit = values

    def _process_inner(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        if key is None or value is None:
            self.drop("null key or value")
            return
        start, end = timestamp - self._before, timestamp + self._after
        found = self._find(key, start if start > 0 else 0, end if end > 0 else 0)
        if not found:
            return
        joiner, forward, left_side = self._joiner, self.forward, self._left_side
        for other_time, other in found:
            joined = joiner(key, value, other) if left_side else joiner(key, other, value)
            forward(key, joined, timestamp if timestamp > other_time else other_time, headers)

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        """Emit what can no longer be matched, then this record's matches; without any, wait or emit it alone."""
        clock = self._clock
        if timestamp > clock.stream_time:
            clock.stream_time = timestamp
        if key is None or value is None:
            if self._outer and value is not None:
                self._forward_alone(key, value, timestamp, headers, self._left_side)
            else:
                self.drop("null key or value")
            return

        unmatched = self._outer_store
        if unmatched is not None and timestamp == clock.stream_time:
            self._emit_unmatched(unmatched, headers)

        start = max(0, timestamp - self._before)
        end = max(0, timestamp + self._after)
        joiner, forward, left_side = self._joiner, self.forward, self._left_side
        key_bytes: bytes | None = None
        alone = self._outer
        for other_time, other in self._find(key, start, end):
            alone = False
            if unmatched:
                if key_bytes is None:
                    key_bytes = unmatched.serialize_key(key)
                unmatched.discard(other_time, not left_side, key_bytes)
            joined = joiner(key, value, other) if left_side else joiner(key, other, value)
            forward(key, joined, max(timestamp, other_time), headers)
        if not alone:
            return

        if unmatched is None or end < clock.stream_time:
            self._forward_alone(key, value, timestamp, headers, left_side)
        else:
            clock.min_time = min(clock.min_time, timestamp)
            unmatched.add(timestamp, left_side, key, value)

    def _forward_alone(self, key: Any, value: Any, timestamp: int, headers: Headers | None, left: bool) -> None:
        joined = self._joiner(key, value, None) if left else self._joiner(key, None, value)
        self.forward(key, joined, timestamp, headers)

    def _emit_unmatched(self, store: OuterJoinStore, headers: Headers | None) -> None:
        """Emit and forget the unmatched records whose window has closed."""
        clock = self._clock
        stream_time = clock.stream_time
        if clock.min_time + self._gate >= stream_time:
            return
        now = self.context.now()
        if now < clock.next_emit:
            return
        clock.next_emit = now + clock.emit_interval_ms
        clock.min_time = MAX_TIMESTAMP

        is_open = [False, False]  # the right, the left side's later records
        emitted = None
        for entry in store.scan():
            # The last one visited counts, not the first one still open: as Kafka Streams has it.
            clock.min_time = entry.timestamp
            if is_open[0] and is_open[1]:
                break
            if entry.timestamp + self._waits[entry.left] >= stream_time:
                is_open[entry.left] = True
                continue
            for value in store.values(entry):
                self._forward_alone(entry.key, value, entry.timestamp, headers, entry.left)
                if emitted is not None and emitted is not entry:
                    store.delete(emitted)
                emitted = entry
        if emitted is not None:
            store.delete(emitted)
