"""The command topic in Kafka."""

from __future__ import annotations

import contextlib
import logging
import time
import uuid
from collections.abc import Callable, Mapping

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka import KafkaError as ClientError

from millstream.config import StreamsConfig
from millstream.errors import MillstreamError
from millstream.kafka.admin import Admin, Partition
from millstream.kafka.clients import make_consumer, make_producer
from millstream.kafka.errors import BrokerUnavailable, TopicMissing, translate
from millstream.kafka.topics import NewTopic
from millstream.ksqldb.commands.log.topic import Batch, CommandRecord, TopicDamaged, WriterFenced

_LOG = logging.getLogger("millstream.ksqldb")
#: That another server takes over is nothing fatal here, though librdkafka says so.
_QUIET = logging.getLogger("millstream.ksqldb.writer")
_QUIET.setLevel(logging.CRITICAL + 1)
_SECONDS = 30.0
_PATIENCE_SECONDS = 10.0
_PAUSE_SECONDS = 0.1
_MOST_RECORDS = 500
_SETTINGS = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
_READING = {
    "auto.offset.reset": "error",
    "enable.partition.eof": "true",
    "fetch.wait.max.ms": "500",  # how long it takes to see that a transaction was aborted; else records come at once
    "isolation.level": "read_committed",
}
_WRITING = {"acks": "all", "linger.ms": "0", "transaction.timeout.ms": "30000"}
_DAMAGED = frozenset(
    {
        ClientError._AUTO_OFFSET_RESET,
        ClientError.OFFSET_OUT_OF_RANGE,
        ClientError.UNKNOWN_TOPIC_OR_PART,
        ClientError._UNKNOWN_TOPIC,
        ClientError._UNKNOWN_PARTITION,
    }
)
#: A transaction that ends with one of these is not in the topic.
_FENCED = frozenset(
    {
        ClientError._FENCED,
        ClientError.INVALID_PRODUCER_EPOCH,
        ClientError.INVALID_PRODUCER_ID_MAPPING,
        ClientError.INVALID_TXN_STATE,
        ClientError.CONCURRENT_TRANSACTIONS,
        90,  # PRODUCER_FENCED, for which the client has no name
    }
)


class KafkaCommandTopic:
    """See `CommandTopic`.

    Args:
        config: where the brokers are and how to reach them.
        service_id: whose commands they are; also what its writers have to share.
        name: of the topic.
    """

    def __init__(self, config: StreamsConfig, service_id: str, name: str) -> None:
        self._config = config
        self._service_id = service_id
        self._name = name
        self._admin = Admin(config)
        self._topic_id: str | None = None

    @property
    def name(self) -> str:
        return self._name

    def ensure(self) -> bool:
        created = self._admin.create_topics([NewTopic(self._name, 1, _SETTINGS)])
        self._topic_id = self._admin.topic_ids([self._name]).get(self._name)
        return bool(created)

    def check(self) -> None:
        try:
            found = self._admin.topic_ids([self._name]).get(self._name)
        except TopicMissing as error:
            raise TopicDamaged(f"the command topic {self._name} is gone") from error
        if found != self._topic_id:
            raise TopicDamaged(f"the command topic {self._name} was deleted and made again")

    def end(self) -> int:
        return self._patiently(lambda places: self._admin.end_offsets(places, committed=True))

    def reader(self) -> KafkaCommandReader:
        begin = self._patiently(self._admin.begin_offsets)
        if begin:
            raise TopicDamaged(
                f"the command topic {self._name} has lost its first commands", detail=f"it begins at offset {begin}"
            )
        return KafkaCommandReader(self._config, self._name)

    def _patiently(self, ask: Callable[[list[Partition]], Mapping[Partition, int]]) -> int:
        """An offset of the topic: a broker that has just made the topic may not know it yet."""
        place = (self._name, 0)
        end = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return ask([place])[place]
            except BrokerUnavailable:
                if time.monotonic() > end:
                    raise
                time.sleep(_PAUSE_SECONDS)

    def writer(self) -> KafkaCommandWriter:
        return KafkaCommandWriter(self._config, self._service_id, self._name)

    def cluster_id(self) -> str:
        """What tells one Kafka cluster from another."""
        return self._admin.cluster_id()

    def delete(self) -> None:
        if self._admin.partition_counts([self._name]):
            self._admin.delete_topics([self._name])

    def close(self) -> None:
        self._admin.close()


class KafkaCommandReader:
    """See `CommandReader`."""

    def __init__(self, config: StreamsConfig, topic: str) -> None:
        self._topic = topic
        group = {"group.id": f"{config.application_id}-commands-{uuid.uuid4().hex}"}  # never joined, never committed
        self._consumer: Consumer = make_consumer(config, overrides={**_READING, **group})
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self._position = 0

    def read(self, seconds: float) -> Batch:
        messages = []
        first = self._consumer.poll(seconds)
        if first is not None:
            messages = [first, *self._consumer.consume(_MOST_RECORDS, 0)]
        records = []
        for message in messages:
            if self._is_record(message):
                offset = message.offset() or 0
                records.append(CommandRecord(message.key(), message.value(), offset))
                # What ends a transaction comes right after its last record, and no reader sees it. If the topic ends
                # there, this was the last record: another one would have to be followed by an end of its own.
                self._position = max(self._position, offset + 2)
        return Batch(tuple(records), self._position)

    def _is_record(self, message: Message) -> bool:
        error = message.error()
        if error is None:
            return True
        if error.code() == ClientError._PARTITION_EOF:
            self._position = max(self._position, message.offset() or 0)
        elif error.code() in _DAMAGED:
            raise TopicDamaged(
                f"the command topic {self._topic} cannot be read any further",
                detail=f"at offset {self._position}: {error.str()}",
            )
        else:
            _LOG.warning("command topic %s: %s", self._topic, error.str())
        return False

    def close(self) -> None:
        self._consumer.close()


class KafkaCommandWriter:
    """See `CommandWriter`. The producer is kept from one transaction to the next, as long as no other server writes."""

    def __init__(self, config: StreamsConfig, service_id: str, topic: str) -> None:
        self._config = config
        self._service_id = service_id
        self._topic = topic
        self._producer: Producer | None = None

    def begin(self) -> None:
        try:
            if self._producer is None:
                self._producer = make_producer(self._config, self._service_id, overrides=_WRITING, logger=_QUIET)
                self._producer.init_transactions(_SECONDS)
            self._producer.begin_transaction()
        except KafkaException as error:
            self._leave()
            raise self._translated(error) from error

    def append(self, key: bytes, value: bytes) -> int:
        delivered: list[tuple[ClientError | None, int]] = []

        def done(error: ClientError | None, message: Message) -> None:
            delivered.append((error, 0 if error is not None else message.offset() or 0))

        try:
            self._open.produce(self._topic, value, key, partition=0, on_delivery=done)
            self._open.flush(_SECONDS)
            error, offset = delivered[0] if delivered else (ClientError(ClientError._TIMED_OUT), 0)
            if error is not None:
                raise KafkaException(error)
        except KafkaException as error:
            raise self._translated(error) from error
        except SystemError as error:
            # The client raises that it was fenced while it calls back, which Python does not like.
            self._leave()
            raise WriterFenced("another server writes to the command topic", detail=str(error.__cause__)) from error
        return offset

    def commit(self) -> None:
        end = time.monotonic() + _SECONDS
        while True:
            try:
                self._open.commit_transaction(_SECONDS)
                return
            except KafkaException as error:
                reason = error.args[0]
                if reason.txn_requires_abort():
                    self.abort()
                    raise WriterFenced("the transaction was ended", detail=reason.str()) from error
                if not reason.retriable() or time.monotonic() > end:
                    self._leave()
                    raise self._translated(error) from error

    def abort(self) -> None:
        try:
            if self._producer is not None:
                self._producer.abort_transaction(_SECONDS)
        except KafkaException:
            self._leave()  # another one that begins ends what was under way

    @property
    def _open(self) -> Producer:
        if self._producer is None:
            raise WriterFenced("no transaction is under way")
        return self._producer

    def _translated(self, error: KafkaException) -> MillstreamError:
        reason = error.args[0]
        if reason.code() in _FENCED or reason.fatal():
            self._leave()
            return WriterFenced("another server writes to the command topic", detail=reason.str())
        return translate(error, "write to the command topic", self._config.bootstrap_servers)

    def _leave(self) -> None:
        self._producer = None

    def close(self) -> None:
        if self._producer is not None:
            with contextlib.suppress(KafkaException):
                self._producer.flush(0)
            self._leave()
