"""What all who write a task's outputs have in common: records given to a client, delivered, and offsets beside them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from typing import Any, TypeVar

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, Message, Producer, TopicPartition

from millstream.config import StreamsConfig, client_properties
from millstream.kafka.errors import may_pass, translate
from millstream.task.records import OutputRecord

log = logging.getLogger("millstream.hosting")

_T = TypeVar("_T")
#: Hears of a record that was delivered or not; None where nobody wants to.
Told = Callable[[ClientError | None, Message], None] | None

_ANY_PARTITION = -1
_AGAIN_SECONDS = 0.2
_MEETING_SECONDS = 5.0
_LOOK_SECONDS = 0.1
#: How long the client looks for a topic that is not there. It may just have been made, or is made by the broker now.
_TOPIC_SECONDS = 8
#: Longer than the client looks for a topic.
_STALLED_SECONDS = 12.0
#: Large batches, and no waiting for them: what a task has to say comes all at once.
PRODUCER_SETTINGS = {
    "topic.metadata.propagation.max.ms": str(_TOPIC_SECONDS * 1000),
    "linger.ms": "5",
    "queue.buffering.max.messages": "2000000",
    "queue.buffering.max.kbytes": "262144",
    "batch.num.messages": "100000",
}
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
#: What Kafka says to who was the owner of partitions, or of a transactional id, and is not any more.
FENCED = frozenset(
    {
        ClientError._FENCED,
        ClientError.FENCED_INSTANCE_ID,
        ClientError.ILLEGAL_GENERATION,
        ClientError.INVALID_PRODUCER_EPOCH,
        ClientError.PRODUCER_FENCED,
        ClientError.UNKNOWN_MEMBER_ID,
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


def order_settings(config: StreamsConfig) -> dict[str, str]:
    """What keeps records in their order, as Java's clients do by default, unless the user wants it otherwise.

    Without it a record that is sent again can come after the one behind it.
    """
    return {"enable.idempotence": "true"} if _LOOSE.isdisjoint(client_properties(config, "producer")) else {}


class ProducerStuck(BaseException):
    """A producer hangs; only the end of the process helps."""


def is_refusal(error: ClientError) -> bool:
    """Whether a record was not taken, of which nothing else is the reason."""
    return not error.fatal() and error.code() not in _NO_REFUSALS


def produce(
    producer: Producer,
    records: Iterable[OutputRecord],
    refuse: Callable[[OutputRecord, ClientError], None],
    hears: Callable[[OutputRecord], Told] | None = None,
) -> None:
    """Give records to a client, and wait where it has too many.

    Args:
        producer: the client.
        records: what is to be written.
        refuse: gets each record that the client does not take.
        hears: who hears of a record; without, who hears of all.
    """
    send, poll = producer.produce, producer.poll
    told: Any = None
    for record in records:
        topic, partition, key, value, timestamp, headers = record
        place = _ANY_PARTITION if partition is None else partition
        if hears is not None:
            told = hears(record)
        while True:
            try:
                # By position, which is quicker: the two before the timestamp are callbacks.
                if headers is None:
                    send(topic, value, key, place, told, None, timestamp)
                else:
                    send(topic, value, key, place, told, None, timestamp, headers)  # type: ignore[arg-type]
                break
            except BufferError:
                poll(0.1)
            except KafkaException as error:
                if not is_refusal(error.args[0]):
                    raise
                refuse(record, error.args[0])
                break
    poll(0)


def deliver(producer: Producer, refused: Callable[[], object], stalled: Callable[[], bool]) -> None:
    """Wait until all is delivered.

    Args:
        producer: the client.
        refused: whether something was refused, and the rest need not be waited for.
        stalled: asked when nothing moves, whether to wait no longer. In a transaction the client does not tell that a
            topic is gone, but tries until a record is too old.
    """
    left, since = len(producer), time.monotonic()
    while now_left := producer.flush(_LOOK_SECONDS):
        if refused():
            return
        if now_left < left:
            left, since = now_left, time.monotonic()
        elif time.monotonic() - since > _STALLED_SECONDS and stalled():
            return


class OffsetsSender:
    """Sends offsets in a transaction, from a thread of its own.

    librdkafka may wait for ever here when the broker was away, whatever the timeout says (its issues 5456 and 5511).

    Args:
        timeout: what the client is told.
        hangs: after how many seconds it hangs.
    """

    def __init__(self, timeout: float, hangs: float) -> None:
        self._timeout = timeout
        self._hangs = hangs
        self._thread = ThreadPoolExecutor(1, "offsets")

    def send(self, producer: Producer, offsets: list[TopicPartition], membership: bytes) -> None:
        """Send offsets.

        Raises:
            ProducerStuck: it hangs.
        """
        sending = self._thread.submit(producer.send_offsets_to_transaction, offsets, membership, self._timeout)
        try:
            sending.result(self._hangs)
        except FutureTimeout:
            raise ProducerStuck from None

    def close(self) -> None:
        """Wait for nothing."""
        self._thread.shutdown(wait=False)


def begin_transactions(producer: Producer, seconds: float) -> None:
    """Have a transactional producer be the only one with its id, as soon as there is a broker."""
    with suppress(KafkaException):  # one that is away is waited for below
        # The client asks who coordinates its transactions at once, or half a second later if it knows nobody.
        producer.list_topics(timeout=_MEETING_SECONDS)
    patiently("begin transactions", lambda: producer.init_transactions(seconds))


def patiently(doing: str, action: Callable[[], _T]) -> _T:
    """Try again as long as the broker is away."""
    while True:
        try:
            return action()
        except KafkaException as error:
            reason: ClientError = error.args[0]
            if not may_pass(reason):
                raise translate(error, doing) from error
            log.warning("cannot %s yet: %s: %s", doing, reason.name(), reason.str())
            time.sleep(_AGAIN_SECONDS)
