"""Records on their way from one part of a topology to the next: many of them in one message of Kafka's.

A message costs both clients and the broker far more than what is in it. So what a task has for one partition of a
repartition topic at a commit goes as a few bundles. A record that is alone, or large, is a message as any other.

A task must be able to stop in the middle of a bundle, when it waits for another input. So the records of such a topic
have *places* instead of offsets. They grow by one from record to record within a message, and the first place of a
message is its offset times `MOST`; counted from behind, so that the last record of a message, however many there are,
is followed by the next message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, repeat
from operator import itemgetter

import msgspec

from millstream.config import StreamsConfig, client_properties
from millstream.errors import StateStoreError
from millstream.hosting.task_changes import LEAST_TIME
from millstream.kafka.partitioner import partition_many
from millstream.task.records import OutputRecord, RawHeaders, RawRecord

#: More records than this are never in one message.
MOST = 1_000_000
#: A bundle is full with so many records, or bytes: far below what any broker takes.
_FULL = 1_000
_FULL_BYTES = 65_536
#: What a message with a bundle in it has as its headers, and nothing else has.
_MARK: RawHeaders = [("__millstream.bundle", b"\x01")]

_TOPIC = itemgetter(0)


class Bundle(msgspec.Struct, array_like=True, frozen=True):
    """Columns of records; `headers` is None if no record has some."""

    keys: list[bytes | None]
    values: list[bytes | None]
    times: list[int]
    headers: list[list[tuple[str, bytes | None]] | None] | None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Bundle).decode


# --- places


def place_of(offset: int, left: int) -> int:
    """The place to go on from: the message, and how many of its records are left; 0 if it was not begun.

    >>> place_of(7, 0), place_of(7, 2)
    (7000000, 7999998)
    """
    return (offset + 1) * MOST - left if left else offset * MOST


def offset_at(place: int) -> tuple[int, int]:
    """The message that a place is in, and how many of its records are left; 0 if it was not begun.

    >>> offset_at(7_000_000), offset_at(7_999_998)
    ((7, 0), (7, 2))
    """
    offset, inside = divmod(place, MOST)
    return offset, MOST - inside if inside else 0


# --- writing


def bundle_bytes(config: StreamsConfig) -> int:
    """How many bytes a bundle may have: half of what the user lets topics or the producer take, if that is less.

    >>> bundle_bytes(StreamsConfig(client={"topic.max.message.bytes": 20_000}))
    10000
    """
    topic, producer = client_properties(config, "topic"), client_properties(config, "producer")
    given = (topic.get("max.message.bytes"), producer.get("message.max.bytes"))
    return min([_FULL_BYTES, *(int(limit) // 2 for limit in given if limit is not None)])


def pack(
    records: Sequence[OutputRecord], counts: Mapping[str, int], spread: int, most_bytes: int = _FULL_BYTES
) -> list[OutputRecord]:
    """Put records for some topics into bundles; all others are as they were.

    Args:
        records: the records; those of one partition stay in their order.
        counts: the topics, and how many partitions they have.
        spread: where records without a key go, of all partitions; another number each time.
        most_bytes: see `bundle_bytes`.
    """
    packed: list[OutputRecord] = []
    between: dict[str, list[OutputRecord]] = {}
    for topic, found in groupby(records, key=_TOPIC):
        (between.setdefault(topic, []) if topic in counts else packed).extend(found)
    for topic, kept in between.items():
        for partition, own in _by_partition(kept, counts[topic], spread).items():
            packed += _messages(topic, partition, own, most_bytes)
    return packed


def _by_partition(records: list[OutputRecord], count: int, spread: int) -> dict[int, list[OutputRecord]]:
    found: dict[int, list[OutputRecord]] = {}
    for partition, record in zip(partition_many([record[2] for record in records], count), records, strict=True):
        if record[1] is not None:
            partition = record[1]
        elif record[2] is None:
            partition = spread % count
        own = found.get(partition)
        if own is None:
            own = found[partition] = []
        own.append(record)
    return found


def _messages(topic: str, partition: int, records: list[OutputRecord], most_bytes: int) -> Iterator[OutputRecord]:
    for start in range(0, len(records), _FULL):
        yield from _bundled(topic, partition, records[start : start + _FULL], most_bytes)


def _bundled(topic: str, partition: int, records: list[OutputRecord], most_bytes: int) -> Iterator[OutputRecord]:
    """One message, or if that is too large, those of each half."""
    if len(records) == 1:
        _, _, key, value, timestamp, headers = records[0]
        yield topic, partition, key, value, timestamp, headers
        return
    _, _, keys, values, times, headers_of = zip(*records, strict=True)
    bundle = _encode((keys, values, times, headers_of if any(headers_of) else None))
    if len(bundle) <= most_bytes:
        yield topic, partition, None, bundle, max(*times, LEAST_TIME), _MARK
        return
    half = len(records) // 2
    yield from _bundled(topic, partition, records[:half], most_bytes)
    yield from _bundled(topic, partition, records[half:], most_bytes)


# --- reading


def unpack(messages: Sequence[RawRecord], start: int) -> list[RawRecord]:
    """The records in messages of one partition, with their places.

    Args:
        messages: as they were read.
        start: where the task went on: if that was inside a message, the records before it are left out.
    """
    records: list[RawRecord] = []
    for message in messages:
        key, value, timestamp, headers, offset = message
        after = (offset + 1) * MOST
        if headers != _MARK or value is None:
            records.append((key, value, timestamp, headers, after - 1))
            continue
        try:
            bundle = _decode(value)
        except msgspec.MsgspecError as error:
            raise StateStoreError(
                "a bundle of records in a repartition topic cannot be read",
                detail=f"offset {offset}: {error}",
                hint="something else than this application has written to the topic; see `millstream reset`",
            ) from error
        first = after - len(bundle.keys)
        found = zip(
            bundle.keys,
            bundle.values,
            bundle.times,
            repeat(None) if bundle.headers is None else bundle.headers,
            range(first, after),
            strict=False,
        )
        records += (record for record in found if record[4] >= start) if first < start < after else found
    return records
