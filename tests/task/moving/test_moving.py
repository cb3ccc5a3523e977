"""A task that is moved after every batch gives what one that stays gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.processors.user_context import HostContext
from millstream.task.context import host_context
from millstream.task.records import OutputRecord
from millstream.task.task import Task

#: topic, key, value, timestamp
Input = tuple[str, str, str | None, int]
Batches = list[tuple[int, list[Input]]]


class Clocked(HostContext):
    """A context whose wall clock is set by the test."""

    time = 0

    def now(self) -> int:
        return self.time


class Host:
    """Runs batches in a task, and keeps what a checkpoint would have."""

    def __init__(self, application: Any) -> None:
        self._config = application.config()
        self._topology = application.topology()
        self._positions: dict[str, int] = {}
        self.log: dict[str, dict[bytes, bytes | None]] = {}
        self.task = self.new_task(None)

    def new_task(self, restore: Callable[[Mapping[str, Any]], bytes | None] | None) -> Task:
        context = host_context(self._config, "0_0", Clocked, defaults={"emit_interval_ms_windowed_aggregation": 3})
        return Task(self._topology, self._config, context=context, restore=restore)

    def run(self, now: int, records: list[Input]) -> list[OutputRecord]:
        """Process a batch, and what it leads to in topics that the task reads itself."""
        task = self.task
        task.context.time = now  # type: ignore[attr-defined]
        for topic, key, value, timestamp in records:
            if task.reads(topic):
                self._add(topic, key.encode(), None if value is None else value.encode(), timestamp)
        outputs: list[OutputRecord] = []
        task.process_all()
        task.maybe_punctuate_wall_clock()
        task.commit(until_clean=True)
        while found := task.take_outputs():
            outputs += found
            for topic, _, raw_key, raw_value, timestamp, _ in found:
                if task.reads(topic):
                    self._add(topic, raw_key, raw_value, timestamp)
            task.process_all()
            task.commit(until_clean=True)
        return outputs

    def _add(self, topic: str, key: bytes | None, value: bytes | None, timestamp: int) -> None:
        offset = self._positions.get(topic, 0)
        self._positions[topic] = offset + 1
        self.task.add_records(topic, 0, [(key, value, timestamp, None, offset)])

    def take_changes(self) -> dict[str, dict[bytes, bytes | None]]:
        changes = self.task.take_changes()
        for store, entries in changes.items():
            self.log.setdefault(store, {}).update(entries)
        return changes


def move_by_log(host: Host) -> None:
    """A new task gets all changes there ever were."""
    host.take_changes()
    progress = host.task.save()
    host.task.close()

    def restore(stores: Mapping[str, Any]) -> bytes:
        for name, entries in host.log.items():
            stores[name].apply_changes(entries.items())
        return progress

    host.task = host.new_task(restore)
    assert host.task.save() == progress


def move_by_snapshot(host: Host) -> None:
    """A new task gets what the stores hold."""
    progress = host.task.save()
    snapshot = {name: list(entries) for name, entries in host.task.snapshot().items()}
    host.task.close()

    def restore(stores: Mapping[str, Any]) -> bytes:
        for name, entries in snapshot.items():
            stores[name].apply_changes(entries)
        return progress

    host.task = host.new_task(restore)
    assert host.task.save() == progress


class MoveToReplica:
    """Two tasks take turns; the one that rests follows by the changes."""

    def __init__(self) -> None:
        self._replica: Task | None = None

    def __call__(self, host: Host) -> None:
        changes, progress = host.take_changes(), host.task.save()
        replica = self._replica or host.new_task(None)
        replica.context.time = host.task.context.time  # type: ignore[attr-defined]
        replica.apply_changes({name: entries.items() for name, entries in changes.items()}, progress)
        assert replica.save() == progress
        self._replica, host.task = host.task, replica


inputs = st.tuples(
    st.sampled_from(["left", "right"]),
    st.sampled_from("abc"),
    st.sampled_from(["a1", "a22", "b1", "b22", "c", None]),
    st.integers(0, 30),
)


@st.composite
def batches(draw: st.DrawFn) -> Batches:
    """Batches whose time moves on by and by, with the wall clock at each."""
    found: Batches = []
    now = start = 0
    for records in draw(st.lists(st.lists(inputs, max_size=5), min_size=2, max_size=8)):
        now += draw(st.integers(0, 4))
        found.append((now, [(topic, key, value, start + at) for topic, key, value, at in records]))
        start += draw(st.integers(0, 12))
    return found


MOVES: dict[str, Callable[[], Callable[[Host], None]]] = {
    "log": lambda: move_by_log,
    "snapshot": lambda: move_by_snapshot,
    "replica": MoveToReplica,
}


@pytest.mark.parametrize("how", MOVES)
@settings(max_examples=12, deadline=None)
@given(batches=batches())
def test_a_moved_task_goes_on_as_if_nothing_had_happened(application: Any, how: str, batches: Batches) -> None:
    staying, moving = Host(application), Host(application)
    move = MOVES[how]()
    for now, records in batches:
        expected = staying.run(now, records)
        staying.take_changes()
        assert moving.run(now, records) == expected
        move(moving)
        assert moving.task.positions == staying.task.positions
