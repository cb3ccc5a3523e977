"""A lane's transactions: all that its tasks have to say since the last one, or nothing of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import TypeVar

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, Message, Producer, TopicPartition

from millstream.config import StreamsConfig
from millstream.errors import FencedError, ProductionError
from millstream.hosting.lanes.membership import Membership
from millstream.hosting.transactions import (
    FENCED,
    PRODUCER_SETTINGS,
    OffsetsSender,
    deliver,
    is_refusal,
    patiently,
    produce,
)
from millstream.kafka.clients import ErrorWatch, make_producer
from millstream.task.records import OutputRecord

_T = TypeVar("_T")
_SECONDS = 30.0
_ASKING_SECONDS = 5.0
_SETTINGS = {
    # A lane that dies in a transaction holds up readers of what it wrote for so long at most.
    "transaction.timeout.ms": "10000",
    # A transaction that follows on another at once is told to come again: that is over in milliseconds.
    "retry.backoff.ms": "5",
    "retry.backoff.max.ms": "200",
}


class Refused(ProductionError):
    """Kafka does not take a record.

    Args:
        topic: where it was to go.
        error: why not.
    """

    def __init__(self, topic: str, error: ClientError) -> None:
        super().__init__(f"a record for topic {topic} was refused", detail=f"{error.name()}: {error.str()}")
        self.topic = topic
        self.is_late = error.code() == ClientError._MSG_TIMED_OUT
        self.error = error


class Outputs:
    """Transactions one after the other.

    Args:
        config: where the brokers are.
        transactional_id: the lane's: whoever has it next ends what this one has under way.
    """

    def __init__(self, config: StreamsConfig, transactional_id: str) -> None:
        self._config = config
        self._id = transactional_id
        self._refused: list[Refused] = []
        self._offsets = OffsetsSender(_SECONDS, _SECONDS + 5)
        self._producer: Producer | None = None

    def open(self) -> None:
        """Be ready for a transaction."""
        if self._producer is None:
            overrides = {**PRODUCER_SETTINGS, **_SETTINGS}
            made = make_producer(
                self._config, self._id, overrides=overrides, on_failure=self._not_delivered, watch=ErrorWatch()
            )
            patiently("begin transactions", lambda: made.init_transactions(_SECONDS))
            self._producer = made

    def commit(self, records: Iterable[OutputRecord], offsets: list[TopicPartition], membership: Membership) -> None:
        """Write records, and offsets of the lanes' group, in one transaction.

        Raises:
            FencedError: this lane is not what it was any more.
            ProductionError: nothing was written; `Refused` if a record is the reason.
        """
        self.open()
        producer = self._producer
        if producer is None:
            raise AssertionError("it is open")
        self._refused.clear()
        try:
            producer.begin_transaction()
            produce(producer, records, self._not_taken)
            self._offsets.send(producer, offsets, membership.metadata)
            deliver(producer, lambda: self._refused, lambda: True)  # the commit tells why nothing moves
            if self._refused:
                raise self._refused[0]
            _again(lambda: producer.commit_transaction(_SECONDS))
        except (KafkaException, Refused) as error:
            self._abort(producer)
            raise self._failure(producer, error.error if isinstance(error, Refused) else error.args[0]) from error

    def close(self) -> None:
        """Wait for nothing: what is not committed is not meant to be seen."""
        self._offsets.close()
        if self._producer is not None:
            self._producer.purge()

    def _abort(self, producer: Producer) -> None:
        """Take back what was not committed. The next transaction is that of another producer.

        After a record was refused in a transaction, librdkafka's has lost count of what it sent.
        """
        self._producer = None
        with contextlib.suppress(KafkaException):  # a fenced one has nothing to abort
            producer.abort_transaction(_SECONDS)
        producer.purge()

    def _failure(self, producer: Producer, error: ClientError) -> ProductionError | FencedError:
        refused = self._blamed(producer)
        if refused is not None:
            return refused
        if error.code() in FENCED or error.code() == ClientError.REBALANCE_IN_PROGRESS:
            return FencedError("another lane has taken over", detail=f"{error.name()}: {error.str()}")
        return ProductionError(
            "outputs could not be written", detail=f"{error.name()}: {error.str()}", hint="they are tried again"
        )

    def _blamed(self, producer: Producer) -> Refused | None:
        """The record that is the reason; none if some were late because the broker was away.

        In a transaction, the client says that a record was late also when its topic is gone.
        """
        late = [refused for refused in self._refused if refused.is_late]
        if late and len(late) == len(self._refused):
            try:
                there = producer.list_topics(timeout=_ASKING_SECONDS).topics
            except KafkaException:
                return None
            return next((refused for refused in late if refused.topic not in there), None)
        return next((refused for refused in self._refused if not refused.is_late), None)

    def _not_taken(self, record: OutputRecord, error: ClientError) -> None:
        self._refused.append(Refused(record[0], error))
        raise self._refused[-1]

    def _not_delivered(self, error: ClientError | None, message: Message) -> None:
        if error is not None and is_refusal(error):
            self._refused.append(Refused(message.topic() or "", error))


def _again(action: Callable[[], _T], tries: int = 3) -> _T:
    """Do something that may have to be asked for again."""
    while True:
        try:
            return action()
        except KafkaException as error:
            reason: ClientError = error.args[0]
            tries -= 1
            if not reason.retriable() or tries == 0:
                raise
