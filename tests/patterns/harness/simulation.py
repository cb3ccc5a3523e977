"""Applications of a pattern in this process, which get their records at random moments."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import msgspec

from millstream import Headers, StreamsBuilder
from millstream.handlers import ProducedRecord
from millstream.testing import TopologyTestDriver
from millstream.topology.nodes import SourceNode

from .world import Part, Pattern, Row, Seen, Sent, decoded

#: Time goes on by as much now and then, and at the end until nothing happens any more.
_TICK = timedelta(seconds=2)
_TICK_PROBABILITY = 0.02
_QUIET_TICKS = 5
_START_MS = 1_000


class _Application:
    """A part of the pattern, with its place in each topic it reads."""

    def __init__(self, part: Part, pattern: Pattern, stack: ExitStack) -> None:
        builder = StreamsBuilder()
        part(builder)
        topology = builder.build()
        sources = [node for node in topology.nodes.values() if isinstance(node, SourceNode)]
        read = {topic for source in sources for topic in source.topics} - topology.internal_topics.keys()
        self.driver = stack.enter_context(TopologyTestDriver(topology, pattern.config, wall_clock_start=_START_MS))
        self.positions = dict.fromkeys(sorted(read), 0)


class Simulation:
    """Topics in memory, and applications each of which reads them at its own pace.

    Which application gets a record next, and of which of its topics, is chance; within a topic the order is kept.
    """

    def __init__(self, pattern: Pattern, chance: random.Random) -> None:
        self._pattern = pattern
        self._chance = chance
        self._stack = ExitStack()
        self._applications = [_Application(part, pattern, self._stack) for part in pattern.parts]
        self._topics: dict[str, list[ProducedRecord]] = {}
        self._clock = _START_MS

    def send(self, records: Sequence[Sent]) -> None:
        """Put records into their topics."""
        for topic, key, value in records:
            self._clock += 1
            record = ProducedRecord(topic, key.encode(), Sent(topic, key, value).raw, self._clock, Headers(), 0)
            self._topics.setdefault(topic, []).append(record)

    def run(self, *, without: int | None = None) -> None:
        """Go on until nothing is left to do. Time passes now and then; one of the parts may be away."""
        running = [it for number, it in enumerate(self._applications) if number != without]
        quiet = 0
        while quiet < _QUIET_TICKS:
            while self._step(running):
                quiet = 0
                if self._chance.random() < _TICK_PROBABILITY:
                    self._tick(running)
            self._tick(running)
            quiet += 1

    def seen(self) -> Seen:
        """What came of it."""
        topics = {
            topic: [Row((record.key or b"").decode(), decoded(record.value)) for record in self._topics.get(topic, [])]
            for topic in self._pattern.topics
        }
        return Seen(topics, {store: self._rows(store) for store in self._pattern.stores})

    def records(self, topic: str) -> list[ProducedRecord]:
        """The records of a topic as they are."""
        return self._topics.get(topic, [])

    def close(self) -> None:
        """Close all applications."""
        self._stack.close()

    def _step(self, running: Sequence[_Application]) -> bool:
        ready = [
            (application, topic)
            for application in running
            for topic, position in application.positions.items()
            if position < len(self._topics.get(topic, ()))
        ]
        if not ready:
            return False
        application, topic = self._chance.choice(ready)
        record = self._topics[topic][application.positions[topic]]
        application.positions[topic] += 1
        application.driver.pipe(topic, record.key, record.value, record.timestamp, list(record.headers))
        self._collect(application)
        return True

    def _tick(self, running: Sequence[_Application]) -> None:
        for application in running:
            application.driver.advance_wall_clock(_TICK)
            self._collect(application)

    def _collect(self, application: _Application) -> None:
        for record in application.driver.take_outputs():
            self._topics.setdefault(record.topic, []).append(record)

    def _rows(self, store: str) -> dict[str, Any]:
        (driver,) = (it.driver for it in self._applications if store in it.driver.stores)
        return {key: msgspec.to_builtins(value) for key, value in driver.key_value_store(store).all()}


def simulate(pattern: Pattern, sent: Sequence[Sent], chance: random.Random) -> Seen:
    """Send everything, have it processed in some order, and answer what came of it."""
    simulation = Simulation(pattern, chance)
    try:
        simulation.send(sent)
        simulation.run()
        seen = simulation.seen()
        assert pattern.is_finished(seen)
        return seen
    finally:
        simulation.close()
