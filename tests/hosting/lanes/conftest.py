"""Lanes in threads of the test, on the real broker."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator

import pytest

from millstream import StreamsConfig, Topology
from millstream.hosting.lanes.lane import Lane
from millstream.hosting.lanes.messages import Close, Event, Failed, Figures, Order, Ready, Run, Stop, Stopped
from millstream.hosting.lanes.notes import slots_topic
from millstream.hosting.lanes.preparing import prepare
from millstream.hosting.lanes.settings import LaneSettings
from millstream.kafka.admin import Admin
from millstream.kafka.detached import DetachedBroker

_SECONDS = 60.0


def until(condition: Callable[[], object], seconds: float = _SECONDS) -> None:
    """Wait for something."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not come")
        time.sleep(0.02)


class LaneThread:
    """A lane that runs in a thread, and what it has told."""

    def __init__(self, settings: LaneSettings) -> None:
        self.events: list[Event | Ready] = []
        self.lane = Lane(settings, self.events.append)
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.lane.run()
        except BaseException as error:
            self.failure = error

    def close(self) -> None:
        self.lane.order(Close())
        self._thread.join(_SECONDS)

    def figures(self, query: str) -> Figures | None:
        """The last figures of a query."""
        found = [event for event in self.events if isinstance(event, Figures) and event.query == query]
        return found[-1] if found else None


class LaneService:
    """The lanes of a service."""

    def __init__(self, servers: str, admin: Admin) -> None:
        self.name = f"service-{uuid.uuid4().hex[:8]}"
        self.config = StreamsConfig(
            application_id=self.name,
            bootstrap_servers=servers,
            processing_guarantee="exactly_once_v2",
            statestore_cache_max_bytes=0,
            dsl_store="in_memory",
        )
        self.admin = admin
        self.lanes: list[LaneThread] = []
        self._queries: list[Order] = []
        admin.ensure_topic(slots_topic(self.name))

    def start(self, *, is_application: bool = False) -> LaneThread:
        """One lane more."""
        lane = LaneThread(LaneSettings(self.config, self.name, f"lane-{len(self.lanes)}", is_application))
        self.lanes.append(lane)
        for order in self._queries:
            lane.lane.order(order)
        return lane

    def run(self, query_id: str, topology: Topology, **options: object) -> None:
        """Have all lanes run a query."""
        from dataclasses import replace

        config = replace(self.config, application_id=f"{self.name}-{query_id}", **options)  # type: ignore[arg-type]
        self.order(Run(prepare(query_id, topology, config, self.admin)))

    def order(self, order: Order) -> None:
        self._queries.append(order)
        for lane in self.lanes:
            lane.lane.order(order)

    def stop(self, query_id: str) -> None:
        """End a query for good."""
        self.order(Stop(query_id, for_good=True))
        for lane in self.lanes:
            until(lambda lane=lane: Stopped(query_id) in lane.events)  # type: ignore[misc]

    def failures(self, query_id: str) -> list[Failed]:
        return [
            event
            for lane in self.lanes
            for event in lane.events
            if isinstance(event, Failed) and event.query == query_id
        ]

    def close(self) -> None:
        for lane in self.lanes:
            lane.close()


@pytest.fixture
def lanes(broker: DetachedBroker, admin: Admin) -> Iterator[LaneService]:
    service = LaneService(broker.bootstrap_servers, admin)
    yield service
    service.close()
    assert [lane.failure for lane in service.lanes if lane.failure is not None] == []
