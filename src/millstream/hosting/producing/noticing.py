"""Noticing which records a client does not take, or does not bring to the broker."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import Message, Producer

from millstream.config import StreamsConfig
from millstream.hosting.producing.refusals import Refusal, RefusedError
from millstream.hosting.producing.transactions import is_refusal, produce
from millstream.task.errors.handling import asks_about_refused
from millstream.task.records import OutputRecord


class Noticing:
    """The records that a producer was given and that were not taken, since somebody last looked.

    Args:
        config: its handler may ask for the record itself; else it costs nothing per record.
    """

    def __init__(self, config: StreamsConfig) -> None:
        self._names_records = asks_about_refused(config)
        self._refusals: list[Refusal] = []

    def __bool__(self) -> bool:
        return bool(self._refusals)

    @property
    def are_late(self) -> bool:
        """Whether there are some, and all of them were only not delivered in time."""
        return bool(self._refusals) and all(refusal.is_late for refusal in self._refusals)

    @property
    def topics(self) -> set[str]:
        """Where they were to go."""
        return {refusal.topic for refusal in self._refusals}

    def produce(self, producer: Producer, records: Iterable[OutputRecord]) -> None:
        """Give records to a client."""
        produce(producer, records, self._refuse, self._hears_of if self._names_records else None)

    def check(self) -> None:
        """Raise what was refused.

        Raises:
            RefusedError: something was.
        """
        if self._refusals:
            refusals, self._refusals = self._refusals, []
            raise RefusedError(refusals)

    def forget(self) -> None:
        """What was refused so far is of no interest any more."""
        self._refusals.clear()

    def not_delivered(self, error: ClientError | None, message: Message, record: OutputRecord | None = None) -> None:
        """What the client calls for records that it could not bring to the broker."""
        if error is not None and is_refusal(error):
            self._refusals.append(Refusal.of_broker(record, message, error))

    def _refuse(self, record: OutputRecord, error: ClientError) -> None:
        self._refusals.append(Refusal.of_client(record, error))

    def _hears_of(self, record: OutputRecord) -> Callable[[ClientError | None, Message], None]:
        return partial(self.not_delivered, record=record)
