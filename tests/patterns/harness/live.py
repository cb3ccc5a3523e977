"""Patterns on a real broker and on Spark, whose lanes are killed while they work."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from confluent_kafka import Message
from tests.spark.conftest import processes_of_lanes
from tests.spark.crashes import wait_until

from millstream import StreamsBuilder, Topology
from millstream.kafka.admin import Admin
from millstream.spark.client import KafkaStreams
from millstream.topology.nodes import SourceNode

from .world import Part, Pattern, Row, Seen, decoded

_SECONDS = 120.0


def built(parts: Iterable[Part]) -> Topology:
    """One topology of several parts: a start of Spark's lanes for all of them."""
    builder = StreamsBuilder()
    for part in parts:
        part(builder)
    return builder.build()


class Live:
    """A running application, and what can be seen of it."""

    def __init__(
        self, streams: KafkaStreams, topology: Topology, application_id: str, admin: Admin,
        consume: Callable[..., list[Message]],
    ) -> None:  # fmt: skip
        self._streams = streams
        self._application_id = application_id
        self._admin = admin
        self._consume = consume
        sources = [node for node in topology.nodes.values() if isinstance(node, SourceNode)]
        between = topology.internal_topics.keys()
        topics = {topic for source in sources for topic in source.topics} - between
        self._inputs = self._places(topics | {f"{application_id}-{topic}" for topic in between})

    @property
    def commits(self) -> float:
        """How many batches are committed."""
        if self._streams.failure is not None:
            raise self._streams.failure
        return self._streams.metrics()["commit-total"]

    def kill_lanes(self) -> int:
        """Kill -9 all lanes of the application; answers how many there were."""
        found = processes_of_lanes(self._streams).values()
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return len(found)

    def wait_for_more_than(self, commits: float) -> None:
        """Until the application has committed something more than before."""
        wait_until(lambda: self.commits > commits, "another batch", _SECONDS)

    def wait_until_done(self) -> None:
        """Until everything is processed that was sent, and all that follows from it."""
        wait_until(self._is_done, f"the end of {self._application_id}'s work", _SECONDS)

    def seen_when_finished(self, pattern: Pattern) -> Seen:
        """What is committed when nothing will happen any more."""
        while True:
            commits = self.commits
            if pattern.is_finished(seen := self._seen(pattern)):
                return seen
            self.wait_for_more_than(commits)
            self.wait_until_done()

    def _seen(self, pattern: Pattern) -> Seen:
        topics = {
            topic: [Row((it.key() or b"").decode(), decoded(it.value())) for it in self._consume(topic)]
            for topic in pattern.topics
        }
        return Seen(topics, {store: self._rows(store) for store in pattern.stores})

    def _places(self, topics: Iterable[str]) -> list[tuple[str, int]]:
        counts = self._admin.require_topics(sorted(topics))
        return [(topic, number) for topic, count in counts.items() for number in range(count)]

    def _is_done(self) -> bool:
        if self._streams.failure is not None:
            raise self._streams.failure
        # Nothing was written while we looked, and all of it is committed as read: so nobody is at work on anything.
        before = self._admin.end_offsets(self._inputs, committed=False)
        read = self._admin.committed_offsets(self._inputs, self._application_id)
        return before == self._admin.end_offsets(self._inputs, committed=False) and all(
            read.get(at, 0) >= end for at, end in before.items()
        )

    def _rows(self, store: str) -> Mapping[str, Any]:
        """All rows of a store, over HTTP, when the view has everything there is."""
        answer: dict[str, Any] = {}
        connection = http.client.HTTPConnection(str(self._streams.url).removeprefix("http://"), timeout=60)

        def is_fresh() -> bool:
            connection.request("GET", f"/stores/{store}/keys")
            response = connection.getresponse()
            answer.update(json.loads(response.read()))
            return response.status == 200 and self._is_fresh(answer["position"])

        try:
            wait_until(is_fresh, f"a fresh view of {store}", _SECONDS)
        finally:
            connection.close()
        return {row["key"]: row["value"] for row in answer["rows"]}

    def _is_fresh(self, positions: Mapping[str, Mapping[str, int]]) -> bool:
        ends = self._admin.end_offsets(self._places(positions), committed=True)
        return all(positions[topic].get(str(number), 0) >= end for (topic, number), end in ends.items())
