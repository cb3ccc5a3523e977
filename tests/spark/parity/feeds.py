"""Inputs made for comparing one task that sees everything with tasks that see a partition each."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Self

from millstream.kafka.partitioner import partition_for

PARTITIONS = 4
#: Three keys for each partition. They are also the first characters of values, so that records meet again by these.
KEYS = "abkdhnceifgo"
#: Further keys, one for each partition, that only move time on. Two sets in turn: no tick replaces the one before it.
_TICKS = ("mrjq", "ytps")
_ENDINGS = ("", "x", "T", "A2", "b", "xT", "1")


def partition_of(key: str) -> int:
    """Where Kafka's partitioner puts a key."""
    return partition_for(key.encode(), PARTITIONS)


_NEIGHBOURS = {key: [other for other in KEYS if partition_of(other) == partition_of(key)] for key in KEYS}


@dataclass(frozen=True)
class Input:
    """One record for an input topic."""

    topic: str
    key: str | None
    value: str | None
    timestamp: int
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @property
    def partition(self) -> int:
        """The partition it is written to."""
        return self.timestamp % PARTITIONS if self.key is None else partition_of(self.key)


class Feed:
    """Records in the order in which the driver is given them; timestamps never go back.

    Args:
        start: the first timestamp; not 0, which librdkafka takes for "now".
        step: how much later each record is than the one before. 0 lets all keys of a round have the same time, which
            is right for one topic without re-keying: then nothing depends on the order of different keys.
        headers: give records headers.
    """

    def __init__(self, start: int = 100, step: int = 1, *, headers: bool = False) -> None:
        self.phases: list[list[Input]] = [[]]
        self._time = start
        self._step = step
        self._headers = headers
        self._random = random.Random(start)
        self._count = 0
        self._ticks = 0

    def rounds(
        self,
        count: int,
        *topics: str,
        keys: str = KEYS,
        nulls: str = "",
        own: bool = False,
        letters: bool = False,
        pause: int = 0,
        values: dict[str, str] | None = None,
    ) -> Self:
        """In each round one record of every key for every topic, in random order.

        Args:
            count: how many rounds.
            topics: the topics.
            keys: the keys.
            nulls: the topics, separated by spaces, that also get records without a value.
            own: values start with a character that is a key of the record's own partition, so that records with a new
                key made of it come from one partition only, and keep their order without a repartition.
            letters: the same for all characters of values.
            pause: how much time passes after each round.
            values: what values start with, by key; otherwise any key.
        """
        for _ in range(count):
            places = [(topic, key) for topic in topics for key in keys]
            self._random.shuffle(places)
            for topic, key in places:
                first = values[key] if values else self._random.choice(_NEIGHBOURS[key] if own else KEYS)
                value = f"{first}{self._count % 10}{self._random.choice(_ENDINGS)}"
                if letters:
                    value = "".join(self._random.choices(_NEIGHBOURS[key], k=self._count % 4))
                gone = topic in nulls.split() and self._random.random() < 0.2
                self.one(topic, key, None if gone else value)
            self._time += pause
        return self

    def one(self, topic: str, key: str | None, value: str | None) -> Self:
        """One record."""
        headers: tuple[tuple[str, bytes | None], ...] = ()
        if self._headers and self._count % 3:
            headers = (("h", str(self._count).encode()), ("n", b""), ("n", None))
        self.phases[-1].append(Input(topic, key, value, self._time, headers))
        self._time += self._step
        self._count += 1
        return self

    def pause(self, milliseconds: int) -> Self:
        """Let time pass."""
        self._time += milliseconds
        return self

    def ticks(self, count: int, *topics: str, pause: int) -> Self:
        """After each pause, move time on to the same point in every partition, also of topics keyed by values."""
        for _ in range(count):
            self._time += pause
            keys = _TICKS[self._ticks % 2]
            self._ticks += 1
            for topic in topics:
                self.phases[-1] += [Input(topic, key, f"{key}{self._count}", self._time) for key in keys]
                self._time += 1
        return self

    def then(self) -> Self:
        """What follows is written when the application has processed all so far and stopped; it is started again."""
        self.phases.append([])
        return self

    @property
    def inputs(self) -> list[Input]:
        """All records."""
        return [record for phase in self.phases for record in phase]
