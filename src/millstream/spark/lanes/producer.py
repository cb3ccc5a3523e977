"""A lane's producer: outputs of a wave, all or nothing."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from functools import partial
from typing import TypeVar

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, Message, Producer, TopicPartition

from millstream.config import client_properties
from millstream.errors import FencedError, ProductionError, StreamsError
from millstream.kafka.clients import ErrorWatch, make_consumer, make_producer
from millstream.kafka.errors import UNAVAILABLE, translate
from millstream.spark.lanes.refusals import Refusal, RefusedError, raise_if_deleted
from millstream.spark.program import Program
from millstream.spark.state.markers import Marker, read_marker
from millstream.task.handling import asks_about_refused
from millstream.task.records import OutputRecord

log = logging.getLogger("millstream.spark")

_T = TypeVar("_T")
_ANY_PARTITION = -1
_TRANSACTION_SECONDS = 60.0
_AGAIN_SECONDS = 0.2
_MARK_SECONDS = 15.0
#: How long the client looks for a topic that is not there. It may just have been made, or is made by the broker now.
_TOPIC_SECONDS = 8
_LOOK_SECONDS = 0.1
_REASON_SECONDS = 0.5
#: Longer than the client looks for a topic.
_STALLED_SECONDS = 12.0
#: Properties by which a user may choose to do without an order that survives failures.
_LOOSE = frozenset(
    {
        "acks",
        "enable.idempotence",
        "max.in.flight",
        "max.in.flight.requests.per.connection",
        "message.send.max.retries",
        "request.required.acks",
        "retries",
    }
)
#: Errors that say nothing about a record: it was taken back, or something else had failed before.
_NO_REFUSALS = frozenset(
    {
        ClientError._PURGE_QUEUE,
        ClientError._PURGE_INFLIGHT,
        ClientError._STATE,
        ClientError._FENCED,
        ClientError._FATAL,
    }
)

#: What Kafka says to who was the owner of the application, or of a transactional id, and is not any more.
_FENCED = frozenset(
    {
        ClientError._FENCED,
        ClientError.FENCED_INSTANCE_ID,
        ClientError.ILLEGAL_GENERATION,
        ClientError.INVALID_PRODUCER_EPOCH,
        ClientError.PRODUCER_FENCED,
        ClientError.UNKNOWN_MEMBER_ID,
    }
)


class ProducerStuck(BaseException):
    """A producer hangs; only the end of the process helps."""


class LaneProducer:
    """Writes records: at least once by flushing, exactly once by a transaction that also holds the progress.

    The transactional id is the lane's: whoever takes a lane over shuts out who had it before.
    """

    def __init__(self, program: Program, lane: int) -> None:
        self._program = program
        self._exactly_once = program.config.exactly_once
        #: Whether anything was written. As long as not, it is as good as a new one.
        self.used = False
        #: Whether something was written that is not committed.
        self._open = False
        #: Records that were not taken since somebody last looked.
        self._refusals: list[Refusal] = []
        self._names_records = asks_about_refused(program.config)
        overrides = {
            "topic.metadata.propagation.max.ms": str(_TOPIC_SECONDS * 1000),
            "linger.ms": "5",
            "queue.buffering.max.messages": "2000000",
            "queue.buffering.max.kbytes": "262144",
            "batch.num.messages": "100000",
        }
        if _LOOSE.isdisjoint(client_properties(program.config, "producer")):
            # As Java's clients by default: otherwise a record that is sent again can come after the one behind it.
            overrides["enable.idempotence"] = "true"
        identity = program.transactional_id(lane) if self._exactly_once else None
        self._make_producer = partial(
            make_producer, program.config, identity, overrides=overrides, on_failure=self._not_delivered
        )
        self._producer: Producer = self._make_producer(watch=ErrorWatch())
        self._thread = ThreadPoolExecutor(1, "markers")
        if self._exactly_once:
            _patiently("begin transactions", lambda: self._producer.init_transactions(_TRANSACTION_SECONDS))
        # Reads what is committed, and waits for what is in a transaction that is just being committed.
        self._group = make_consumer(program.config, overrides={"isolation.level": "read_committed"})

    def committed(self, partitions: Iterable[int]) -> dict[int, Marker | None]:
        """The markers at partitions of the progress topic; None where there is none yet."""
        wanted = [TopicPartition(self._program.progress_topic, partition) for partition in partitions]
        found = _patiently("read the progress", lambda: self._group.committed(wanted, _TRANSACTION_SECONDS))
        for at in found:
            if at.error is not None:
                raise translate(at.error, "read the progress")
        return {at.partition: read_marker(at) for at in found}

    def write(self, records: Iterable[OutputRecord]) -> None:
        """Write records; readers of committed records see them after `commit`."""
        with self._reported():
            self._begin()
            self._produce(records)

    def commit(self, offsets: list[TopicPartition], membership: bytes) -> None:
        """All that was written is there, and with it, if exactly once, the application's progress.

        Args:
            offsets: of the application's group: markers, and how far inputs were read.
            membership: of the application's owner; Kafka refuses what comes from a former one.
        """
        with self._reported():
            self._begin()
            if self._exactly_once:
                self._mark(offsets, membership)
                self._deliver()
                self._producer.commit_transaction(_TRANSACTION_SECONDS)
            else:
                self._deliver()
            self._open = False

    def abort(self) -> None:
        """Take back what was not committed, as far as that can be done."""
        if self._open and self._exactly_once:
            # A fenced or fatal producer has nothing to abort; its transaction is ended by the broker.
            with contextlib.suppress(KafkaException):
                self._producer.abort_transaction(_TRANSACTION_SECONDS)
        self._open = False

    def start_over(self) -> None:
        """Take back what was not committed, to write it anew.

        With another producer: after a record was refused in a transaction, librdkafka's has lost count of what it sent,
        and the broker takes nothing more from it.
        """
        self.abort()
        self._producer.purge()
        self._producer = self._make_producer(watch=ErrorWatch())
        _patiently("begin transactions", lambda: self._producer.init_transactions(_TRANSACTION_SECONDS))

    def close(self) -> None:
        """Wait for nothing: what is not committed is not meant to be seen."""
        self._thread.shutdown(wait=False)
        self._producer.purge()
        self._group.close()

    def flush(self) -> None:
        """Have all that was written so far delivered, in batches that what is written later is not in."""
        with self._reported():
            self._deliver()

    @property
    def exactly_once(self) -> bool:
        """Whether a record that is refused takes all others of its transaction with it."""
        return self._exactly_once

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
            self._check()
        except KafkaException as error:
            self._producer.poll(_REASON_SECONDS)  # the record that is the reason may be told a little later
            self._check()
            raise _failed(error.args[0]) from error

    def _begin(self) -> None:
        self.used = True
        if not self._open:
            self._open = True
            self._refusals.clear()
            if self._exactly_once:
                self._producer.begin_transaction()

    def _produce(self, records: Iterable[OutputRecord]) -> None:
        produce, poll = self._producer.produce, self._producer.poll
        told, names_records = None, self._names_records
        for record in records:
            topic, partition, key, value, timestamp, headers = record
            place = _ANY_PARTITION if partition is None else partition
            if names_records:
                told = partial(self._not_delivered, record=record)
            while True:
                try:
                    # By position, which is quicker: the two before the timestamp are callbacks.
                    if headers is None:
                        produce(topic, value, key, place, told, None, timestamp)
                    else:
                        produce(topic, value, key, place, told, None, timestamp, headers)  # type: ignore[arg-type]
                    break
                except BufferError:
                    poll(0.1)
                except KafkaException as error:
                    if not self._is_refusal(error.args[0]):
                        raise
                    self._refusals.append(Refusal.of_client(record, error.args[0]))
                    break
        poll(0)

    def _is_refusal(self, error: ClientError) -> bool:
        """Whether the client did not take a record, of which nothing else is the reason."""
        return not error.fatal() and error.code() not in _NO_REFUSALS

    def _deliver(self) -> None:
        """Wait until all is delivered, or something is refused.

        In a transaction the client then sends nothing more, but would wait for it, and could not be told to abort as
        long as it does.
        """
        left, since = len(self._producer), time.monotonic()
        while now_left := self._producer.flush(_LOOK_SECONDS):
            if self._refusals and self._exactly_once:
                break
            if now_left < left:
                left, since = now_left, time.monotonic()
            elif self._exactly_once and time.monotonic() - since > _STALLED_SECONDS:
                # In a transaction the client does not tell that a topic is gone, but tries until a record is too old.
                raise_if_deleted(self._program.config, self._program.topology)
                break  # it has another reason, which the commit tells
        self._check()

    def _mark(self, offsets: list[TopicPartition], membership: bytes) -> None:
        if offsets:
            # In a thread: librdkafka may wait for ever here when the broker was away, whatever the timeout says
            # (its issues 5456 and 5511).
            sending = self._thread.submit(
                self._producer.send_offsets_to_transaction, offsets, membership, _TRANSACTION_SECONDS
            )
            try:
                sending.result(_MARK_SECONDS)
            except FutureTimeout:
                raise ProducerStuck from None

    def _not_delivered(self, error: ClientError | None, message: Message, record: OutputRecord | None = None) -> None:
        if error is not None and error.code() not in _NO_REFUSALS:
            self._refusals.append(Refusal.of_broker(record, message, error))

    def _check(self) -> None:
        """Raise what was refused."""
        if self._refusals:
            refusals, self._refusals = self._refusals, []
            raise RefusedError(refusals)


def _patiently(doing: str, action: Callable[[], _T]) -> _T:
    """Try again as long as the broker is away."""
    while True:
        try:
            return action()
        except KafkaException as error:
            reason: ClientError = error.args[0]
            if reason.fatal() or not (reason.retriable() or reason.code() in UNAVAILABLE):
                raise translate(error, doing) from error
            log.warning("cannot %s yet: %s: %s", doing, reason.name(), reason.str())
            time.sleep(_AGAIN_SECONDS)


def _failed(error: ClientError) -> StreamsError:
    if error.code() in _FENCED:
        return FencedError(
            "this run of the application is not its owner any more",
            detail=f"{error.name()}: {error.str()}",
            hint="another copy has taken over, or this one was silent for too long and joins again",
        )
    return ProductionError(
        "outputs could not be written",
        detail=f"{error.name()}: {error.str()}",
        hint="the batch is tried again",
    )
