"""Topics: what there is, their last records, groups that read them, and a record to try."""

from __future__ import annotations

import time
from typing import Any

from millstream.console.kafka.looking import Looking
from millstream.console.kafka.shown import data_of, record_json
from millstream.kafka.admin import Partition
from millstream.registry.schemas import SchemaRegistry
from millstream.server.problems import BadRequest, Problem
from millstream.sql.engine.topics import TopicRecord, Topics

MOST_RECORDS = 500
MOST_FOLLOWED = 200


def topics_json(looking: Looking, prefix: str) -> list[dict[str, Any]]:
    """All topics; those of the service itself, and Kafka's own, are marked."""
    return [
        {"name": name, "partitions": count, "internal": name.startswith(("__", prefix))}
        for name, count in looking.topics().items()
    ]


def topic_json(looking: Looking, name: str) -> dict[str, Any]:
    """A topic and its partitions."""
    bounds = looking.bounds(_partitions(looking, name))
    return {
        "name": name,
        "partitions": [{"partition": at[1], "begin": begin, "end": end} for at, (begin, end) in sorted(bounds.items())],
    }


def groups_json(looking: Looking, name: str) -> list[dict[str, Any]]:
    """The groups that read a topic, and how far behind they are."""
    bounds = looking.bounds(_partitions(looking, name))
    return [
        {
            "name": group.name,
            "state": group.state,
            "partitions": [
                {"partition": number, "position": at, "lag": max(0, bounds[name, number][1] - at)}
                for number, at in sorted(group.positions.items())
                if (name, number) in bounds
            ],
        }
        for group in looking.groups(name)
    ]


def records_json(
    looking: Looking,
    name: str,
    registry: SchemaRegistry | None,
    *,
    partition: int | None,
    offset: int | None,
    count: int,
) -> list[dict[str, Any]]:
    """Records of a topic, the newest first; with an offset those from there on, in their order.

    Args:
        looking: asks Kafka.
        name: the topic.
        registry: where schemas are.
        partition: only of this one.
        offset: where to begin; the last records unless given.
        count: how many of each partition at most; a single one is shown whole.
    """
    if not 1 <= count <= MOST_RECORDS:
        raise BadRequest(f"a number of records from 1 to {MOST_RECORDS}", detail=f"it is {count}")
    found = last_records(looking, name, partition=partition, offset=offset, count=count)
    found.sort(key=lambda record: (record.timestamp, record.partition, record.offset), reverse=offset is None)
    return [record_json(record, registry, whole=count == 1) for record in found[:count]]


def following_json(
    looking: Looking, name: str, registry: SchemaRegistry | None, after: dict[int, int] | None
) -> dict[str, Any]:
    """What has come to a topic since somebody looked: records, where to go on, and how many came in all.

    Of many, only the last are told: more could not be read anyway.

    Args:
        looking: asks Kafka.
        name: the topic.
        registry: where schemas are.
        after: where to begin, by partition; at the end unless given, so that nothing has come yet.
    """
    bounds = looking.bounds(_partitions(looking, name))
    ends = {at[1]: end for at, (_, end) in bounds.items()}
    begins = {number: max((after or ends).get(number, 0), bounds[name, number][0]) for number in ends}
    ranges = {
        (name, number): (max(begins[number], end - MOST_FOLLOWED), end)
        for number, end in ends.items()
        if begins[number] < end
    }
    found = sorted(
        looking.records(ranges) if ranges else [],
        key=lambda record: (record.timestamp, record.partition, record.offset),
        reverse=True,
    )
    return {
        "records": [record_json(record, registry) for record in found[:MOST_FOLLOWED]],
        "after": {str(number): end for number, end in ends.items()},
        "count": sum(max(0, end - begins[number]) for number, end in ends.items()),
    }


def last_records(
    looking: Looking, name: str, *, partition: int | None = None, offset: int | None = None, count: int
) -> list[TopicRecord]:
    """The last records of each partition, or those from an offset on."""
    wanted = [at for at in _partitions(looking, name) if partition is None or at[1] == partition]
    if not wanted:
        raise Problem(404, "UnknownPartition", f"topic {name} has no partition {partition}")
    ranges = {}
    for at, (begin, end) in looking.bounds(wanted).items():
        first = max(begin, end - count) if offset is None else max(begin, offset)
        ranges[at] = (first, min(end, first + count))
    return looking.records(ranges)


def produce(topics: Topics, name: str, given: Any) -> None:
    """Write a record.

    Args:
        topics: the topics of the cluster.
        name: the topic.
        given: `key` and `value`, see `data_of`, and `headers`, pairs of names and texts.
    """
    if topics.describe(name) is None:
        raise _unknown(name)
    if not isinstance(given, dict):
        raise BadRequest("a record is an object with key, value and headers")
    topics.write(
        TopicRecord(
            name,
            data_of(given.get("key")),
            data_of(given.get("value")),
            int(time.time() * 1000),
            headers_of(given.get("headers") or []),
        )
    )


def headers_of(given: Any) -> tuple[tuple[str, bytes | None], ...]:
    """Headers that a client wants to write."""
    headers: list[tuple[str, bytes | None]] = []
    for pair in given if isinstance(given, list) else [given]:
        match pair:
            case [str(name), None]:
                headers.append((name, None))
            case [str(name), str(text)]:
                headers.append((name, text.encode(errors="replace")))
            case _:
                raise BadRequest("headers are pairs of a name and a text")
    return tuple(headers)


def _partitions(looking: Looking, name: str) -> list[Partition]:
    count = looking.topics().get(name)
    if count is None:
        raise _unknown(name)
    return [(name, number) for number in range(count)]


def _unknown(name: str) -> Problem:
    return Problem(404, "UnknownTopic", f"there is no topic {name}")
