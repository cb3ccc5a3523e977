"""Transactions that Kafka has ended without writing their markers everywhere: readers wait for them for ever.

That happens when a broker is killed while it ends a transaction (docs/faults.md). Whether it has happened is read from
the broker's own files: the first transaction of a partition that is not decided has, says its coordinator, ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from millstream.kafka.broker import DevBroker

from .segments import Reader, batches
from .topics import admin

_STATES = "__transaction_state"
#: The states of a transaction in which markers are still to be written: ongoing, and about to commit, abort or fence.
_OPEN = frozenset({1, 2, 3, 7})


@dataclass(frozen=True)
class Hanging:
    """A transaction without an end.

    Args:
        topic: where it has written.
        partition: the same.
        offset: of its first record, where readers stand.
        producer: whose it was.
    """

    topic: str
    partition: int
    offset: int
    producer: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} at offset {self.offset}, of producer {self.producer}"


def hanging(broker: DevBroker, prefix: str) -> list[Hanging]:
    """The transactions that hang in topics whose names begin so."""
    client = admin(broker.bootstrap_servers)
    partitions = [
        (topic, number)
        for topic, count in client.topics().items()
        if topic.startswith(prefix)
        for number in range(count)
    ]
    ends = client.end_offsets(partitions, committed=False)
    decided = client.end_offsets(partitions, committed=True)
    standing = {at: decided[at] for at in partitions if decided[at] < ends[at]}
    if not standing:
        return []
    data = broker.directory / "data"
    open_ones = _open(data)
    found = []
    for (topic, number), offset in standing.items():
        producer = _undecided(data, topic, number, offset)
        if producer is not None and (topic, number) not in open_ones.get(producer, set()):
            found.append(Hanging(topic, number, offset, producer))
    return found


def _undecided(data: Path, topic: str, partition: int, offset: int) -> int | None:
    """Whose transaction begins at an offset and has no end."""
    producer = None
    for batch in batches(data, topic, partition):
        if producer is None and batch.last >= offset and batch.is_transactional and not batch.is_marker:
            producer = batch.producer
        elif batch.is_marker and batch.producer == producer:
            return None
    return producer


def _open(data: Path) -> dict[int, set[tuple[str, int]]]:
    """The partitions in which producers have transactions that their coordinators know to be open."""
    found: dict[int, set[tuple[str, int]]] = {}
    for directory in data.glob(f"{_STATES}-*"):
        for batch in batches(data, _STATES, int(directory.name.rsplit("-", 1)[1])):
            if not batch.is_marker:
                for _, value in batch.records():
                    if value:
                        producer, partitions = _state(Reader(value))
                        found[producer] = partitions
    return found


def _state(reader: Reader) -> tuple[int, set[tuple[str, int]]]:
    """Whose state it is, and the partitions in which he has an open transaction."""
    version = reader.number(2)
    if version != 1:
        raise AssertionError(f"states of transactions are of version {version}, which nobody here can read")
    producer = reader.number(8)
    reader.take(2 + 4)  # epoch and timeout
    state = reader.number(1)
    return producer, set(_partitions(reader)) if state in _OPEN else set()


def _partitions(reader: Reader) -> Iterator[tuple[str, int]]:
    for _ in range(max(0, reader.unsigned() - 1)):
        topic = reader.take(reader.unsigned() - 1).decode()
        for _ in range(reader.unsigned() - 1):
            yield topic, reader.number(4)
        reader.unsigned()  # no more fields
