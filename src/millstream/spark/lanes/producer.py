"""A lane's producer: outputs of a wave, all or nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from functools import partial

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, Producer, TopicPartition

from millstream.errors import FencedError, ProductionError, StreamsError
from millstream.hosting.producing.noticing import Noticing
from millstream.hosting.producing.refusals import raise_if_deleted
from millstream.hosting.producing.transactions import (
    FENCED,
    PRODUCER_SETTINGS,
    OffsetsSender,
    begin_transactions,
    deliver,
    order_settings,
    patiently,
)
from millstream.kafka.clients import ErrorWatch, make_consumer, make_producer
from millstream.kafka.errors import translate
from millstream.spark.program import Program
from millstream.spark.state.markers import Marker, read_marker
from millstream.task.records import OutputRecord

_TRANSACTION_SECONDS = 60.0
_MARK_SECONDS = 15.0
_REASON_SECONDS = 0.5


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
        self._refused = Noticing(program.config)
        overrides = {**PRODUCER_SETTINGS, **order_settings(program.config)}
        identity = program.transactional_id(lane) if self._exactly_once else None
        self._make_producer = partial(
            make_producer, program.config, identity, overrides=overrides, on_failure=self._refused.not_delivered
        )
        self._producer: Producer = self._make_producer(watch=ErrorWatch())
        self._offsets = OffsetsSender(_TRANSACTION_SECONDS, _MARK_SECONDS)
        if self._exactly_once:
            begin_transactions(self._producer, _TRANSACTION_SECONDS)
        # Reads what is committed, and waits for what is in a transaction that is just being committed.
        self._group = make_consumer(program.config, overrides={"isolation.level": "read_committed"})

    def committed(self, partitions: Iterable[int]) -> dict[int, Marker | None]:
        """The markers at partitions of the progress topic; None where there is none yet."""
        wanted = [TopicPartition(self._program.progress_topic, partition) for partition in partitions]
        found = patiently("read the progress", lambda: self._group.committed(wanted, _TRANSACTION_SECONDS))
        for at in found:
            if at.error is not None:
                raise translate(at.error, "read the progress")
        return {at.partition: read_marker(at) for at in found}

    def write(self, records: Iterable[OutputRecord]) -> None:
        """Write records; readers of committed records see them after `commit`."""
        with self._reported():
            self._begin()
            self._refused.produce(self._producer, records)

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
        begin_transactions(self._producer, _TRANSACTION_SECONDS)

    def close(self) -> None:
        """Wait for nothing: what is not committed is not meant to be seen."""
        self._offsets.close()
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
            self._refused.check()
        except KafkaException as error:
            with contextlib.suppress(KafkaException):  # one that is fatal is told by every call
                self._producer.poll(_REASON_SECONDS)  # the record that is the reason may be told a little later
            self._refused.check()
            raise _failed(error.args[0]) from error

    def _begin(self) -> None:
        self.used = True
        if not self._open:
            self._open = True
            self._refused.forget()
            if self._exactly_once:
                self._producer.begin_transaction()

    def _deliver(self) -> None:
        """Wait until all is delivered, or something is refused.

        In a transaction the client then sends nothing more, but would wait for it, and could not be told to abort as
        long as it does.
        """
        deliver(self._producer, lambda: self._refused and self._exactly_once, self._stalled)
        self._refused.check()

    def _stalled(self) -> bool:
        if self._exactly_once:
            raise_if_deleted(self._program.config, self._program.topology)
        return self._exactly_once  # it has another reason, which the commit tells

    def _mark(self, offsets: list[TopicPartition], membership: bytes) -> None:
        if offsets:
            self._offsets.send(self._producer, offsets, membership)


def _failed(error: ClientError) -> StreamsError:
    if error.code() in FENCED:
        return FencedError(
            "this run of the application is not its owner any more",
            detail=f"{error.name()}: {error.str()}",
            hint="another copy has taken over, or this one was silent for too long and joins again",
        )
    return ProductionError(
        "outputs could not be written",
        detail=f"{error.name()}: {error.str()}",
        hint="the batch is tried again",
        retriable=True,
    )
