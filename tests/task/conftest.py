"""Small topologies of strings, and a task to run them in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millstream.config import StreamsConfig
from millstream.processors.operator import Operator
from millstream.serdes import Serdes
from millstream.task.task import Task
from millstream.topology.topology import Topology

STRINGS: dict[str, Any] = {"key": Serdes.string, "value": Serdes.string}


class Tap(Operator):
    """Writes down what passes, before and after its children have it."""

    def __init__(self, log: list[str]) -> None:
        self._log = log

    def process(self, key: Any, value: Any, timestamp: int, headers: Any) -> None:
        self._log.append(f"{self.name}<{value}")
        self.forward(key, value, timestamp, headers)
        self._log.append(f"{self.name}>{value}")


class Do(Operator):
    """Calls a function with the value and forwards its result."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def process(self, key: Any, value: Any, timestamp: int, headers: Any) -> None:
        self.forward(key, self._function(value), timestamp, headers)


class Harness:
    """A task and shorthands for its input and output."""

    def __init__(self, topology: Topology, **config: Any) -> None:
        self.config = StreamsConfig(**config)
        self.task = Task(topology, self.config)
        self._offsets: dict[str, int] = {}

    def add(
        self, topic: str, *records: tuple[str | None, str | None, int] | tuple[bytes | None, bytes | None, int]
    ) -> None:
        raw = []
        for key, value, timestamp in records:
            offset = self._offsets.get(topic, 0)
            self._offsets[topic] = offset + 1
            raw.append((_bytes(key), _bytes(value), timestamp, None, offset))
        self.task.add_records(topic, 0, raw)

    def values(self) -> list[str | None]:
        return [None if value is None else value.decode() for _, _, _, value, _, _ in self.task.take_outputs()]


def _bytes(data: str | bytes | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data


@pytest.fixture
def tap() -> type[Tap]:
    return Tap


@pytest.fixture
def do() -> type[Do]:
    return Do


@pytest.fixture
def harness() -> type[Harness]:
    return Harness


@pytest.fixture
def source() -> Callable[..., Topology]:
    """A topology that reads topics as strings in a node `source`."""

    def make(*topics: str, **options: Any) -> Topology:
        return Topology().add_source("source", *(topics or ("in",)), **STRINGS, **options)

    return make


@pytest.fixture
def sink() -> Callable[..., Topology]:
    """Add a node `sink` that writes strings to `out`."""

    def add(topology: Topology, *parents: str, topic: Any = "out", **options: Any) -> Topology:
        return topology.add_sink("sink", topic, *parents, **{**STRINGS, **options})

    return add


@pytest.fixture(params=["one by one", "all at once"])
def process(request: pytest.FixtureRequest) -> Callable[[Task], int]:
    """Both ways to process what is buffered; their results must be the same."""

    def one_by_one(task: Task) -> int:
        count = 0
        while task.process_next():
            count += 1
            task.maybe_punctuate_stream_time()
        return count

    return one_by_one if request.param == "one by one" else Task.process_all
