"""Spark and Kafka for applications under test: one session, one broker, topics and names of their own for each."""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from pyspark.sql import SparkSession

from millstream import Serdes, StreamsConfig, Topology
from millstream.config import ProcessingMode
from millstream.kafka.admin import Admin
from millstream.kafka.topics import NewTopic
from millstream.spark.client import KafkaStreams
from millstream.spark.startup.session import spark_session

from .compare import Output
from .feeds import PARTITIONS, Input

WAIT = timedelta(seconds=120)
#: The address of a cluster's master; without, Spark runs in this process. tests/soak/test_cluster_parity.py sets it.
MASTER = "MILLSTREAM_TEST_MASTER"


class Host:
    """What all tests of a run share. Spark's session is that of the process and lives as long.

    Args:
        bootstrap_servers: the broker.
        directory: for checkpoints.
        mode: how applications run.
    """

    def __init__(self, bootstrap_servers: str, directory: Path, mode: ProcessingMode) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.mode = mode
        self._directory = directory
        self._run = uuid.uuid4().hex[:6]
        self._numbers = itertools.count()
        self._master = os.environ.get(MASTER, "local[2]")
        self.session: SparkSession = spark_session(StreamsConfig(master=self._master, state_dir=directory))
        self.admin = Admin(StreamsConfig(bootstrap_servers=bootstrap_servers))
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "partitioner": "murmur2_random",
                "enable.idempotence": True,  # records stay in order also when they are sent again
                "linger.ms": 2,
            }
        )

    def name(self, base: str) -> str:
        """A name that nothing else has."""
        return f"{base}-{self._run}-{next(self._numbers)}"

    def config(self, application_id: str, **options: Any) -> StreamsConfig:
        """A configuration with texts as default, no caching, and a checkpoint of the application's own."""
        return StreamsConfig(
            application_id=application_id,
            bootstrap_servers=self.bootstrap_servers,
            processing_mode=self.mode,
            master=self._master,
            checkpoint_location=self._directory / application_id,
            **{
                "default_key_serde": Serdes.string,
                "default_value_serde": Serdes.string,
                "statestore_cache_max_bytes": 0,
                **options,
            },
        )

    def create(self, topics: Iterable[str], partitions: int = PARTITIONS) -> None:
        """Create topics that keep records however old they are."""
        self.admin.create_topics([NewTopic(topic, partitions, {"retention.ms": "-1"}) for topic in sorted(set(topics))])

    def produce(self, records: Iterable[Input], partition: int | None = None) -> None:
        """Write records where their keys belong, or all into one partition."""
        failed: list[KafkaError] = []
        for record in records:
            self._producer.produce(
                record.topic,
                record.value,
                record.key,
                partition if partition is not None else record.partition if record.key is None else -1,
                timestamp=record.timestamp,
                headers=list(record.headers),
                on_delivery=lambda error, _: failed.append(error) if error is not None else None,
            )
        assert self._producer.flush(30) == 0
        assert not failed, failed

    def abort(self, records: Iterable[Input]) -> None:
        """Write records in a transaction that is given up."""
        producer = Producer({"bootstrap.servers": self.bootstrap_servers, "transactional.id": self.name("aborting")})
        producer.init_transactions(30)
        producer.begin_transaction()
        for record in records:
            producer.produce(record.topic, record.value, record.key, record.partition, timestamp=record.timestamp)
        producer.flush(30)
        producer.abort_transaction(30)

    def run_once(self, topology: Topology, config: StreamsConfig) -> KafkaStreams:
        """Process what is there."""
        streams = KafkaStreams(topology, config, spark=self.session)
        streams.start(once=True)
        assert streams.wait(WAIT), f"{config.application_id} has not ended after {WAIT}"
        return streams

    @contextmanager
    def running(self, topology: Topology, config: StreamsConfig) -> Iterator[KafkaStreams]:
        """An application that waits for records."""
        streams = KafkaStreams(topology, config, spark=self.session)
        streams.start()
        try:
            yield streams
        finally:
            streams.close()

    def read(self, topics: Iterable[str]) -> list[tuple[Output, int]]:
        """All committed records, with their partitions, in the order of each partition."""
        counts = self.admin.require_topics(topics)
        places = [(topic, number) for topic, count in counts.items() for number in range(count)]
        ends = self.admin.end_offsets(places, committed=False)
        waiting = {place for place, end in ends.items() if end > 0}
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "group.id": self.name("reader"),
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 20,
            }
        )
        try:
            consumer.assign([TopicPartition(*place, 0) for place in sorted(waiting)])
            found: list[tuple[Output, int]] = []
            while waiting:
                message = consumer.poll(30)
                assert message is not None, f"no end of {waiting}"
                place = (message.topic() or "", message.partition() or 0)
                error = message.error()
                if error is None:
                    headers: Any = tuple(message.headers() or ())
                    output = Output(place[0], message.key(), message.value(), message.timestamp()[1], headers)
                    found.append((output, place[1]))
                elif error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                elif consumer.position([TopicPartition(*place)])[0].offset >= ends[place]:
                    waiting.discard(place)
            return found
        finally:
            consumer.close()


def without_broker(config: StreamsConfig) -> StreamsConfig:
    """The same configuration for the test driver."""
    return replace(config, bootstrap_servers=None, checkpoint_location=None, state_dir=None)
