"""What is known of a task when another lane goes on with it: the last record of its key in the topic of slots.

The topic has a partition for each slot, and does three things. Lanes are members of a group that shares its partitions
out, so that each slot has one lane. Its records are the notes of tasks. And each transaction of a lane commits an
offset in every slot that it has something of, with the lane's membership: Kafka refuses that of a lane which has lost
the slot, and who takes a slot over can wait until nothing of it is undecided.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import closing

import msgspec
from confluent_kafka import KafkaException, TopicPartition

from millstream.config import StreamsConfig
from millstream.hosting.lanes.query import SLOTS
from millstream.hosting.range_consumer import RangeConsumer
from millstream.kafka.admin import Admin, Partition
from millstream.kafka.clients import make_consumer
from millstream.kafka.errors import translate
from millstream.kafka.topics import NewTopic, changelog_topic
from millstream.layouts import Versioned, decode_versioned

_VERSION = 1
_STABLE_SECONDS = 60.0


class LaneNote(Versioned, array_like=True, frozen=True):
    """A task between two transactions.

    Args:
        positions: of each input, the offset of the next message.
        task: what it knows beside the rows of its stores; see `millstream.hosting.task_note`.
        ids: the ids of the topics; none in notes of the first versions.
        left: of inputs that stand in the middle of a message, how many of its records come next; see `bundles`.
    """

    positions: dict[str, dict[int, int]]
    task: bytes
    ids: dict[str, str] = msgspec.field(default_factory=dict)
    left: dict[str, dict[int, int]] = msgspec.field(default_factory=dict)


def encode(places: Mapping[Partition, tuple[int, int]], task: bytes, ids: Mapping[str, str]) -> bytes:
    """A note as the value of a record.

    Args:
        places: of each input, the offset of the next message, and how many of its records are left if it was begun.
        task: what it knows beside the rows of its stores.
        ids: the ids of topics.
    """
    positions: dict[str, dict[int, int]] = {}
    begun: dict[str, dict[int, int]] = {}
    for (topic, partition), (offset, left) in places.items():
        positions.setdefault(topic, {})[partition] = offset
        if left:
            begun.setdefault(topic, {})[partition] = left
    known = {topic: ids[topic] for topic in positions if topic in ids}
    return msgspec.msgpack.encode(LaneNote(_VERSION, positions, task, known, begun))


def decode(value: bytes) -> LaneNote:
    """The note in a record.

    Raises:
        StateStoreError: it is damaged, or of a later release.
    """
    return decode_versioned(value, LaneNote, _VERSION, "a task's note in the topic of slots")


def slots_topic(service: str, slots: int = SLOTS) -> NewTopic:
    """The topic of a service's slots."""
    return changelog_topic(f"{service}-slots", slots)


def read_notes(config: StreamsConfig, group: str, topic: str, slots: Collection[int]) -> dict[int, dict[bytes, bytes]]:
    """The notes in slots that this lane has been given, once nothing in them is undecided any more.

    Args:
        config: where the brokers are.
        group: the lanes' group.
        topic: the topic of slots.
        slots: the slots.
    """
    with closing(make_consumer(config, overrides={"group.id": group, "isolation.level": "read_committed"})) as asking:
        try:
            # Waits for transactions of the lanes before that have committed an offset there and are not yet ended.
            asking.committed([TopicPartition(topic, slot) for slot in slots], _STABLE_SECONDS)
        except KafkaException as error:
            raise translate(error, "read the notes of tasks", config.bootstrap_servers) from error
    with closing(Admin(config)) as admin:
        # The very end: what is committed there may still be without the mark that says so, and is waited for.
        ends = admin.end_offsets([(topic, slot) for slot in slots], committed=False)
    found: dict[int, dict[bytes, bytes]] = {slot: {} for slot in slots}
    with closing(RangeConsumer(config, from_the_first=True)) as consumer:
        for (_, slot), records in consumer.read({partition: (0, end) for partition, end in ends.items() if end}):
            for key, value, *_ in records:
                if key is not None and value is not None:
                    found[slot][key] = value
                elif key is not None:
                    found[slot].pop(key, None)
    return found
