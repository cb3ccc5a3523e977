"""A lane's transactions: all that its tasks have to say since the last one, or nothing of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, Producer, TopicPartition

from millstream.config import StreamsConfig
from millstream.errors import FencedError, ProductionError
from millstream.hosting.lanes.membership import Membership
from millstream.hosting.producing.noticing import Noticing
from millstream.hosting.producing.refusals import missing_topics
from millstream.hosting.producing.transactions import (
    FENCED,
    PRODUCER_SETTINGS,
    OffsetsSender,
    begin_transactions,
    deliver,
)
from millstream.kafka.clients import ErrorWatch, make_producer
from millstream.task.records import OutputRecord

_T = TypeVar("_T")
_SECONDS = 30.0
_REASON_SECONDS = 0.5
_SETTINGS = {
    # A lane that dies in a transaction holds up readers of what it wrote for so long at most.
    "transaction.timeout.ms": "10000",
    # A transaction that follows on another at once is told to come again: that is over in milliseconds.
    "retry.backoff.ms": "5",
    "retry.backoff.max.ms": "200",
}


class Outputs:
    """Transactions one after the other. See `Producing`.

    Args:
        config: where the brokers are.
        transactional_id: the lane's: whoever has it next ends what this one has under way.
        stalled: called when nothing moves; raises an error if it knows why.
    """

    exactly_once = True

    def __init__(self, config: StreamsConfig, transactional_id: str, stalled: Callable[[], None]) -> None:
        self._config = config
        self._id = transactional_id
        self._stalled = stalled
        self._refused = Noticing(config)
        self._offsets = OffsetsSender(_SECONDS, _SECONDS + 5)
        self._producer: Producer | None = None
        #: Whether a transaction is under way.
        self._begun = False

    def open(self) -> None:
        """Be ready for a transaction."""
        if self._producer is None:
            overrides = {**PRODUCER_SETTINGS, **_SETTINGS}
            made = make_producer(
                self._config, self._id, overrides=overrides, on_failure=self._refused.not_delivered, watch=ErrorWatch()
            )
            begin_transactions(made, _SECONDS)
            self._producer = made

    def write(self, records: Iterable[OutputRecord]) -> None:
        """Write records, in the transaction that `commit` ends.

        Raises:
            RefusedError: some were not taken.
            ProductionError: they could not be written.
        """
        with self._reported() as producer:
            self._refused.produce(producer, records)

    def flush(self) -> None:
        """See `Producing`."""
        with self._reported() as producer:
            self._deliver(producer)

    def commit(self, offsets: list[TopicPartition], membership: Membership) -> None:
        """Have all that was written be there, and offsets of the lanes' group with it.

        Raises:
            FencedError: this lane is not what it was any more.
            RefusedError: some records were not taken.
            ProductionError: nothing was written.
        """
        with self._reported() as producer:
            self._offsets.send(producer, offsets, membership.metadata)
            self._deliver(producer)
            _again(lambda: producer.commit_transaction(_SECONDS))
            self._begun = False

    def start_over(self) -> None:
        """Take back what was not committed. The next transaction is that of another producer.

        After a record was refused in a transaction, librdkafka's has lost count of what it sent.
        """
        producer, self._producer, self._begun = self._producer, None, False
        if producer is not None:
            with contextlib.suppress(KafkaException):  # a fenced one has nothing to abort
                producer.abort_transaction(_SECONDS)
            producer.purge()

    def close(self) -> None:
        """Wait for nothing: what is not committed is not meant to be seen."""
        self._offsets.close()
        if self._producer is not None:
            self._producer.purge()

    @contextlib.contextmanager
    def _reported(self) -> Iterator[Producer]:
        """The producer, in a transaction; what goes wrong becomes an error of ours."""
        self.open()
        producer = self._producer
        if producer is None:
            raise AssertionError("it is open")
        try:
            if not self._begun:
                self._refused.forget()
                producer.begin_transaction()
                self._begun = True
            yield producer
            self._check()
        except KafkaException as error:
            self._check()
            reason: ClientError = error.args[0]
            if reason.code() in FENCED or reason.code() == ClientError.REBALANCE_IN_PROGRESS:
                raise FencedError("another lane has taken over", detail=f"{reason.name()}: {reason.str()}") from error
            with contextlib.suppress(KafkaException):  # one that is fatal is told by every call
                producer.poll(_REASON_SECONDS)  # the record that is the reason may be told a little later
            self._check()
            raise _not_written(f"{reason.name()}: {reason.str()}") from error

    def _deliver(self, producer: Producer) -> None:
        deliver(producer, lambda: self._refused, self._is_stalled)
        self._check()

    def _check(self) -> None:
        """Raise what was refused. What is only late is not: the broker was away for longer than transactions may take.

        In a transaction, the client says that a record was late also when its topic is gone.
        """
        if self._refused.are_late and not missing_topics(self._config, self._refused.topics):
            self._refused.forget()
            raise ProductionError(
                "outputs could not be written",
                detail="the broker did not take them in time",
                hint="they are tried again",
            )
        self._refused.check()

    def _is_stalled(self) -> bool:
        self._stalled()
        return True  # the commit tells why nothing moves


def _not_written(why: str) -> ProductionError:
    return ProductionError("outputs could not be written", detail=why, hint="they are tried again")


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
