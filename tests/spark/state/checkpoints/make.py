"""Makes a checkpoint of today's format as a fixture, beside this file: `python tests/spark/state/checkpoints/make.py`.

A small application really runs, on a broker and Spark of its own, three batches of it. Beside its checkpoint is kept
what Kafka knew of it (`kafka.json`: the committed offsets with their metadata). A fixture stays as it was made, so that
later versions are tested with what earlier ones wrote; a new format gets a folder of its own.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

from confluent_kafka import Producer, TopicPartition
from pyarrow import fs

from millstream import Grouped, Materialized, Produced, Serdes, StreamsBuilder, StreamsConfig, TimeWindows, Topology
from millstream.kafka.admin import Admin
from millstream.kafka.broker import DevBroker
from millstream.kafka.clients import make_consumer
from millstream.kafka.topics import NewTopic
from millstream.spark.client import KafkaStreams
from millstream.spark.state import checkpoint, levels
from millstream.spark.state.statefiles import StateFiles, Version
from millstream.state.store import LogEntry

APPLICATION = "checkpoint-fixture"
#: The application's topics, and how many partitions each has.
TOPICS = {"in": 1, "counts": 1, "per-minute": 1}
#: Key and timestamp of each record, of batches 1, 2 and 3; values do not matter.
BATCHES = [
    [("a", 1_000), ("b", 2_000), ("a", 61_000)],
    [("a", 62_000)],
    [("c", 63_000), ("b", 64_000)],
]
#: Instead of where the checkpoint really was.
LOCATION = "/where/it/was"
_PATIENCE = timedelta(minutes=5)


def topology() -> Topology:
    """One task with a key-value store and a window store."""
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by_key(Grouped(Serdes.string, Serdes.string))
    grouped.count(materialized=Materialized("count-store")).to_stream().to(
        "counts", Produced(Serdes.string, Serdes.long)
    )
    (
        grouped.windowed_by(TimeWindows.of_size(timedelta(minutes=1)))
        .count(materialized=Materialized("minute-store"))
        .to_stream()
        .map(lambda windowed, count: (windowed.key, count))
        .to("per-minute", Produced(Serdes.string, Serdes.long))
    )
    return builder.build()


def config(bootstrap_servers: str, directory: Path) -> StreamsConfig:
    """How the application runs; its checkpoint is in the directory."""
    return StreamsConfig(
        application_id=APPLICATION,
        bootstrap_servers=bootstrap_servers,
        processing_guarantee="exactly_once_v2",
        processing_mode="micro_batch",
        default_key_serde=Serdes.string,
        default_value_serde=Serdes.string,
        statestore_cache_max_bytes=0,
        num_stream_threads=1,
        checkpoint_location=directory / "checkpoint",
        state_dir=directory / "state",
    )


def make(target: Path) -> None:
    """Run the application, and keep its checkpoint."""
    with tempfile.TemporaryDirectory() as temporary, DevBroker(Path(temporary, "broker")) as broker:
        settings = config(broker.bootstrap_servers, Path(temporary))
        admin = Admin(settings)
        admin.create_topics([NewTopic(topic, partitions) for topic, partitions in TOPICS.items()])
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
        for batch in BATCHES:
            for key, timestamp in batch:
                producer.produce("in", "x", key, timestamp=timestamp)
            producer.flush()
            streams = KafkaStreams(topology(), settings)
            streams.start(once=True)
            assert streams.wait(_PATIENCE)
        admin.close()
        known = _known_to_kafka(settings).replace(str(settings.checkpoint_location), LOCATION)
        state = Path(temporary, "checkpoint", "millstream", "state", "0_0")
        _make_base(state, Version(1, 0))
        _merge(state)
        shutil.copytree(Path(temporary, "checkpoint"), target)
        (target / "kafka.json").write_text(known)


def _known_to_kafka(settings: StreamsConfig) -> str:
    places = [TopicPartition("in", 0), TopicPartition(f"{APPLICATION}-progress", 0)]
    consumer = make_consumer(settings)
    try:
        found = consumer.committed(places, 30)
    finally:
        consumer.close()
    offsets = [[at.topic, at.partition, at.offset, at.metadata] for at in found]
    return json.dumps(offsets, indent=2) + "\n"


def _make_base(directory: Path, at: Version) -> None:
    """What a task does after many more batches: have a base with all that was there after one, and remove the past."""
    files = StateFiles(fs.LocalFileSystem(), str(directory))
    stores: dict[str, dict[bytes, bytes]] = {}

    def apply(store: str, entries: list[LogEntry]) -> None:
        stores.setdefault(store, {}).update((key, value) for key, value in entries if value is not None)

    progress = files.restore(Version(at.batch + 1, 0), apply)
    files.write_base({store: entries.items() for store, entries in stores.items()}, progress or b"")
    files.forget_before(at.batch + 1)


def _merge(directory: Path) -> None:
    """What a task does after many more batches: merge what was changed after the base."""
    files = StateFiles(fs.LocalFileSystem(), str(directory))
    files.restore(Version(len(BATCHES) + 1, 0), lambda store, entries: None)
    levels.RUN = 2
    files.merge_before(len(BATCHES) + 1)


if __name__ == "__main__":
    folder = Path(__file__).parent / f"format-{checkpoint._FORMAT}"
    if folder.exists():
        sys.exit(f"{folder} is there: a fixture stays as it was made")
    make(folder)
