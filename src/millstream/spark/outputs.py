"""A lane's producer: outputs of a wave, all or nothing."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TypeVar

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, Message, Producer, TopicPartition

from millstream.config import client_properties
from millstream.errors import FencedError, ProductionError, StreamsError
from millstream.kafka.clients import ErrorWatch, make_consumer, make_producer
from millstream.kafka.errors import UNAVAILABLE, translate
from millstream.spark.markers import Marker, read_marker
from millstream.spark.program import Program
from millstream.task.records import OutputRecord

log = logging.getLogger("millstream.spark")

_T = TypeVar("_T")
_ANY_PARTITION = -1
_TRANSACTION_SECONDS = 60.0
_AGAIN_SECONDS = 0.2
_MARK_SECONDS = 15.0
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


class Outputs:
    """Writes records: at least once by flushing, exactly once by a transaction that also holds the progress markers.

    The transactional id is the lane's: whoever takes a lane over shuts out who had it before.
    """

    def __init__(self, program: Program, lane: int) -> None:
        self._program = program
        self._exactly_once = program.config.exactly_once
        #: Whether anything was written. As long as not, it is as good as a new one.
        self.used = False
        #: Whether something was written that is not committed.
        self._open = False
        self._failure: ClientError | None = None
        overrides = {
            "linger.ms": "5",
            "queue.buffering.max.messages": "2000000",
            "queue.buffering.max.kbytes": "262144",
            "batch.num.messages": "100000",
        }
        if _LOOSE.isdisjoint(client_properties(program.config, "producer")):
            # As Java's clients by default: otherwise a record that is sent again can come after the one behind it.
            overrides["enable.idempotence"] = "true"
        identity = transactional_id(program.config.application_id, lane) if self._exactly_once else None
        self._producer: Producer = make_producer(
            program.config, identity, watch=ErrorWatch(), overrides=overrides, on_failure=self._not_delivered
        )
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

    def commit(self, markers: Mapping[int, Marker], membership: bytes) -> None:
        """All that was written is there, and with it, if exactly once, the markers.

        Args:
            markers: by their partitions of the progress topic.
            membership: of the application's owner; Kafka refuses what comes from a former one.
        """
        with self._reported():
            self._begin()
            if self._exactly_once:
                self._mark(markers, membership)
                self._producer.commit_transaction(_TRANSACTION_SECONDS)
            else:
                self._producer.flush()
                self._check()
            self._open = False

    def abort(self) -> None:
        """Take back what was not committed, as far as that can be done."""
        if self._open and self._exactly_once:
            # A fenced or fatal producer has nothing to abort; its transaction is ended by the broker.
            with contextlib.suppress(KafkaException):
                self._producer.abort_transaction(_TRANSACTION_SECONDS)
        self._open = False

    def close(self) -> None:
        """Wait for nothing: what is not committed is not meant to be seen."""
        self._thread.shutdown(wait=False)
        self._producer.purge()
        self._group.close()

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except KafkaException as error:
            raise _failed(error.args[0]) from error

    def _begin(self) -> None:
        self.used = True
        if not self._open:
            self._open = True
            if self._exactly_once:
                self._producer.begin_transaction()

    def _produce(self, records: Iterable[OutputRecord]) -> None:
        produce, poll = self._producer.produce, self._producer.poll
        for topic, partition, key, value, timestamp, headers in records:
            place = _ANY_PARTITION if partition is None else partition
            while True:
                try:
                    # By position, which is quicker: the two before the timestamp are callbacks.
                    if headers is None:
                        produce(topic, value, key, place, None, None, timestamp)
                    else:
                        produce(topic, value, key, place, None, None, timestamp, headers)  # type: ignore[arg-type]
                    break
                except BufferError:
                    poll(0.1)
        poll(0)

    def _mark(self, markers: Mapping[int, Marker], membership: bytes) -> None:
        if markers:
            offsets = [marker.at(self._program.progress_topic, partition) for partition, marker in markers.items()]
            # In a thread: librdkafka may wait for ever here when the broker was away, whatever the timeout says
            # (its issues 5456 and 5511).
            sending = self._thread.submit(
                self._producer.send_offsets_to_transaction, offsets, membership, _TRANSACTION_SECONDS
            )
            try:
                sending.result(_MARK_SECONDS)
            except FutureTimeout:
                raise ProducerStuck from None

    def _not_delivered(self, error: ClientError, message: Message) -> None:
        self._failure = error

    def _check(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise KafkaException(failure)


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


def transactional_id(application_id: str, lane: int) -> str:
    """The transactional id of a lane."""
    return f"{application_id}-lane-{lane}"


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
