"""What a task remembers beside its stores."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from millstream.config import StreamsConfig
from millstream.errors import StateStoreError
from millstream.processors.api import Processor, PunctuationType
from millstream.processors.user_context import HostContext
from millstream.records import Record
from millstream.serdes import Serdes
from millstream.state import Stores
from millstream.task.context import host_context
from millstream.task.task import Task
from millstream.topology.topology import Topology

CONFIG = StreamsConfig(application_id="app", max_task_idle=timedelta(milliseconds=100))
TEXT: dict[str, Any] = {"key": Serdes.string, "value": Serdes.string}


class Clocked(HostContext):
    time = 0

    def now(self) -> int:
        return self.time


def task(topology: Topology, saved: bytes | None = None, now: int = 0) -> Task:
    context = host_context(CONFIG, "0_0", Clocked)
    context.time = now
    return Task(topology, CONFIG, context=context, restore=None if saved is None else lambda stores: saved)


def records(*entries: tuple[int, int]) -> list[tuple[bytes, bytes, int, None, int]]:
    return [(b"k", b"v", timestamp, None, offset) for timestamp, offset in entries]


def two_topics() -> Topology:
    return Topology().add_source("source", "one", "two", **TEXT).add_sink("sink", "out", "source", **TEXT)


def test_positions_are_those_of_the_next_records() -> None:
    first = task(two_topics())
    assert first.positions == {}
    first.assign("two", 3)
    first.add_records("one", 0, records((5, 10), (6, 12), (7, 20)))
    assert first.positions == {("one", 0): 10, ("two", 3): -1}
    first.process_next()
    assert first.positions[("one", 0)] == 12
    first.process_all()
    assert first.positions[("one", 0)] == 21


def test_buffered_records_are_added_again() -> None:
    first = task(two_topics())
    first.add_records("one", 0, records((5, 10), (6, 12), (7, 20)))
    first.process_next()
    second = task(two_topics(), first.save())
    assert second.positions == {("one", 0): 12}
    second.add_records("one", 0, records((6, 12), (7, 20)))
    assert second.process_all() == 2


def test_times_are_kept_even_of_queues_that_are_not_used() -> None:
    first = task(two_topics())
    first.add_records("one", 0, records((50, 1)))
    first.add_records("two", 0, records((70, 1)))
    first.process_all()
    second = task(two_topics(), first.save())
    second.add_records("one", 0, records((20, 2)))
    second.process_all()
    assert second.context.stream_time == 70
    third = task(two_topics(), second.save())
    assert third.save() == second.save()
    assert third.positions == {("one", 0): 3, ("two", 0): 2}


def test_waiting_for_a_partition_goes_on() -> None:
    first = task(two_topics())
    first.assign("two", 0)
    first.add_records("one", 0, records((5, 0)))
    assert not first.is_processable(lambda topic, partition: 0)
    second = task(two_topics(), first.save(), now=100)
    second.assign("two", 0)
    second.add_records("one", 0, records((5, 0)))
    assert second.is_processable(lambda topic, partition: 0)


class Scheduling(Processor[str, str, str, str]):
    """Tells which of its schedules were called, and when."""

    def __init__(self, intervals: list[int], calls: list[str]) -> None:
        self._intervals = intervals
        self._calls = calls

    def init(self, context: Any) -> None:
        super().init(context)
        self._calls.append(f"init@{context.current_stream_time_ms()}")
        self.schedules = [self._schedule(number, every) for number, every in enumerate(self._intervals)]

    def _schedule(self, number: int, every: int) -> Any:
        interval = timedelta(milliseconds=every)
        return self.context.schedule(interval, PunctuationType.WALL_CLOCK_TIME, lambda now: self._call(number, now))

    def _call(self, number: int, now: int) -> None:
        self._calls.append(f"{number}@{now}")

    def process(self, record: Record[str, str]) -> None:
        if record.value == "v":
            self.schedules[0].cancel()
            self._schedule(99, 1)


def scheduling(intervals: list[int], calls: list[str]) -> Topology:
    return (
        Topology().add_source("source", "in", **TEXT).add_processor("p", lambda: Scheduling(intervals, calls), "source")
    )


def test_schedules_go_on_where_they_were() -> None:
    calls: list[str] = []
    first = task(scheduling([10, 10, 30], calls))
    first.context.time = 12  # type: ignore[attr-defined]
    first.maybe_punctuate_wall_clock()
    assert calls == ["init@-1", "0@12", "1@12"]

    calls.clear()
    second = task(scheduling([10, 10, 30], calls), first.save(), now=19)
    second.maybe_punctuate_wall_clock()
    assert calls == ["init@-1"]
    second.context.time = 30  # type: ignore[attr-defined]
    second.maybe_punctuate_wall_clock()
    assert sorted(calls[1:]) == ["0@30", "1@30", "2@30"]


def test_cancelled_schedules_stay_so_and_later_ones_are_lost() -> None:
    calls: list[str] = []
    first = task(scheduling([10, 10], calls))
    first.add_records("in", 0, records((5, 0)))
    first.process_all()
    calls.clear()
    second = task(scheduling([10, 10, 15], calls), first.save(), now=3)
    second.context.time = 100  # type: ignore[attr-defined]
    second.maybe_punctuate_wall_clock()
    assert calls == ["init@5", "1@100", "2@100"]


@pytest.mark.parametrize(
    ("data", "message"), [(b"\xc1", "cannot be read"), (msgspec.msgpack.encode([1, 2]), "cannot be read")]
)
def test_damaged_progress_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(StateStoreError, match=message):
        task(two_topics(), data)


def test_progress_of_a_later_release_is_refused() -> None:
    fields = msgspec.msgpack.decode(task(two_topics()).save())
    with pytest.raises(StateStoreError, match="unknown layout"):
        task(two_topics(), msgspec.msgpack.encode([fields[0] + 1, *fields[1:]]))


class Put(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        self.context.state_store("store").put(record.key, record.value)


def cached() -> Topology:
    builder = Stores.key_value_store(Stores.in_memory_key_value("store"), Serdes.string, Serdes.string)
    topology = Topology().add_source("source", "in", **TEXT).add_processor("p", Put, "source")
    return topology.add_state_store(builder.with_caching(), "p")


@pytest.mark.parametrize("use", [Task.save, Task.snapshot, lambda task: task.apply_changes({}, b"")])
def test_caches_must_be_flushed(use: Callable[[Task], Any]) -> None:
    first = task(cached())
    first.add_records("in", 0, records((5, 0)))
    first.process_all()
    with pytest.raises(StateStoreError, match="the cache of store 'store' in task 0_0 was not flushed"):
        use(first)


def test_changes_come_through_a_cache() -> None:
    first, second = task(cached()), task(cached())
    for number, one in enumerate((first, second)):
        one.add_records("in", 0, [(b"k", b"%d" % number, 5, None, 0), (b"x", b"", 5, None, 0)])
        one.process_all()
        one.commit()
    assert second.stores["store"].get("k") == "1"  # type: ignore[attr-defined]
    second.take_changes()
    second.apply_changes({"store": [(b"k", b"0"), (b"x", None)]}, first.save())
    assert list(second.stores["store"].all()) == [("k", "0")]  # type: ignore[attr-defined]
    assert second.stores["store"].get("k") == "0"  # type: ignore[attr-defined]
    assert second.stores["store"].get("x") is None  # type: ignore[attr-defined]
    assert second.take_changes() == {}


def test_changes_are_refused_by_a_task_at_work() -> None:
    first = task(cached())
    progress = first.save()
    with pytest.raises(StateStoreError, match="there are changes of a state store 'other'"):
        first.apply_changes({"other": []}, progress)
    first.add_records("in", 0, records((5, 0)))
    with pytest.raises(StateStoreError, match="task 0_0 cannot take changes of another one"):
        first.apply_changes({}, progress)


def test_stores_are_closed_if_they_cannot_be_restored() -> None:
    def fail(stores: Any) -> bytes:
        closed.extend(stores.values())
        raise OSError("gone")

    closed: list[Any] = []
    with pytest.raises(OSError, match="gone"):
        Task(cached(), CONFIG, restore=fail)
    assert len(closed) == 1
