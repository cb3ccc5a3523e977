"""What a topology's outputs are, from the driver and from Kafka, and how they differ."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import zip_longest
from typing import Any, NamedTuple

from millstream import StreamsConfig, Topology
from millstream.kafka.partitioner import partition_for
from millstream.testing import TopologyTestDriver
from millstream.testing.conformance.operators.handles import Scope
from millstream.testing.conformance.operators.types import KeyKind, read_as

from .feeds import PARTITIONS, Input


class Output(NamedTuple):
    """One record of an output topic."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: tuple[tuple[str, bytes | None], ...]


def run_driver(topology: Topology, config: StreamsConfig, inputs: Iterable[Input]) -> list[Output]:
    """What the test driver makes of records."""
    with TopologyTestDriver(topology, config, wall_clock_start=0) as driver:
        for record in inputs:
            key, value = (None if text is None else text.encode() for text in (record.key, record.value))
            driver.pipe(record.topic, key, value, record.timestamp, list(record.headers))
        internal = driver.internal_topics
        return [
            Output(sent.topic, sent.key, sent.value, sent.timestamp, tuple(sent.headers or ()))
            for sent in driver.take_outputs()
            if sent.topic not in internal
        ]


def differences(
    expected: Iterable[Output],
    got: Iterable[tuple[Output, int]],
    scope: Scope,
    blur: str | None = None,
    *,
    partitions: int = PARTITIONS,
) -> list[str]:
    """How outputs differ, per topic and key: first what was expected, then what came.

    Records of a windowed key count as records of the key inside it, so that the order of its windows is compared too.
    Records without a key have no order.

    Args:
        expected: the driver's.
        got: Kafka's, with their partitions.
        scope: tells the types of keys and values.
        blur: what to leave out of the texts of values.
        partitions: how many partitions the topics have.
    """
    got = list(got)
    found = [
        f"{output.topic}: {_shown(output, scope)} is in partition {partition}, Kafka would put it into {right}"
        for output, partition in got
        if output.key is not None and partition != (right := partition_for(_plain(output, scope), partitions))
    ]
    wanted = _by_key(expected, scope, blur)
    came = _by_key((output for output, _ in got), scope, blur)
    for place in sorted(wanted.keys() | came.keys(), key=repr):
        for number, (want, have) in enumerate(zip_longest(wanted[place], came[place])):
            if want != have:
                found.append(
                    f"{place[0]} {place[1]!r}: record {number} of {len(wanted[place])} (got {len(came[place])}): "
                    f"expected {want}, got {have}"
                )
                break
    return found


def _by_key(outputs: Iterable[Output], scope: Scope, blur: str | None) -> dict[tuple[str, bytes | None], list[str]]:
    found: dict[tuple[str, bytes | None], list[str]] = defaultdict(list)
    for output in outputs:
        key = None if output.key is None else _plain(output, scope)
        found[output.topic, key].append(_shown(output, scope, blur))
    for (_, key), records in found.items():
        if key is None:
            records.sort()
    return found


def _plain(output: Output, scope: Scope) -> bytes:
    """The key inside a windowed key, or the key."""
    key = output.key or b""
    for kind, _ in scope.written_to(output.topic):
        if kind.fits(key):
            return key[: {KeyKind.PLAIN: len(key), KeyKind.TIME_WINDOWED: -8, KeyKind.SESSION_WINDOWED: -16}[kind.kind]]
    return key


def _shown(output: Output, scope: Scope, blur: str | None = None) -> str:
    types = scope.written_to(output.topic)
    key: Any = read_as([key for key, _ in types], output.key)
    value: Any = read_as([value for _, value in types], output.value)
    if blur and isinstance(value, str):
        value = re.sub(blur, "", value)
    if isinstance(key, dict) and "start" in key:
        key = f"{key['key']}[{key['start']}/{key['end']}]"
    headers = f" {[(name, text) for name, text in output.headers]}" if output.headers else ""
    return f"{key}={value!r}@{output.timestamp}{headers}"
