"""The loops that send records through a task's operators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from millstream.processors.operator import Operator
from millstream.processors.punctuation import PunctuationType, Schedule
from millstream.processors.user_context import HostContext
from millstream.records import NO_TIMESTAMP, Headers
from millstream.task.errors.failures import failing_node
from millstream.task.errors.handling import ErrorHandling, FatalError
from millstream.task.queues import QueueGroup, RecordQueue
from millstream.task.records import HeadRecord, RawRecord


class Runner:
    """Takes records from the queues, moves the clock and calls the sources' children.

    Args:
        context: the task's context.
        queues: the task's queues.
        operators: the task's operators, by name.
        errors: the task's handlers.
        make_headers: give every record headers of its own, even if it came without.
    """

    def __init__(
        self,
        context: HostContext,
        queues: QueueGroup,
        operators: Mapping[str, Operator],
        errors: ErrorHandling,
        make_headers: bool,
    ) -> None:
        self.processed = 0
        self.punctuated = 0
        self._context = context
        self._queues = queues
        self._operators = operators
        self._errors = errors
        self._make_headers = make_headers
        self._stream_punctuations = context.punctuations[PunctuationType.STREAM_TIME]

    def next(self) -> None:
        """Process one record."""
        queue, record = self._queues.poll()
        self._enter(queue)
        self._process(queue, record)

    def all(self) -> None:
        """Process everything, each record followed by the stream-time punctuation that it makes due."""
        while self._queues.ready:
            self._some()

    def until_one_is_empty(self) -> None:
        """The same until one of the queues is empty that are not so now; there must be one."""
        ready = self._queues.ready
        filled = len(ready)
        while len(ready) == filled:
            self._some()

    def _some(self) -> None:
        """Process the queue that is first, as long as it is, and if there are two, both until one is empty."""
        ready = self._queues.ready
        queue = ready.poll()
        self._enter(queue)
        if len(ready) == 1 and self._merges_two(queue, ready.entries[0][1]):
            self._merge_two(queue, ready.poll())
        elif ready:
            self._merge(queue)
        elif queue.extractor is None:
            self._drain(queue)
        else:
            while queue.head is not None:
                self._process(queue, queue.poll())
                self.punctuate_stream_time()

    def punctuate_stream_time(self) -> bool:
        """Call the stream-time punctuators that are due."""
        now = self._context.stream_time
        return now != NO_TIMESTAMP and self._punctuate(PunctuationType.STREAM_TIME, now)

    def punctuate_wall_clock(self) -> bool:
        """Call the wall-clock punctuators that are due."""
        return self._punctuate(PunctuationType.WALL_CLOCK_TIME, self._context.now())

    def _enter(self, queue: RecordQueue) -> None:
        self._context.topic, self._context.partition = self._errors.source_place = queue.topic, queue.partition

    def _process(self, queue: RecordQueue, record: HeadRecord) -> None:
        key, value, timestamp, headers, raw = record
        if timestamp < 0:
            return  # stands for records that were dropped
        context = self._context
        context.offset = raw[4]
        context.timestamp = timestamp
        context.headers = headers
        if timestamp > context.stream_time:
            context.stream_time = timestamp
        self._errors.source_record = raw
        queue.source.forward(key, value, timestamp, headers)
        self.processed += 1

    def _merge(self, queue: RecordQueue) -> None:
        """Process a queue as long as it is the first one."""
        ready = self._queues.ready
        due = self._stream_punctuations.entries
        while True:
            self._process(queue, queue.poll())
            if due:
                self.punctuate_stream_time()
            head = queue.head
            if head is None:
                return
            timestamp = head[2]
            # An offer and a poll could change which of several equal queues comes first, from three others on.
            if len(ready) > 2 or timestamp >= ready.first:  # type: ignore[operator]  # not empty
                ready.offer(timestamp, queue)
                return

    @staticmethod
    def _merges_two(queue: RecordQueue, other: RecordQueue) -> bool:
        """Whether both have records that carry their own timestamps."""
        return all(each.extractor is None and each.head is not None and each.head[2] >= 0 for each in (queue, other))

    def _merge_two(self, queue: RecordQueue, other: RecordQueue) -> None:
        """Process two queues until one is empty: what `_merge` would do, for joins, where most time is spent here."""
        context, errors = self._context, self._errors
        keeps_source_records = errors.keeps_source_records
        due = self._stream_punctuations.entries
        head, waiting = cast("HeadRecord", queue.head), cast("HeadRecord", other.head)
        queue.head = other.head = None
        following, following_other = queue.heads(), other.heads()
        forward, forward_other = queue.source.forward, other.source.forward
        stream_time = context.stream_time
        waits_until = waiting[2]
        processed = 0
        try:
            while True:
                key, value, timestamp, headers, raw = head
                if timestamp > queue.partition_time:
                    queue.partition_time = timestamp
                    if timestamp > stream_time:
                        stream_time = context.stream_time = timestamp
                following_head = next(following, None)  # as in Kafka Streams, before the one that is taken is processed
                context.offset = raw[4]
                context.timestamp = timestamp
                context.headers = headers
                if keeps_source_records:
                    errors.source_record = raw
                forward(key, value, timestamp, headers)
                processed += 1
                if due and due[0][0] <= stream_time:
                    self.punctuate_stream_time()
                if following_head is None:
                    break
                if following_head[2] < waits_until:
                    head = following_head
                    continue
                head, waiting = waiting, following_head
                waits_until = waiting[2]
                queue, other = other, queue
                following, following_other = following_other, following
                forward, forward_other = forward_other, forward
                context.topic, context.partition = queue.topic, queue.partition
        finally:
            self.processed += processed
        other.head = waiting
        self._queues.ready.offer(waits_until, other)

    def _drain(self, queue: RecordQueue) -> None:
        """Process a whole queue whose records carry their own timestamps: the loop where most time is spent."""
        self._process(queue, queue.poll_only())
        self.punctuate_stream_time()
        records: Iterable[RawRecord] = queue.take_rest()
        if self._errors.keeps_source_records:
            records = self._remembered(records)
        context = self._context
        forward = queue.source.forward
        deserialize_key, deserialize_value = queue.deserialize_key, queue.deserialize_value
        make_headers = self._make_headers
        due = self._stream_punctuations.entries
        stream_time = context.stream_time
        partition_time = queue.partition_time
        processed = 0
        try:
            for raw_key, raw_value, timestamp, pairs, offset in records:
                try:
                    key = None if raw_key is None else deserialize_key(raw_key)
                    value = None if raw_value is None else deserialize_value(raw_value)
                except Exception as error:
                    queue.unreadable((raw_key, raw_value, timestamp, pairs, offset), error)
                    continue
                headers = Headers(pairs) if pairs else Headers() if make_headers else None
                if timestamp > partition_time:
                    partition_time = timestamp
                    if timestamp > stream_time:
                        stream_time = context.stream_time = timestamp
                elif timestamp < 0:
                    queue.timestamp_of((raw_key, raw_value, timestamp, pairs, offset), key, value, headers)
                    continue
                context.offset = offset
                context.timestamp = timestamp
                context.headers = headers
                forward(key, value, timestamp, headers)
                processed += 1
                if due and due[0][0] <= stream_time:
                    self.punctuate_stream_time()
        finally:
            queue.partition_time = partition_time
            self.processed += processed

    def _remembered(self, records: Iterable[RawRecord]) -> Iterator[RawRecord]:
        for record in records:
            self._errors.source_record = record
            yield record

    def _punctuate(self, type_: PunctuationType, now: int) -> bool:
        fired = self._context.punctuations[type_].run(now, self._fire)
        self.punctuated += fired
        return fired > 0

    def _fire(self, schedule: Schedule, now: int) -> None:
        context = self._context
        before = context.topic, context.partition, context.offset
        context.topic, context.partition, context.offset = None, -1, -1
        context.timestamp = now
        context.headers = Headers()
        try:
            schedule.call(now)
        except FatalError:
            raise
        except Exception as error:
            node = failing_node(error, self._operators) or schedule.node
            self._errors.node_raised(node, error, None, "punctuate")
        finally:
            context.topic, context.partition, context.offset = before
