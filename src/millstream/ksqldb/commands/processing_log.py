"""The processing log as a topic, and as a stream over it."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException, Producer

from millstream.config import StreamsConfig
from millstream.kafka.clients import make_producer
from millstream.ksqldb.commands.names import processing_log_topic
from millstream.sql.engine.topics import TopicDescription, Topics
from millstream.sql.processing_log import ProcessingLog, PythonLog
from millstream.sql.settings import Settings

_LOG = logging.getLogger("millstream.ksqldb")
_LOCK = threading.Lock()
_PRODUCERS: dict[str, Producer] = {}
_CAUSE = "cause ARRAY<VARCHAR>"
_STREAM = (
    "CREATE STREAM {name} (logger VARCHAR, level VARCHAR, time BIGINT, message STRUCT<type INT, "
    "deserializationError STRUCT<target VARCHAR, errorMessage VARCHAR, recordB64 VARCHAR, {cause}, `topic` VARCHAR>, "
    "recordProcessingError STRUCT<errorMessage VARCHAR, record VARCHAR, {cause}>, "
    "productionError STRUCT<errorMessage VARCHAR>, "
    "serializationError STRUCT<target VARCHAR, errorMessage VARCHAR, record VARCHAR, {cause}, `topic` VARCHAR>, "
    "kafkaStreamsThreadError STRUCT<errorMessage VARCHAR, threadName VARCHAR, {cause}>>) "
    "WITH (kafka_topic='{topic}', value_format='JSON');"
)


@dataclass(frozen=True)
class TopicLog:
    """Writes entries to a topic, as ksqlDB's Kafka appender does. It waits for nothing: queries go on.

    Args:
        config: where the brokers are and how to reach them.
        topic: of the entries.
    """

    config: StreamsConfig
    topic: str

    def error(self, logger: str, message: Mapping[str, Any]) -> None:
        """See `ProcessingLog`."""
        entry = {"logger": logger, "level": "ERROR", "time": int(time.time() * 1000), "message": message}
        producer = _producer(self.config)
        try:
            producer.produce(self.topic, json.dumps(entry, default=str).encode())
            producer.poll(0)
        except (BufferError, KafkaException) as error:
            _LOG.warning("an entry of the processing log is lost: %s", error)


def _producer(config: StreamsConfig) -> Producer:
    """The producer of this process: a log is taken along to other processes, and clients cannot be."""
    servers = config.bootstrap_servers or ""
    with _LOCK:
        found = _PRODUCERS.get(servers)
        if found is None:
            found = _PRODUCERS[servers] = make_producer(config)
        return found


def flush(seconds: float) -> None:
    """Write what entries there are."""
    with _LOCK:
        producers = list(_PRODUCERS.values())
    for producer in producers:
        producer.flush(seconds)


def processing_log(config: StreamsConfig, settings: Settings) -> ProcessingLog:
    """The log that the settings of a server ask for: a topic if one is named or to be made, else Python's logger."""
    if settings.get("ksql.logging.processing.topic.auto.create") or settings.get("ksql.logging.processing.topic.name"):
        return TopicLog(config, processing_log_topic(settings))
    return PythonLog()


def make_topic(topics: Topics, settings: Settings) -> None:
    """Make the topic of the log, if it is to be made and not there."""
    name = processing_log_topic(settings)
    if settings.get("ksql.logging.processing.topic.auto.create") and topics.describe(name) is None:
        partitions = settings.get("ksql.logging.processing.topic.partitions")
        replicas = settings.get("ksql.logging.processing.topic.replication.factor")
        topics.create(TopicDescription(name, partitions, replicas))


def stream_statement(settings: Settings) -> str | None:
    """The statement that makes a stream of the log; None if there is to be none."""
    if not settings.get("ksql.logging.processing.stream.auto.create"):
        return None
    name = settings.get("ksql.logging.processing.stream.name")
    return _STREAM.format(name=name, topic=processing_log_topic(settings), cause=_CAUSE)
