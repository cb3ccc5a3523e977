"""A lane's outputs without transactions: at least once."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import Producer, TopicPartition

from millstream.config import StreamsConfig
from millstream.hosting.lanes.membership import Membership
from millstream.hosting.producing.noticing import Noticing
from millstream.hosting.producing.transactions import PRODUCER_SETTINGS, deliver, order_settings
from millstream.kafka.clients import ErrorWatch, make_producer
from millstream.task.records import OutputRecord


class PlainOutputs:
    """What tasks have to say, and once that is delivered, their notes: what is not noted is done again.

    See `Producing`.

    Args:
        config: where the brokers are.
        notes_topic: the topic of slots.
    """

    exactly_once = False

    def __init__(self, config: StreamsConfig, notes_topic: str) -> None:
        self._config = config
        self._notes_topic = notes_topic
        self._refused = Noticing(config)
        #: Notes of tasks, by their keys, that are written once everything else is delivered.
        self._notes: dict[bytes | None, OutputRecord] = {}
        self._producer: Producer | None = None

    def open(self) -> None:
        """Be ready to write."""
        self._opened()

    def write(self, records: Iterable[OutputRecord]) -> None:
        """Write records.

        Raises:
            RefusedError: some were not taken.
        """
        said: list[OutputRecord] = []
        for record in records:
            if record[0] == self._notes_topic:
                self._notes[record[2]] = record
            else:
                said.append(record)
        self._produce(said)

    def flush(self) -> None:
        """See `Producing`."""
        deliver(self._opened(), lambda: False, lambda: False)
        self._refused.check()

    def commit(self, offsets: list[TopicPartition], membership: Membership) -> None:
        """Have all that was written be there, then the notes, and offsets of the group.

        Raises:
            RefusedError: some records were not taken.
        """
        self.flush()
        notes, self._notes = self._notes, {}
        self._produce(notes.values())
        self.flush()
        membership.commit(offsets)

    def start_over(self) -> None:
        """What is still on its way is not waited for: what is not noted is done again."""
        self._notes.clear()
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()

    def close(self) -> None:
        """Wait for nothing: what is not noted is done again."""
        self.start_over()

    def _opened(self) -> Producer:
        if self._producer is None:
            overrides = {**PRODUCER_SETTINGS, "linger.ms": "0", **order_settings(self._config)}
            self._refused.forget()
            self._producer = make_producer(
                self._config, None, overrides=overrides, on_failure=self._refused.not_delivered, watch=ErrorWatch()
            )
        return self._producer

    def _produce(self, records: Iterable[OutputRecord]) -> None:
        self._refused.produce(self._opened(), records)
        self._refused.check()
