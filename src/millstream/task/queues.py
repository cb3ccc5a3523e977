"""Input queues: which record a task takes next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, cast

from millstream.errors import StreamsError
from millstream.extractors import ConsumedRecord, FailOnInvalidTimestamp, TimestampExtractor
from millstream.processors.priority import PriorityQueue
from millstream.processors.user_context import HostContext
from millstream.records import NO_TIMESTAMP, Headers
from millstream.task.errors.handling import ErrorHandling, FatalError
from millstream.task.records import HeadRecord, RawRecord
from millstream.task.source import Source


class QueueState(NamedTuple):
    """How far a queue is, without what it holds."""

    topic: str
    partition: int
    #: The partition's time.
    time: int
    #: The offset of the next record; -1 if there was none yet.
    position: int
    #: Until when the task waits for it; None if it does not.
    deadline: int | None


class RecordQueue:
    """The records of one partition, first in, first out.

    Only the head is deserialised and has a timestamp, so that an extractor sees the partition's time as it is then.
    A head with a negative timestamp stands for records that were dropped, when nothing else is left.
    """

    __slots__ = (
        "_context", "_end", "_errors", "_make_headers", "deserialize_key", "deserialize_value", "extractor", "head",
        "partition", "partition_time", "raw", "serdes", "source", "topic",
    )  # fmt: skip

    def __init__(
        self,
        source: Source,
        topic: str,
        partition: int,
        context: HostContext,
        errors: ErrorHandling,
        make_headers: bool,
    ) -> None:
        self.source = source
        self.topic = topic
        self.partition = partition
        self.serdes = source.serdes_for(topic)
        self.deserialize_key = self.serdes[0].deserialize
        self.deserialize_value = self.serdes[1].deserialize
        #: None stands for `FailOnInvalidTimestamp`, which needs no call.
        self.extractor = source.extractor
        self.raw: deque[RawRecord] = deque()
        self.head: HeadRecord | None = None
        self.partition_time = NO_TIMESTAMP
        self._end = -1
        self._context = context
        self._errors = errors
        self._make_headers = make_headers

    def add(self, records: Iterable[RawRecord]) -> None:
        """Append records."""
        self.raw.extend(records)
        if self.raw:
            self._end = self.raw[-1][4] + 1
        if self.head is None:
            self._advance()

    @property
    def position(self) -> int:
        """The offset of the next record: that of the head, or the one after all that came; -1 if nothing came yet."""
        if self.head is None:
            return self._end
        _, _, timestamp, _, record = self.head
        return record[4] + (timestamp < 0)

    def go_on(self, time: int, position: int) -> None:
        """Take over from a queue that was that far; it must be empty."""
        self.partition_time = time
        self._end = position

    def poll(self) -> HeadRecord:
        """Take the head; the next good record becomes the head."""
        head = self.poll_only()
        if self.raw:
            self._advance()
        return head

    def poll_only(self) -> HeadRecord:
        """Take the head, which there must be, without making another one."""
        head = cast("HeadRecord", self.head)
        if head[2] > self.partition_time:
            self.partition_time = head[2]
        self.head = None
        return head

    def heads(self) -> Iterator[HeadRecord]:
        """Take all that is behind the head, one by one, as heads; for records that carry their own timestamps."""
        raw, deserialize_key, deserialize_value = self.raw, self.deserialize_key, self.deserialize_value
        make_headers = self._make_headers
        while raw:
            record = raw.popleft()
            key, value, timestamp, pairs, _ = record
            try:
                if key is not None:
                    key = deserialize_key(key)
                if value is not None:
                    value = deserialize_value(value)
            except Exception as error:
                self.unreadable(record, error)
                continue
            headers = Headers(pairs) if pairs else Headers() if make_headers else None
            if timestamp < 0:
                timestamp = self.timestamp_of(record, key, value, headers)
                if timestamp < 0:
                    continue
            yield key, value, timestamp, headers, record

    def take_rest(self) -> list[RawRecord]:
        """Take all that is behind the head, as it was read."""
        rest = list(self.raw)
        self.raw.clear()
        return rest

    def unreadable(self, record: RawRecord, error: Exception) -> None:
        """A record could not be deserialised: dropped, or the end of the task."""
        self._errors.unreadable(self.source.name, self.topic, self.partition, record, self.serdes, error)

    def timestamp_of(self, record: RawRecord, key: Any, value: Any, headers: Headers | None) -> int:
        """The record's time; negative when the record is to be dropped, which is counted here."""
        timestamp = record[2]
        extractor = self.extractor or FailOnInvalidTimestamp()
        consumed = ConsumedRecord(
            self.topic, self.partition, record[4], timestamp, key, value, Headers() if headers is None else headers
        )
        extracted = self._extract(extractor, consumed)
        if extracted < 0:
            self._context.topic, self._context.partition, self._context.offset = self.topic, self.partition, record[4]
            self._context.drop(self.source.name, f"its timestamp is {extracted}")
        return extracted

    def _extract(self, extractor: TimestampExtractor, record: ConsumedRecord) -> int:
        try:
            return extractor(record, self.partition_time)
        except StreamsError as error:
            raise FatalError(error) from error
        except Exception as error:
            failure = StreamsError(
                "a timestamp extractor raised an exception",
                detail=f"topic '{record.topic}', partition {record.partition}, offset {record.offset}; "
                f"{type(error).__name__}: {error}",
            )
            failure.__cause__ = error
            raise FatalError(failure) from error

    def _advance(self) -> None:
        """Make the first good record the head."""
        raw = self.raw
        dropped: RawRecord | None = None
        while raw:
            record = raw.popleft()
            key, value, timestamp, pairs, _ = record
            try:
                if key is not None:
                    key = self.deserialize_key(key)
                if value is not None:
                    value = self.deserialize_value(value)
            except Exception as error:
                self.unreadable(record, error)
                dropped = record
                continue
            headers = Headers(pairs) if pairs else Headers() if self._make_headers else None
            if self.extractor is not None or timestamp < 0:
                timestamp = self.timestamp_of(record, key, value, headers)
            if timestamp >= 0:
                self.head = (key, value, timestamp, headers, record)
                return
            dropped = record
        if dropped is not None:
            self.head = (None, None, NO_TIMESTAMP, None, dropped)


class QueueGroup:
    """All queues of a task. The one whose head is oldest goes first."""

    def __init__(self) -> None:
        self.queues: dict[tuple[str, int], RecordQueue] = {}
        #: The queues that are not empty, by the timestamp of their head.
        self.ready: PriorityQueue[RecordQueue] = PriorityQueue()
        self._deadlines: dict[tuple[str, int], int] = {}
        #: States of queues that were not made yet.
        self._waiting: dict[tuple[str, int], QueueState] = {}

    def attach(self, queue: RecordQueue) -> None:
        """Make a queue one of the group; it goes on from where it was, if that is known."""
        partition = queue.topic, queue.partition
        self.queues[partition] = queue
        state = self._waiting.pop(partition, None)
        if state is not None:
            queue.go_on(state.time, state.position)

    def states(self) -> list[QueueState]:
        """How far each queue is."""
        states = [
            QueueState(topic, partition, queue.partition_time, queue.position, self._deadlines.get((topic, partition)))
            for (topic, partition), queue in self.queues.items()
        ]
        return [*states, *self._waiting.values()]

    def restore(self, states: Iterable[QueueState]) -> None:
        """Go on from these states, with empty queues."""
        self._deadlines.clear()
        for state in states:
            partition = state.topic, state.partition
            queue = self.queues.get(partition)
            if queue is None:
                self._waiting[partition] = state
            else:
                queue.go_on(state.time, state.position)
            if state.deadline is not None:
                self._deadlines[partition] = state.deadline

    def add(self, queue: RecordQueue, records: Iterable[RawRecord]) -> None:
        """Append records to a queue."""
        was_empty = queue.head is None
        queue.add(records)
        if was_empty and queue.head is not None:
            self.ready.offer(queue.head[2], queue)

    def poll(self) -> tuple[RecordQueue, HeadRecord]:
        """Take the next record; there must be one."""
        queue = self.ready.poll()
        record = queue.poll()
        if queue.head is not None:
            self.ready.offer(queue.head[2], queue)
        return queue, record

    def is_processable(self, now: int, max_idle_ms: int, lag: Callable[[str, int], int | None]) -> tuple[bool, bool]:
        """Whether to go on, and whether that means not to wait any longer for an empty queue.

        Args:
            now: wall-clock time.
            max_idle_ms: how long to wait for an empty queue that has no more data; -1 waits for nothing.
            lag: how many records a partition still has in its topic; None when that is not known.
        """
        if not self.ready:
            return False, False
        if max_idle_ms < 0:
            return True, False
        given_up = False
        for partition, queue in self.queues.items():
            if queue.head is not None:
                self._deadlines.pop(partition, None)
            elif lag(*partition) != 0:
                self._deadlines.pop(partition, None)
                return False, False
            elif now < self._deadlines.setdefault(partition, now + max_idle_ms):
                return False, False
            else:
                given_up = True
        return True, given_up
