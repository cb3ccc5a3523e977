"""Schedules of a task that goes on in another process: what was scheduled while it ran is there again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import msgspec
import pytest

from millstream import Consumed, Processor, PunctuationType, Record, Serdes, Stores, StreamsBuilder, ValueTransformer
from millstream.config import StreamsConfig
from millstream.processors.user_context import HostContext
from millstream.task.context import host_context
from millstream.task.task import Task
from millstream.topology.topology import Topology

CONFIG = StreamsConfig(application_id="app")
TEXT: dict[str, Any] = {"key": Serdes.string, "value": Serdes.string}
WALL_CLOCK, STREAM_TIME = PunctuationType.WALL_CLOCK_TIME, PunctuationType.STREAM_TIME

#: What was called, with its time.
Calls = list[tuple[Any, ...]]


def ms(number: int) -> timedelta:
    return timedelta(milliseconds=number)


class Clocked(HostContext):
    time = 0

    def now(self) -> int:
        return self.time


class Run:
    """A task, and its clock."""

    def __init__(self, topology: Topology, saved: bytes | None = None, now: int = 0) -> None:
        self.context = host_context(CONFIG, "0_0", Clocked)
        self.context.time = now
        restore = None if saved is None else lambda stores: saved
        self.task = Task(topology, CONFIG, context=self.context, restore=restore)
        self._offset = 0

    def pipe(self, key: str, value: str, timestamp: int = 0) -> None:
        self.task.add_records("in", 0, [(key.encode(), value.encode(), timestamp, None, self._offset)])
        self._offset += 1
        self.task.process_all()
        self.task.commit(until_clean=True)

    def wait_until(self, now: int) -> None:
        self.context.time = now
        self.task.maybe_punctuate_wall_clock()


def topology_of(supplier: Callable[[], Processor[str, str, str, str]]) -> Topology:
    return Topology().add_source("source", "in", **TEXT).add_processor("p", supplier, "source")


class Reminding(Processor[str, str, str, str]):
    """Calls for each key at an interval, until the key comes again."""

    def __init__(self, calls: Calls, type_: PunctuationType = WALL_CLOCK) -> None:
        self._calls = calls
        self._type = type_

    def process(self, record: Record[str, str]) -> None:
        if record.value == "end":
            for timer in self.context.schedules:
                if isinstance(timer.punctuator, partial) and timer.punctuator.args[0] == record.key:
                    timer.cancel()
        elif record.value == "once":
            self.context.schedule(ms(10), self._type, partial(self.remind_once, record.key))
        else:
            self.context.schedule(ms(10), self._type, partial(self.remind, record.key, 1, 2.5, b"x", True, None))

    def remind(self, key: str, *rest: Any) -> None:
        self._calls.append((key, *rest))

    def remind_once(self, key: str, now: int) -> None:
        self._calls.append((key, now))
        next(timer for timer in self.context.schedules if timer.punctuator.args == (key,)).cancel()  # type: ignore[attr-defined]


def test_what_was_scheduled_by_a_record_is_called_elsewhere_when_it_is_due() -> None:
    calls: Calls = []
    topology = topology_of(lambda: Reminding(calls))
    first = Run(topology, now=3)
    first.pipe("a", "begin")
    second = Run(topology, first.task.save(), now=5)
    assert second.task.next_wall_clock_punctuation == 13
    second.wait_until(12)
    assert not calls
    second.wait_until(27)
    assert calls == [("a", 1, 2.5, b"x", True, None, 27)]
    third = Run(topology, second.task.save(), now=28)
    assert third.task.next_wall_clock_punctuation == 33  # the intervals go on from the first one
    assert third.task.save() == second.task.save()


def test_stream_time_goes_on_too() -> None:
    calls: Calls = []
    topology = topology_of(lambda: Reminding(calls, STREAM_TIME))
    first = Run(topology)
    first.pipe("a", "once", 100)
    assert calls == [("a", 100)]  # due with the record itself, and done with
    first.pipe("b", "begin", 101)
    calls.clear()
    second = Run(topology, first.task.save())
    second.pipe("c", "end", 109)
    assert not calls
    second.pipe("c", "end", 110)
    assert [call[0] for call in calls] == ["b"]


def test_a_moved_processor_can_cancel_what_it_scheduled_elsewhere() -> None:
    calls: Calls = []
    topology = topology_of(lambda: Reminding(calls))
    first = Run(topology)
    first.pipe("a", "begin")
    first.pipe("b", "begin")
    second = Run(topology, first.task.save())
    second.pipe("a", "end")
    third = Run(topology, second.task.save())
    third.wait_until(10)
    assert [call[0] for call in calls] == ["b"]


def test_a_copy_follows_a_task_whose_schedules_came_and_went() -> None:
    calls: Calls = []
    topology = topology_of(lambda: Reminding(calls))
    one, other = Run(topology), Run(topology)
    for run in (one, other):
        run.pipe("a", "begin")
    other.pipe("a", "end")
    other.pipe("b", "begin")
    one.task.apply_changes({}, other.task.save())
    assert one.task.save() == other.task.save()
    one.wait_until(10)
    assert [call[0] for call in calls] == ["b"]


class FromStore(Processor[str, str, str, str]):
    """The way of Kafka Streams: `init` schedules what the store says is under way."""

    calls: Calls

    def stores(self) -> list[Any]:
        return [Stores.key_value_store(Stores.in_memory_key_value("pending"), Serdes.string, Serdes.string)]

    def init(self, context: Any) -> None:
        super().init(context)
        self.pending = context.state_store("pending")
        for key, _ in self.pending.all():
            context.schedule(ms(10), WALL_CLOCK, partial(self.remind, key))
        context.schedule(ms(100), WALL_CLOCK, lambda now: self.calls.append(("cleaning", now)))

    def process(self, record: Record[str, str]) -> None:
        self.pending.put(record.key, record.value)
        self.context.schedule(ms(10), WALL_CLOCK, partial(self.remind, record.key))

    def remind(self, key: str, now: int) -> None:
        self.calls.append((key, now))


def test_what_init_schedules_of_a_store_is_not_doubled() -> None:
    calls = FromStore.calls = []
    topology = topology_of(FromStore)
    first = Run(topology)
    first.pipe("b", "")
    saved, changes = first.task.save(), first.task.take_changes()["pending"]

    def moved(now: int, progress: bytes) -> Task:
        context = host_context(CONFIG, "0_0", Clocked)
        context.time = now

        def restore(stores: Any) -> bytes:
            stores["pending"].apply_changes(changes.items())
            return progress

        return Task(topology, CONFIG, context=context, restore=restore)

    second = moved(4, saved)
    second.context.time = 10  # type: ignore[attr-defined]
    second.maybe_punctuate_wall_clock()
    assert calls == [("b", 10)]
    changes[b"a"] = b""  # a row of a later batch: `init` makes one schedule more, before the others
    third = moved(15, second.save())
    third.context.time = 20  # type: ignore[attr-defined]
    third.maybe_punctuate_wall_clock()
    assert calls == [("b", 10), ("b", 20)]
    third.context.time = 100  # type: ignore[attr-defined]
    third.maybe_punctuate_wall_clock()
    assert sorted(calls[2:]) == [("a", 100), ("b", 100), ("cleaning", 100)]


class Forgetful(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        self.context.schedule(ms(10), WALL_CLOCK, lambda now: None)


def test_a_function_that_has_no_name_elsewhere_is_told_once_and_lost(caplog: pytest.LogCaptureFixture) -> None:
    first = Run(topology_of(Forgetful))
    with caplog.at_level(logging.WARNING):
        first.pipe("a", "")
        first.pipe("b", "")
    assert len(caplog.records) == 1
    assert "ends when the task moves" in caplog.text
    assert first.task.next_wall_clock_punctuation == 10
    assert Run(topology_of(Forgetful), first.task.save()).task.next_wall_clock_punctuation is None


@pytest.mark.parametrize(
    "given",
    [lambda self: partial(self.remind, ["no", "plain", "value"]), lambda self: partial(self.remind, 2**63),
     lambda self: partial(self.remind, key="k"), lambda self: print, lambda self: Reminding([]).remind],
)  # fmt: skip
def test_what_cannot_be_written_down_is_lost(given: Callable[[Any], Any]) -> None:
    class Scheduling(Reminding):
        def process(self, record: Record[str, str]) -> None:
            self.context.schedule(ms(10), WALL_CLOCK, given(self))

    topology = topology_of(lambda: Scheduling([]))
    first = Run(topology)
    first.pipe("a", "")
    assert Run(topology, first.task.save()).task.next_wall_clock_punctuation is None


def test_a_method_that_a_new_release_does_not_have_is_told(caplog: pytest.LogCaptureFixture) -> None:
    first = Run(topology_of(lambda: Reminding([])))
    first.pipe("a", "begin")
    with caplog.at_level(logging.WARNING):
        second = Run(topology_of(Forgetful), first.task.save())
    assert second.task.next_wall_clock_punctuation is None
    assert "method remind, which is not there any more" in caplog.text


class Wrapping(Processor[str, str, str, str]):
    def __init__(self, inner: Processor[str, str, str, str]) -> None:
        self.inner = inner

    def init(self, context: Any) -> None:
        super().init(context)
        self.inner.context = context
        self.inner.init(context)

    def process(self, record: Record[str, str]) -> None:
        self.inner.process(record)


def test_methods_of_a_wrapped_processor_are_found() -> None:
    calls: Calls = []
    topology = topology_of(lambda: Wrapping(Wrapping(Reminding(calls))))
    first = Run(topology)
    first.pipe("a", "once")
    second = Run(topology, first.task.save())
    second.wait_until(10)
    assert calls == [("a", 10)]


class Transforming(ValueTransformer[str, str, str]):
    calls: Calls

    def transform(self, key: str, value: str) -> str:
        self.context.schedule(ms(10), WALL_CLOCK, partial(self.remind, key))
        return value

    def remind(self, key: str, now: int) -> None:
        self.calls.append((key, now))


def test_transformers_of_tables_keep_their_schedules() -> None:
    calls = Transforming.calls = []
    builder = StreamsBuilder()
    table = builder.table("in", Consumed(Serdes.string, Serdes.string))
    table.transform_values(Transforming).to_stream().foreach(lambda key, value: None)
    first = Run(builder.build())
    first.pipe("a", "x")
    second = Run(builder.build(), first.task.save())
    second.wait_until(10)
    assert calls == [("a", 10)]


def test_a_new_release_may_change_what_init_schedules() -> None:
    calls: Calls = []

    def every(interval: int) -> Topology:
        class InInit(Reminding):
            def init(self, context: Any) -> None:
                super().init(context)
                context.schedule(ms(interval), WALL_CLOCK, partial(self.remind, "x"))

        return topology_of(lambda: InInit(calls))

    saved = Run(every(10)).task.save()
    run = Run(every(25), saved)
    for now in (10, 20, 25, 30):
        run.wait_until(now)
    assert calls == [("x", 25)]


def test_progress_of_version_1_is_read() -> None:
    calls: Calls = []

    class InInit(Reminding):
        def init(self, context: Any) -> None:
            super().init(context)
            for name in ("x", "y", "z"):
                context.schedule(ms(10), WALL_CLOCK, partial(self.remind, name))

    version_1 = [1, 70, [["in", 0, 70, 4, None]], {}, [], [["p", 1, 17], ["p", 0, 12]], [["p", 2]]]
    run = Run(topology_of(lambda: InInit(calls)), msgspec.msgpack.encode(version_1))
    assert run.context.stream_time == 70
    assert run.task.positions == {("in", 0): 4}
    run.wait_until(16)
    run.wait_until(20)
    run.wait_until(40)
    assert calls == [("x", 16), ("y", 20), ("x", 40), ("y", 40)]
