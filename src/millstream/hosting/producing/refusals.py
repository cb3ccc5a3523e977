"""Outputs that Kafka did not take: what is known about each, and how it is told."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import Message

from millstream.config import StreamsConfig
from millstream.errors import MillstreamError, ProductionError
from millstream.hosting.producing.written import written_topics
from millstream.kafka.admin import Admin
from millstream.kafka.clients import producer_properties
from millstream.kafka.errors import REFUSED, UNAVAILABLE
from millstream.task.records import OutputRecord
from millstream.topology.nodes import SinkNode
from millstream.topology.topology import Topology

_CREATE = "create it, for instance with: millstream topics create NAME --partitions 4"
_KEY_BYTES = 60
#: More than a batch of one record without headers has beside key and value.
_OVERHEAD_BYTES = 100
_ASK = timedelta(seconds=5)
_CLIENT_LIMIT = "message.max.bytes"
_TOPIC_LIMIT = "max.message.bytes"
#: librdkafka's.
_DEFAULT_CLIENT_LIMIT = "1000000"
_TOO_LARGE = frozenset({ClientError.MSG_SIZE_TOO_LARGE, ClientError.RECORD_LIST_TOO_LARGE})
_INVALID = frozenset({ClientError.INVALID_RECORD, ClientError.INVALID_MSG, ClientError.INVALID_TIMESTAMP})
_NO_TOPIC = frozenset({ClientError.UNKNOWN_TOPIC_OR_PART, ClientError._UNKNOWN_TOPIC})
#: What the client says, after a while, when a topic was deleted.
_MAY_BE_GONE = frozenset({ClientError._MSG_TIMED_OUT, ClientError._UNKNOWN_PARTITION, ClientError._DESTROY})
_NOT_ALLOWED = REFUSED | {ClientError.TOPIC_EXCEPTION}


@dataclass(frozen=True)
class Refusal:
    """An output that was not taken.

    Args:
        record: the output, if somebody may ask for it.
        topic: its topic.
        partition: its partition; None if it was not chosen yet.
        key: its key.
        size: bytes of key and value.
        error: why.
        here: whether the client refused it, so that it never was on its way.
    """

    record: OutputRecord | None
    topic: str
    partition: int | None
    key: bytes | None
    size: int
    error: ClientError
    here: bool

    @classmethod
    def of_client(cls, record: OutputRecord, error: ClientError) -> Refusal:
        """One that the client did not take."""
        topic, partition, key, value, *_ = record
        return cls(record, topic, partition, key, len(key or b"") + len(value or b""), error, True)

    @classmethod
    def of_broker(cls, record: OutputRecord | None, message: Message, error: ClientError) -> Refusal:
        """One that the broker did not take."""
        key, value = message.key(), message.value()
        size = len(key or b"") + len(value or b"")
        return cls(record, message.topic() or "", message.partition(), key, size, error, False)

    @property
    def blames_batch(self) -> bool:
        """Whether another record that was sent with it can be the reason."""
        return not self.here and self.error.code() in _TOO_LARGE | _INVALID

    @property
    def is_innocent(self) -> bool:
        """Whether another record that was sent with it is the reason."""
        return self.error.code() == ClientError._INVALID_DIFFERENT_RECORD

    @property
    def is_late(self) -> bool:
        """Whether it was not delivered in time, and nothing else is known."""
        return self.error.code() == ClientError._MSG_TIMED_OUT

    @property
    def may_be_skipped(self) -> bool:
        """Whether a handler is asked. As in Kafka Streams, it is not where no record would be taken."""
        return self.error.code() not in _NOT_ALLOWED


class RefusedError(Exception):
    """Some records were not taken. If in a transaction, and not by the client alone, nothing of it can be kept.

    Args:
        groups: those that may have been in one batch together, if they have the same topic and partition.
    """

    def __init__(self, *groups: list[Refusal]) -> None:
        super().__init__("records were refused")
        self.groups = groups

    @property
    def refusals(self) -> list[Refusal]:
        """All of them."""
        return [refusal for group in self.groups for refusal in group]


def guilty(refusals: list[Refusal]) -> Refusal:
    """The one to tell about, if it is not known which record of a batch was the reason."""
    found = [refusal for refusal in refusals if not refusal.is_innocent] or refusals
    return max(found, key=lambda refusal: refusal.size) if found[0].error.code() in _TOO_LARGE else found[0]


def told(refusal: Refusal, config: StreamsConfig, topologies: Iterable[Topology]) -> ProductionError:
    """A refusal as an error that says what to do.

    Args:
        refusal: what was not taken.
        config: of who wrote it.
        topologies: whose outputs were written.
    """
    error, topic = refusal.error, refusal.topic
    code = error.code()
    what, reason, hint = "an output record could not be written", error.str(), None
    missing = code in _NO_TOPIC or (code in _MAY_BE_GONE and bool(missing_topics(config, [topic])))
    if code in _TOO_LARGE:
        what = "an output record is too large"
        if refusal.here:
            limit = producer_properties(config).get(_CLIENT_LIMIT, _DEFAULT_CLIENT_LIMIT)
            reason = f"the producer takes at most {int(limit):,}"
            hint = (
                f"raise {_CLIENT_LIMIT} of the producer (client={{'producer.{_CLIENT_LIMIT}': ...}}), and "
                f"{_TOPIC_LIMIT} of the topic; or skip such records with a production_exception_handler"
            )
        else:
            most = _topic_limit(config, topic)
            reason = "the topic takes less" if most is None else f"the topic takes at most {most:,}"
            hint = f"raise {_TOPIC_LIMIT} of the topic; or skip such records with a production_exception_handler"
            if most is not None and refusal.size + _OVERHEAD_BYTES < most:
                what = "a batch of output records is too large; its largest record alone is not"
                hint = f"raise {_TOPIC_LIMIT} of the topic, or set client={{'producer.batch.size': {most}}}"
    elif missing:
        what, hint = f"topic '{topic}' does not exist", _CREATE
    elif code == ClientError._UNKNOWN_PARTITION:
        what = f"topic '{topic}' has no partition {refusal.partition}"
        hint = "let the partitioner answer with less than the number of partitions that it is given"
    elif code in REFUSED:
        what = f"the application may not write to topic '{topic}'"
        hint = "give its user the right to write there"
    elif code in _INVALID:
        hint = "the topic's settings forbid it: a compacted topic, for instance, takes no records without keys"
    where = (
        f"topic '{topic}'"
        if refusal.partition is None or refusal.partition < 0
        else (f"topic '{topic}', partition {refusal.partition}")
    )
    nodes = _writers(topologies, topic)
    by = f", written by {nodes}" if nodes else ""
    return ProductionError(
        what,
        detail=f"{where}{by}; key {_shown(refusal.key)}, {refusal.size:,} bytes: {reason} ({error.name()})",
        hint=hint,
        code=error.name(),
        retriable=not missing and (error.retriable() or code in UNAVAILABLE),
        topic=topic,
    )


def raise_if_deleted(config: StreamsConfig, topology: Topology) -> None:
    """Raise an error if a topic that is written by name is not there any more."""
    written = written_topics(topology, config)
    for topic in sorted(missing_topics(config, written)):
        raise ProductionError(
            f"topic '{topic}' does not exist",
            detail=f"it is written by {written[topic]}, and was there when the application started",
            hint=_CREATE,
            code=ClientError(ClientError.UNKNOWN_TOPIC_OR_PART).name(),
            topic=topic,
        )


def missing_topics(config: StreamsConfig, topics: Collection[str]) -> set[str]:
    """Those that are not there; none if nobody can tell."""
    try:
        return set(topics) - set(Admin(config, timeout=_ASK).partition_counts(topics))
    except MillstreamError:  # a broker that is away says nothing
        return set()


def _topic_limit(config: StreamsConfig, topic: str) -> int | None:
    try:
        found = Admin(config, timeout=_ASK).topic_settings(topic).get(_TOPIC_LIMIT)
        return None if found is None else int(found)
    except MillstreamError:  # it may not be allowed to ask
        return None


def _writers(topologies: Iterable[Topology], topic: str) -> str:
    nodes = (node for topology in topologies for node in topology.nodes.values())
    found = {f"'{node.name}'" for node in nodes if isinstance(node, SinkNode) and node.topic == topic}
    return ", ".join(sorted(found))


def _shown(key: bytes | None) -> str:
    if key is None:
        return "none"
    return repr(key) if len(key) <= _KEY_BYTES else f"{key[:_KEY_BYTES]!r}... ({len(key):,} bytes)"
