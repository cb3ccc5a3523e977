"""An application that has all kinds of stores, run by test drivers, one for each partition, and its changelogs."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial
from typing import Any

from confluent_kafka import Producer

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
from millstream.changelogs import changelogs_of, new_topics
from millstream.kafka.admin import Admin
from millstream.kafka.partitioner import partition_for
from millstream.kafka.topics import NewTopic
from millstream.testing import TopologyTestDriver
from millstream.views.api import Views
from millstream.views.instance.progress import Progress

TEXT = Consumed(Serdes.string, Serdes.string)
MINUTE = timedelta(minutes=1)
#: Recent, so that brokers do not delete what is in windowed changelogs.
BASE = int(time.time() * 1000) // 3_600_000 * 3_600_000
KEYS = [f"key-{number}" for number in range(40)]


def topology(rates: str = "rates") -> Topology:
    """Events are counted, in windows and sessions, in memory and on disk; people are a versioned table."""
    builder = StreamsBuilder()
    events = builder.stream("events", TEXT).group_by_key()
    events.count(materialized=Materialized("counts"))
    events.count(materialized=Materialized("memory-counts", dsl_store="in_memory"))
    windows = TimeWindows.of_size(MINUTE, grace=MINUTE)
    events.windowed_by(windows).count(materialized=Materialized("windows", retention=timedelta(minutes=10)))
    events.windowed_by(windows).count(
        materialized=Materialized("memory-windows", retention=timedelta(minutes=10), dsl_store="in_memory")
    )
    sessions = SessionWindows.of_inactivity_gap(timedelta(seconds=20), grace=MINUTE)
    events.windowed_by(sessions).count(materialized=Materialized("sessions", retention=timedelta(minutes=10)))
    events.windowed_by(sessions).count(
        materialized=Materialized("memory-sessions", retention=timedelta(minutes=10), dsl_store="in_memory")
    )
    builder.table(
        "people", TEXT, Materialized(store=Stores.persistent_versioned_key_value("versions", timedelta(minutes=5)))
    )
    builder.global_table(rates, TEXT, Materialized("rates"))
    return builder.build()


def counting() -> Topology:
    """Only counts."""
    builder = StreamsBuilder()
    builder.stream("events", TEXT).group_by_key().count(materialized=Materialized("counts"))
    return builder.build()


class World:
    """Test drivers, and the changelogs that they would write.

    Args:
        made: the topology.
        config: its configuration.
        admin: makes the topics.
        partitions: how many partitions there are.
    """

    rates = ""

    def __init__(self, made: Topology, config: StreamsConfig, admin: Admin, partitions: int) -> None:
        self.topology, self.config, self.partitions = made, config, partitions
        self.drivers = [_driver(made) for _ in range(partitions)]
        self.one = _driver(made)  # what a single task would have
        self._changelogs = changelogs_of(made, config.application_id)
        counts = {changelog.sub_topology: partitions for changelog in self._changelogs.values()}
        admin.create_topics(new_topics(self._changelogs, made, config, counts))
        self._records: list[tuple[str, int, bytes, bytes | None, int]] = []
        for number, driver in enumerate(self.drivers):
            self._listen(number, driver)
        self.producer = Producer(
            {
                "bootstrap.servers": config.bootstrap_servers,
                "transactional.id": f"{config.application_id}-test",
                "linger.ms": 0,
            }
        )
        self.producer.init_transactions(30)

    def _listen(self, number: int, driver: TopologyTestDriver) -> None:
        take = driver._task.take_changes

        def noting() -> Any:
            changes = take()
            for name, changed in changes.items():
                for key, value, timestamp in driver.store(name).log_records(changed, BASE):
                    self._records.append((self._changelogs[name].topic, number, key, value, timestamp))
            return changes

        driver._task.take_changes = noting  # type: ignore[method-assign]

    def pipe(self, topic: str, key: str, value: str | None, timestamp: int) -> int:
        """Process a record where it belongs; returns the partition."""
        data = key.encode()
        number = partition_for(data, self.partitions)
        for driver in (self.drivers[number], self.one):
            driver.pipe(topic, data, None if value is None else value.encode(), timestamp)
        return number

    def take(self) -> list[tuple[str, int, bytes, bytes | None, int]]:
        """The changelog records since the last call."""
        taken, self._records = self._records, []
        return taken

    def write(self, records: Iterable[tuple[str, int, bytes, bytes | None, int]], *, commit: bool = True) -> None:
        """Write records to changelogs, in one transaction."""
        self.producer.begin_transaction()
        for topic, partition, key, value, timestamp in records:
            self.producer.produce(topic, value, key, partition, timestamp=timestamp)
            self.producer.poll(0)
        if commit:
            self.producer.commit_transaction(30)
        else:
            self.producer.abort_transaction(30)

    def close(self) -> None:
        """Close the drivers."""
        for driver in (*self.drivers, self.one):
            driver.close()


def make_inputs(admin: Admin, names: Iterable[str], partitions: int) -> None:
    """Create topics."""
    admin.create_topics([NewTopic(name, partitions) for name in names])


def play(world: World, seed: int, count: int = 400, start: int = 0) -> None:
    """Some life: events and people over twelve minutes, so that the oldest windows expire."""
    chance = random.Random(seed)
    for step in range(count):
        now = BASE + start + step * 1800 + chance.randrange(-30_000, 30_000)
        now = max(now, BASE)
        world.pipe("events", chance.choice(KEYS), "x", now)
        if step % 3 == 0:
            world.pipe("people", chance.choice(KEYS), chance.choice(["Ann", "Bob", "Cem", None]), now)


def _driver(made: Topology) -> TopologyTestDriver:
    return TopologyTestDriver(made, StreamsConfig(statestore_cache_max_bytes=0), wall_clock_start=BASE)


def wait_until(happened: Callable[[], bool], seconds: float = 60, what: str = "it") -> None:
    """Wait for something."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"{what} has not happened after {seconds} seconds"
        time.sleep(0.02)


def settle(instances: Iterable[Views], world: World, admin: Admin) -> None:
    """Wait until copies have everything that was written. A commit is seen a little after it was made."""
    for views in instances:
        for copy in list(views.local_copies().values()):
            ends = admin.end_offsets([(copy.view.topic, number) for number in copy.progress], committed=False)
            for (topic, number), end in ends.items():
                wait_until(partial(_is_at, copy.progress[number], end), what=f"position {end} of {topic}-{number}")


def _is_at(progress: Progress, end: int) -> bool:
    return progress.position >= end
