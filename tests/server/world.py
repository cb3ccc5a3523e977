"""An application with all kinds of stores and keys, run by test drivers, and its views without a broker."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from millstream import (
    Consumed,
    Materialized,
    Serdes,
    SessionWindows,
    Stores,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    Topology,
)
from millstream.errors import NotReady
from millstream.kafka.partitioner import partition_for
from millstream.state.store import LogRecord
from millstream.store_files import TaskDirectory
from millstream.testing import TopologyTestDriver
from millstream.views.answers import Instance
from millstream.views.api import Views
from millstream.views.instance.announcements import Announcement, CopyState
from millstream.views.instance.copies import Copy, PartitionCopy, Records, Task
from millstream.views.instance.layout import Layout
from millstream.views.questions.asking import Asking
from millstream.views.questions.remote import Remote

APPLICATION = "shop"
MINUTE = 60_000
HOUR = timedelta(hours=1)
PARTITIONS = 2


@dataclass(frozen=True)
class Place:
    city: str
    number: int


def topology() -> Topology:
    """Counts by name, also in windows and sessions; tables with numbers, bytes, JSON and places as keys; versions."""
    builder = StreamsBuilder()
    events = builder.stream("events", Consumed(Serdes.string, Serdes.string)).group_by_key()
    events.count(materialized=_memory("counts"))
    windows = TimeWindows.of_size(timedelta(minutes=1), grace=timedelta(minutes=1))
    events.windowed_by(windows).count(materialized=_memory("windows", retention=HOUR))
    sessions = SessionWindows.of_inactivity_gap(timedelta(minutes=1), grace=timedelta(minutes=1))
    events.windowed_by(sessions).count(materialized=_memory("sessions", retention=HOUR))
    for name, serde in KEYS.items():
        builder.table(name, Consumed(serde, Serdes.json), _memory(name))
    versioned = Stores.persistent_versioned_key_value("versions", HOUR)
    builder.table("people", Consumed(Serdes.string, Serdes.string), Materialized(store=versioned))
    return builder.build()


KEYS: dict[str, Any] = {
    "numbers": Serdes.long,
    "prices": Serdes.double,
    "blobs": Serdes.bytes,
    "flags": Serdes.boolean,
    "ids": Serdes.uuid,
    "objects": Serdes.json,
    "places": Serdes.json(Place),
}


def _memory(name: str, **options: Any) -> Materialized:
    return Materialized(name, dsl_store="in_memory", **options)


class World:
    """Copies of the stores of an application, one for each partition, on as many instances as are asked for.

    Args:
        directory: where versioned stores may be.
    """

    def __init__(self, directory: Path) -> None:
        self.topology = topology()
        self.config = StreamsConfig(application_id=APPLICATION, statestore_cache_max_bytes=0)
        self._directory = directory
        self._drivers = [TopologyTestDriver(self.topology, self.config) for _ in range(PARTITIONS)]
        self._records: dict[tuple[str, int], list[LogRecord]] = {}
        for number, driver in enumerate(self._drivers):
            self._listen(number, driver)
        #: The instances that are alive, by name, with the partitions that each answers for.
        self.alive: dict[str, Announcement] = {}
        self._copies: list[Copy] = []

    def _listen(self, number: int, driver: TopologyTestDriver) -> None:
        take = driver._task.take_changes

        def noting() -> Any:
            changes = take()
            for name, changed in changes.items():
                self._records.setdefault((name, number), []).extend(driver.store(name).log_records(changed, 0))
            return changes

        driver._task.take_changes = noting  # type: ignore[method-assign]

    def put(self, topic: str, key: Any, value: Any, timestamp: int = 0) -> None:
        """A record of an input topic."""
        key_serde: Any = KEYS.get(topic, Serdes.string)
        value_serde: Any = Serdes.json if topic in KEYS else Serdes.string
        data = key_serde.serialize(key)
        self._drivers[partition_for(data, PARTITIONS)].pipe(topic, data, value_serde.serialize(value), timestamp)

    def views(
        self,
        name: str = "one",
        partitions: tuple[int, ...] = tuple(range(PARTITIONS)),
        *,
        port: int = 0,
        remote: Remote | None = None,
        max_rows: int = 100_000,
    ) -> Views:
        """An instance that answers for some partitions and has read up."""
        config = StreamsConfig(application_id=APPLICATION, state_dir=self._directory / name)
        instance = Instance(name, "127.0.0.1" if port else None, port)
        views = Views(self.topology, config, instance=instance, remote=remote, max_rows=max_rows)
        stores = tuple(views._stores.values())
        copies: dict[tuple[str, int], Copy] = {}
        for view in stores:
            for number in partitions:
                directory = TaskDirectory(self._directory / name / f"{view.sub_topology}_{number}")
                copy = PartitionCopy(view, number, directory, "", None)
                copy.owned = True
                records = self._records.get((view.name, number), [])
                if records:
                    copy.apply(number, Records(list(range(len(records))), records, []))
                copy.look(number, len(records), time.monotonic())
                copies[view.name, number] = copy
        self._copies.extend(copies.values())
        layout = Layout(stores, {view.topic: PARTITIONS for view in stores}, {})
        server: Any = _Server(layout, copies, self.alive)
        views._server = server
        views._asking = Asking(server, instance, remote, max_rows)
        tasks = {Task(view.sub_topology or 0, number).name for view in stores for number in partitions}
        self.alive[name] = Announcement(
            id=name,
            host=instance.host,
            port=port,
            sent_ms=0,
            owned=frozenset(tasks),
            copies={task: {view.name: CopyState(0, True) for view in stores} for task in tasks},
        )
        return views

    def stop_the_clock(self, views: Views) -> None:
        """Answers say from now on that they are 0 ms old, however long they take."""
        server: Any = views._server
        server.ahead = 3600.0
        server.look_now(views.local_copies().values())

    def close(self) -> None:
        """Close the copies and the drivers."""
        for copy in self._copies:
            copy.close()
        for driver in self._drivers:
            driver.close()


class _Server:
    """What views know of their copies and of others."""

    def __init__(self, layout: Layout, copies: dict[tuple[str, int], Copy], alive: Mapping[str, Announcement]) -> None:
        self.layout = layout
        self.reading = SimpleNamespace(copies=copies)
        self.members = SimpleNamespace(alive=alive)
        self.moving = False
        #: How many seconds the ends of changelogs are looked up in the future.
        self.ahead = 0.0

    def check(self) -> Layout:
        if self.moving:
            raise NotReady("partitions are on the move", hint="try again in a moment")
        return self.layout

    def look_now(self, copies: Any) -> None:
        for copy in copies:
            copy.look(
                copy.partition, copy.position().at(copy.view.topic, copy.partition), time.monotonic() + self.ahead
            )
