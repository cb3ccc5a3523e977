"""A lane's outputs without transactions: at least once."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import Message, Producer, TopicPartition

from millstream.config import StreamsConfig
from millstream.errors import ProductionError
from millstream.hosting.lanes.membership import Membership
from millstream.hosting.lanes.writing.outputs import Refused
from millstream.hosting.transactions import PRODUCER_SETTINGS, deliver, is_refusal, produce
from millstream.kafka.clients import ErrorWatch, make_producer
from millstream.task.records import OutputRecord


class PlainOutputs:
    """What tasks have to say, and once that is delivered, their notes: what is not noted is done again.

    Args:
        config: where the brokers are.
        notes_topic: the topic of slots.
    """

    def __init__(self, config: StreamsConfig, notes_topic: str) -> None:
        self._config = config
        self._notes_topic = notes_topic
        self._failed: list[Refused] = []
        self._producer: Producer | None = None

    def open(self) -> None:
        """Be ready to write."""
        if self._producer is None:
            overrides = {**PRODUCER_SETTINGS, "linger.ms": "0", "enable.idempotence": "true"}
            self._producer = make_producer(
                self._config, None, overrides=overrides, on_failure=self._not_delivered, watch=ErrorWatch()
            )

    def commit(self, records: Iterable[OutputRecord], offsets: list[TopicPartition], membership: Membership) -> None:
        """Write records, and offsets of the group.

        Raises:
            ProductionError: not all was written; `Refused` if a record is the reason.
        """
        said: list[OutputRecord] = []
        noted: list[OutputRecord] = []
        for record in records:
            (noted if record[0] == self._notes_topic else said).append(record)
        self._write(said)
        self._write(noted)
        membership.commit(offsets)

    def close(self) -> None:
        """Wait for nothing: what is not noted is done again."""
        if self._producer is not None:
            self._producer.purge()

    def _write(self, records: list[OutputRecord]) -> None:
        if not records:
            return
        self.open()
        producer = self._producer
        if producer is None:
            raise AssertionError("it is open")
        self._failed.clear()
        try:
            produce(producer, records, _refuse)
            deliver(producer, lambda: self._failed, lambda: False)
            if self._failed:
                raise self._failed[0]
        except ProductionError:
            self._producer = None  # what is still on its way is not waited for
            producer.purge()
            raise

    def _not_delivered(self, error: ClientError | None, message: Message) -> None:
        if error is not None and is_refusal(error):
            self._failed.append(Refused(message.topic() or "", error))


def _refuse(record: OutputRecord, error: ClientError) -> None:
    raise Refused(record[0], error)
