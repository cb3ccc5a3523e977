"""Joins of a stream with a table."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.errors import ArgumentError
from millstream.processors.context import TaskContext
from millstream.processors.joins import GraceBufferBuilder, StreamTableJoin
from millstream.processors.tables.view import store_view
from millstream.records import Headers
from millstream.serdes import Serdes

Lab = Any


class StreamTableTask:
    """A stream-table join; `stream` gives back the results of one record."""

    def __init__(self, lab: Lab, *, left: bool, table: Any = None, key: bool = False, grace: int | None = None) -> None:
        self.context = TaskContext()
        self.context.topic, self.context.partition = "in", 0
        self.table = lab.TableStore() if table is None else table
        self.buffer = (
            None if grace is None else GraceBufferBuilder("buffer", Serdes.string, Serdes.string, grace).build()
        )
        self.context.stores = {"table": self.table, "buffer": self.buffer}
        self.operator = StreamTableJoin(
            view=store_view("table"),
            joiner=(lambda k, v, o: f"{k}:{v}-{o}") if key else (lambda v, o: f"{v}-{o}"),
            joiner_takes_key=key,
            left=left,
            grace_ms=grace,
            buffer=None if grace is None else "buffer",
        )
        self.output = lab.Output()
        self.operator.forward = self.output
        lab.start(self.context, self.operator)

    def stream(self, key: Any, value: Any, timestamp: int, headers: Headers | None = None) -> Any:
        self.context.offset += 1
        self.context.timestamp, self.context.headers = timestamp, headers
        self.operator.process(key, value, timestamp, headers)
        return self.output.take()


@pytest.mark.parametrize(
    ("left", "expected"),
    [(False, [[], [], [("k", "B-a", 5)], []]), (True, [[], [("k", "A-None", 3)], [("k", "B-a", 5)], []])],
)
def test_only_stream_records_give_results(lab: Lab, left: bool, expected: Any) -> None:
    task = StreamTableTask(lab, left=left)
    results = [task.stream("k", None, 1)]
    task.table.write("k", None, 2)
    results.append(task.stream("k", "A", 3))
    task.table.write("k", "a", 4)
    results.append(task.stream("k", "B", 5))
    task.table.write("k", "b", 6)
    results.append(task.stream("k", None, 7))
    assert results == expected
    assert task.context.dropped_records == 2


@pytest.mark.parametrize("left", [False, True])
def test_the_joiner_may_take_the_key(lab: Lab, left: bool) -> None:
    task = StreamTableTask(lab, left=left, key=True)
    task.table.write("k", "a", 9)
    headers = Headers([("h", b"1")])
    task.operator.process("k", "A", 5, headers)
    assert task.output.rows == [("k", "k:A-a", 5, headers)]


@pytest.mark.parametrize("key", [False, True])
def test_a_null_key_is_dropped_by_inner_and_unmatched_in_left_joins(lab: Lab, key: bool) -> None:
    inner = StreamTableTask(lab, left=False, key=key)
    assert inner.stream(None, "A", 1) == []
    assert inner.context.dropped_records == 1
    left = StreamTableTask(lab, left=True, key=key)
    assert left.stream(None, "A", 1) == [(None, "None:A-None" if key else "A-None", 1)]
    assert left.context.dropped_records == 0


@pytest.mark.parametrize("left", [False, True])
def test_a_versioned_table_is_read_as_of_the_record(lab: Lab, left: bool) -> None:
    task = StreamTableTask(lab, left=left, table=lab.VersionedStore())
    task.table.write("k", "new", 10)
    task.table.write("k", "old", 5)
    assert task.stream("k", "A", 9) == [("k", "A-old", 9)]
    assert task.stream("k", "A", 10) == [("k", "A-new", 10)]
    assert task.stream("k", "A", 4) == ([("k", "A-None", 4)] if left else [])


def test_a_grace_needs_a_versioned_table(lab: Lab) -> None:
    with pytest.raises(ArgumentError, match="versioned"):
        StreamTableTask(lab, left=False, grace=10)


def test_with_grace_records_wait_for_the_table(lab: Lab) -> None:
    task = StreamTableTask(lab, left=False, table=lab.VersionedStore(), grace=10)
    assert task.stream("k", "A", 5) == []
    task.table.write("k", "a", 5)  # late, but in time
    assert task.stream("k", "B", 14) == []
    assert task.stream("k", "C", 15) == [("k", "A-a", 5)]
    assert task.buffer is not None
    assert len(task.buffer) == 2


def test_a_late_record_is_joined_at_once_and_evicts_nothing(lab: Lab) -> None:
    task = StreamTableTask(lab, left=True, table=lab.VersionedStore(), grace=10)
    task.stream("k", "A", 20)
    assert task.stream("k", "late", 9) == [("k", "late-None", 9)]
    assert task.stream("k", "just", 10) == [("k", "just-None", 10)]
    assert task.buffer is not None
    assert len(task.buffer) == 1


def test_buffered_records_leave_by_time_key_and_arrival_in_their_own_surroundings(lab: Lab) -> None:
    task = StreamTableTask(lab, left=True, table=lab.VersionedStore(), grace=10)
    headers = Headers([("h", b"1")])
    seen = []

    def look(key: Any, value: Any, timestamp: int, passed: Headers | None) -> None:
        context = task.context
        assert (context.timestamp, context.headers) == (timestamp, passed)
        seen.append((key, value, timestamp, context.topic, context.partition, context.offset, passed))

    task.operator.forward = look
    task.stream("b", "1", 3)
    task.stream("b", "2", 2, headers)
    task.stream("a", "3", 3)
    task.stream("b", "4", 3)
    task.context.topic, task.context.partition = "other", 3
    task.stream("c", "5", 13)
    assert seen == [
        ("b", "2-None", 2, "in", 0, 1, headers),
        ("a", "3-None", 3, "in", 0, 2, None),
        ("b", "1-None", 3, "in", 0, 0, None),
        ("b", "4-None", 3, "in", 0, 3, None),
    ]
    context = task.context
    assert (context.topic, context.partition, context.offset, context.timestamp) == ("other", 3, 4, 13)


def test_no_grace_time_at_all_joins_at_once(lab: Lab) -> None:
    task = StreamTableTask(lab, left=True, table=lab.VersionedStore(), grace=0)
    assert task.stream("k", "A", 5) == [("k", "A-None", 5)]
    assert task.stream("k", "B", 4) == [("k", "B-None", 4)]


def test_nulls_with_grace(lab: Lab) -> None:
    inner = StreamTableTask(lab, left=False, table=lab.VersionedStore(), grace=0)
    assert inner.stream(None, "A", 5) == inner.stream("k", None, 5) == []
    assert inner.context.dropped_records == 2
    left = StreamTableTask(lab, left=True, table=lab.VersionedStore(), grace=0)
    assert left.stream(None, None, 5) == []
    assert left.context.dropped_records == 1
    with pytest.raises(TypeError, match="without a key"):
        left.stream(None, "A", 5)
