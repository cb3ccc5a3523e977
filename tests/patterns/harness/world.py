"""What a test of a pattern sends, what it sees, and what it knows of the pattern."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from millstream import StreamsBuilder, StreamsConfig

EXAMPLES = Path(__file__).parents[3] / "examples" / "patterns"

Part = Callable[[StreamsBuilder], None]


class Sent(NamedTuple):
    """An input record; values are JSON, bytes as they are, or None."""

    topic: str
    key: str
    value: Any

    @property
    def raw(self) -> bytes | None:
        return self.value if self.value is None or isinstance(self.value, bytes) else orjson.dumps(self.value)


class Row(NamedTuple):
    """A record of a topic."""

    key: str
    value: Any


@dataclass(frozen=True)
class Seen:
    """What is committed when everything is processed: records of topics in the order of each key, rows of stores."""

    topics: Mapping[str, Sequence[Row]]
    stores: Mapping[str, Mapping[str, Any]]

    def by_key(self, topic: str) -> dict[str, list[Any]]:
        """The values of each key of a topic, in their order."""
        found: dict[str, list[Any]] = {}
        for key, value in self.topics[topic]:
            found.setdefault(key, []).append(value)
        return found

    def latest(self, topic: str) -> dict[str, Any]:
        """The last value of each key, without those that were deleted."""
        return {key: values[-1] for key, values in self.by_key(topic).items() if values[-1] is not None}


def decoded(value: bytes | None) -> Any:
    """JSON, or text where it is none."""
    if value is None:
        return None
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value.decode()


def by_key(sent: Sequence[Sent], topic: str) -> dict[str, list[Any]]:
    """The values sent to each key of a topic, in their order."""
    found: dict[str, list[Any]] = {}
    for record in sent:
        if record.topic == topic:
            found.setdefault(record.key, []).append(record.value)
    return found


@dataclass(frozen=True)
class Pattern(ABC):
    """A pattern under test: the same input and the same check for the test driver and for Spark.

    Args:
        name: of its folder in examples/patterns.
        parts: what can be run as applications of their own.
        topics: those that are checked.
        stores: those that are checked.
        config: of its applications, where it matters.
    """

    name: str
    parts: tuple[Part, ...]
    topics: tuple[str, ...]
    stores: tuple[str, ...] = ()
    config: StreamsConfig = field(default_factory=StreamsConfig)

    @abstractmethod
    def inputs(self, chance: random.Random, count: int) -> list[Sent]:
        """About so many records, in an order in which they may come."""

    def is_finished(self, seen: Seen) -> bool:
        """Whether nothing will happen any more, not even by itself after a while."""
        return True

    @abstractmethod
    def check(self, sent: Sequence[Sent], seen: Seen) -> None:
        """The invariants."""

    @property
    def folder(self) -> Path:
        return EXAMPLES / self.name

    def __str__(self) -> str:
        return self.name
