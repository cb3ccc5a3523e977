"""When punctuators are called, and with what."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from millstream.errors import ArgumentError, ProcessingError
from millstream.handlers import LogAndContinueProcessingExceptionHandler
from millstream.processors.api import Processor, PunctuationType
from millstream.processors.punctuation import Punctuations, Schedule, first_due
from millstream.records import Record


class Punctual(Processor[Any, Any, Any, Any]):
    """Schedules one function in init; forwards records."""

    def __init__(self, punctuate: Any, interval: int = 10, **options: Any) -> None:
        self._punctuate = punctuate
        self._interval = timedelta(milliseconds=interval)
        self._options = options

    def init(self, context: Any) -> None:
        self.schedule = context.schedule(
            self._interval, PunctuationType.STREAM_TIME, lambda now: self._punctuate(self, now), **self._options
        )

    def process(self, record: Record[Any, Any]) -> None:
        self.context.forward(record)


def punctual(topology: Any, punctuate: Any, **options: Any) -> Any:
    return topology.add_processor("punctual", lambda: Punctual(punctuate, **options), "source")


def test_stream_time_punctuation_skips_missed_intervals(source: Any, harness: Any, process: Any) -> None:
    fired: list[int] = []
    runs = harness(punctual(source(), lambda _, now: fired.append(now)))
    runs.add("in", *(("k", "v", time) for time in (42, 42, 51, 52, 61, 71, 95, 101)))
    process(runs.task)

    assert fired == [42, 51, 61, 71, 95, 101]
    assert runs.task.metrics.punctuations == 6


def test_a_late_record_does_not_turn_the_clock_back(source: Any, harness: Any, process: Any) -> None:
    fired: list[int] = []
    runs = harness(punctual(source(), lambda _, now: fired.append(now)))
    runs.add("in", ("k", "v", 50), ("k", "v", 3), ("k", "v", 60))
    process(runs.task)

    assert fired == [50, 60]


def test_wall_clock_punctuation() -> None:
    fired: list[int] = []
    queue = Punctuations()
    wall_clock = PunctuationType.WALL_CLOCK_TIME
    schedule = Schedule("n", 0, 10, wall_clock, fired.append, None, fired.append)
    queue.add(first_due(wall_clock, 10, 0, None), schedule)
    now = 0
    for step in (5, 9, 1, 20, 5):
        now += step
        queue.run(now, lambda schedule, time: schedule.punctuator(time))

    assert fired == [14, 35, 40]


@pytest.mark.parametrize(("start", "now", "due"), [(100, 50, 100), (100, 100, 100), (100, 101, 110), (100, 110, 120)])
def test_an_anchored_schedule_is_due_at_whole_intervals_after_its_start(start: int, now: int, due: int) -> None:
    assert first_due(PunctuationType.WALL_CLOCK_TIME, 10, now, start) == due


def test_an_anchored_stream_time_schedule(source: Any, harness: Any, process: Any) -> None:
    fired: list[int] = []
    start = datetime.fromtimestamp(0.1, UTC)
    runs = harness(punctual(source(), lambda _, now: fired.append(now), interval=50, start=start))
    runs.add("in", *(("k", "v", time) for time in (42, 99, 103, 149, 150)))
    process(runs.task)

    assert fired == [103, 150]


def test_a_schedule_can_cancel_itself(source: Any, harness: Any, process: Any) -> None:
    fired: list[int] = []

    def once(processor: Any, now: int) -> None:
        fired.append(now)
        processor.schedule.cancel()

    runs = harness(punctual(source(), once))
    runs.add("in", ("k", "v", 10), ("k", "v", 30))
    process(runs.task)

    assert fired == [10]


def test_a_punctuation_has_no_input_record_and_the_next_record_has_one_again(
    source: Any, sink: Any, harness: Any, process: Any
) -> None:
    seen: list[Any] = []

    class Where(Processor[Any, Any, Any, Any]):
        def process(self, record: Record[Any, Any]) -> None:
            seen.append((record.value, self.context.record_metadata()))

    def tell(processor: Any, now: int) -> None:
        processor.context.forward(Record(None, f"at {now}", now))

    topology = punctual(source(), tell).add_processor("where", Where, "punctual")
    runs = harness(topology)
    runs.add("in", ("k", "a", 10), ("k", "b", 15), ("k", "c", 20))
    process(runs.task)

    nowhere = (None, -1, -1)
    assert seen == [
        ("a", ("in", 0, 0)), ("at 10", nowhere), ("b", ("in", 0, 1)), ("c", ("in", 0, 2)), ("at 20", nowhere),
    ]  # fmt: skip


def test_there_is_no_record_metadata_in_init(source: Any, harness: Any) -> None:
    seen: list[Any] = []

    class Look(Processor[Any, Any, Any, Any]):
        def init(self, context: Any) -> None:
            seen.append((context.record_metadata(), context.current_stream_time_ms()))

    harness(source().add_processor("look", Look, "source"))
    assert seen == [(None, -1)]


def test_a_failing_punctuator_names_its_node_and_line(source: Any, harness: Any, process: Any) -> None:
    def fail(_: Any, now: int) -> None:
        raise ValueError(f"boom at {now}")

    runs = harness(punctual(source(), fail))
    runs.add("in", ("k", "v", 10))

    with pytest.raises(ProcessingError, match="exception caught in punctuate") as raised:
        process(runs.task)
    assert "node 'punctual'" in str(raised.value)
    assert "fail at test_punctuation.py:" in str(raised.value)
    assert isinstance(raised.value.__cause__, ValueError)


def test_a_failing_punctuator_can_be_skipped(source: Any, sink: Any, harness: Any, process: Any) -> None:
    def fail(_: Any, now: int) -> None:
        raise ValueError("boom")

    handler = LogAndContinueProcessingExceptionHandler()
    runs = harness(sink(punctual(source(), fail), "punctual"), processing_exception_handler=handler)
    runs.add("in", ("k", "a", 10), ("k", "b", 20))
    process(runs.task)

    assert runs.values() == ["a", "b"]
    assert runs.task.metrics.dropped_records == 2


def test_an_interval_below_a_millisecond_is_refused(source: Any, harness: Any) -> None:
    with pytest.raises(ArgumentError, match="interval must be at least 1 ms"):
        harness(punctual(source(), lambda *_: None, interval=0))
