"""The engine's own stores in reserve: buffers of joins and of suppress, subscriptions, in one task."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from millstream import (
    BufferConfig,
    Consumed,
    Grouped,
    Joined,
    JoinWindows,
    Materialized,
    Serdes,
    Stores,
    StreamsBuilder,
    StreamsConfig,
    Suppressed,
    TimeWindows,
    Topology,
)
from millstream.hosting.context import NO_THROTTLE, PlacedContext
from millstream.hosting.lanes.query import HostedQuery, HostedTaskId
from millstream.hosting.lanes.standing_by.places import Place
from millstream.hosting.lanes.standing_by.standby import Standby, Warm
from millstream.hosting.task_changes import change_records, clocks_of, redo, set_clocks
from millstream.hosting.task_note import TaskNote
from millstream.kafka.admin import Partition
from millstream.task.context import host_context
from millstream.task.records import OutputRecord, RawRecord
from millstream.task.task import Task

TEXTS = Consumed(Serdes.string, Serdes.string)
SECONDS = timedelta(seconds=1)
Logs = dict[Partition, list[RawRecord]]


def suppressing() -> Topology:
    builder = StreamsBuilder()
    windows = TimeWindows.of_size(5 * SECONDS, grace=2 * SECONDS)
    counts = builder.stream("a", TEXTS).group_by_key(Grouped(Serdes.string, Serdes.string)).windowed_by(windows).count()
    counts.suppress(Suppressed.until_window_closes(BufferConfig.unbounded())).to_stream(lambda key, value: key.key).to(
        "out"
    )
    return builder.build()


def joining() -> Topology:
    builder = StreamsBuilder()
    left, right = builder.stream("a", TEXTS), builder.stream("b", TEXTS)
    windows = JoinWindows.of_time_difference(3 * SECONDS, grace=2 * SECONDS)
    left.outer_join(right, lambda one, two: f"{one}{two}", windows).to("out")
    return builder.build()


def with_grace() -> Topology:
    builder = StreamsBuilder()
    table = builder.table("b", TEXTS, Materialized(store=Stores.persistent_versioned_key_value("t", 20 * SECONDS)))
    joined = Joined(Serdes.string, Serdes.string, Serdes.string, grace=4 * SECONDS)
    builder.stream("a", TEXTS).join(table, lambda one, two: f"{one}{two}", joined).to("out")
    return builder.build()


def by_foreign_key() -> Topology:
    builder = StreamsBuilder()
    left, right = builder.table("a", TEXTS), builder.table("b", TEXTS)
    left.join(right, lambda one, two: f"{one}{two}", foreign_key=lambda value: value).to_stream().to("out")
    return builder.build()


def records(random: Random, first: int, count: int) -> list[tuple[str, RawRecord]]:
    found: list[tuple[str, RawRecord]] = []
    for number in range(first, first + count):
        value = random.choice((b"a", b"b", b"c", None))
        timestamp = max(1, number * 300 + random.randrange(-3000, 3000))
        found.append((random.choice("ab"), (random.choice((b"a", b"b", b"c")), value, timestamp, None, number)))
    return found


class Host:
    """A task that runs, and its changelogs."""

    def __init__(self, query: HostedQuery, task: HostedTaskId, directory: Path, restore: Any = None) -> None:
        self.id = task
        context = host_context(query.config, task.name, PlacedContext, defaults=NO_THROTTLE)
        context.state_directory = directory
        options: dict[str, Any] = {"task_id": task.name, "nodes": task.nodes, "context": context, "restore": restore}
        self.task = Task(query.topology, query.config, **options)
        self.stores = self.task.state_stores
        self.logs = {name: log for name, log in query.changelogs.items() if log.sub_topology == task.sub_topology}
        self.log: Logs = {(log.topic, 0): [] for log in self.logs.values()}

    def commit(self) -> list[OutputRecord]:
        """Process, and commit; answers what was written."""
        self.task.process_all()
        self.task.commit(until_clean=True)
        changes, time = self.task.take_changes(), self.task.context.stream_time
        for topic, _, key, value, timestamp, headers in change_records(self.logs, 0, self.stores, changes, time):
            log = self.log[topic, 0]
            log.append((key, value, timestamp, headers, len(log)))
        return self.task.take_outputs()

    def note(self) -> TaskNote:
        return TaskNote(1, self.task.save(), clocks_of(self.logs, self.stores), {})

    def rows(self) -> dict[str, dict[bytes, bytes]]:
        return {name: dict(self.stores[name].snapshot()) for name in self.logs}


class Application:
    """All tasks of a topology, and the topics between them."""

    def __init__(self, hosts: list[Host]) -> None:
        self.hosts = hosts
        self._offsets: dict[str, int] = {}

    def run(self, given: list[tuple[str, RawRecord]]) -> list[OutputRecord]:
        """Have records processed until nothing is left between tasks."""
        out: list[OutputRecord] = []
        while given:
            for topic, record in given:
                for host in self.hosts:
                    if (topic, 0) in host.id.inputs:
                        host.task.add_records(topic, 0, [record])
            written = [record for host in self.hosts for record in host.commit()]
            out += written
            given = [(record[0], self._record(record)) for record in written if record[0] != "out"]
        return out

    def _record(self, record: OutputRecord) -> RawRecord:
        topic, _, key, value, timestamp, headers = record
        self._offsets[topic] = offset = self._offsets.get(topic, -1) + 1
        return (key, value, timestamp, headers, offset)

    def close(self) -> None:
        for host in self.hosts:
            host.task.close(flush=False)


def restoring(host: Host, note: TaskNote, positions: Mapping[Partition, int], warm: Warm | None) -> Any:
    def restore(found: Any) -> bytes:
        if warm is not None:
            warm.pour(found)
        for name, log in host.logs.items():
            redo(found[name], host.log[log.topic, 0][positions.get((log.topic, 0), 0) :])
        set_clocks(host.logs, found, note)
        return note.progress

    return restore


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("made", [suppressing, joining, with_grace, by_foreign_key])
@pytest.mark.parametrize("stores", ["rocksdb", "in_memory"])
def test_a_task_goes_on_as_if_it_had_read_everything(tmp_path: Path, made: Any, stores: Any, seed: int) -> None:
    random = Random(seed)
    config = StreamsConfig(
        application_id="app",
        default_key_serde=Serdes.string,
        default_value_serde=Serdes.string,
        dsl_store=stores,
        statestore_memory_max_bytes=random.choice((0, 600, 1 << 20)),
    )
    topology = made()
    internal = {f"app-{name}": 1 for name in topology.internal_topics}
    query = HostedQuery("q", topology, config, {"a": 1, "b": 1, **internal}, {})
    first = Application([Host(query, task, tmp_path / "first" / task.name) for task in query.tasks])
    standbys = [Standby(query, task, Place(config, task.name, tmp_path / "own")) for task in query.tasks]
    for number in range(0, 80, 20):
        first.run(records(random, number, 20))
        for host, standby in zip(first.hosts, standbys, strict=True):
            for at, log in host.log.items():
                new = [record for record in log[: random.randrange(len(log) + 1)] if record[4] >= standby.positions[at]]
                if new:
                    standby.apply(at, new)
    whole, of_standbys = Application([]), Application([])
    warms = [standby.hand_over() for standby in standbys]
    for host, warm in zip(first.hosts, warms, strict=True):
        note = host.note()
        full = restoring(host, note, {}, None)
        whole.hosts.append(Host(query, host.id, tmp_path / "whole" / host.id.name, full))
        path = tmp_path / "new" / host.id.name if warm is None else warm.path
        rest = restoring(host, note, {} if warm is None else warm.positions, warm)
        of_standbys.hosts.append(Host(query, host.id, path, rest))
    assert sum(len(log) for host in first.hosts for log in host.log.values()) > 20
    for number in range(80, 160, 20):
        for one, other in zip(of_standbys.hosts, whole.hosts, strict=True):
            assert one.rows() == other.rows()
        given = records(random, number, 20)
        assert of_standbys.run(given) == whole.run(given)
    for application in (first, whole, of_standbys):
        application.close()
    for warm in warms:
        if warm is not None:
            warm.discard()
