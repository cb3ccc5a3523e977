"""Work that a lane does before it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from millstream import Grouped, Materialized, Produced, Serdes, StreamsBuilder, StreamsConfig
from millstream.hosting.range_consumer import RangeConsumer
from millstream.spark.lanes.ahead import WorkAhead
from millstream.spark.lanes.versioned_task import VersionedTask
from millstream.spark.plan import Partition, Plan, TaskId
from millstream.spark.program import Program
from millstream.spark.state.statefiles import Version
from millstream.task.records import OutputRecord, RawRecord

IN = ("in", 0)
TASK = TaskId(0, 0)
FIRST, SECOND = Version(1, 0), Version(2, 0)


class Fetched(RangeConsumer):
    """Records that are already here; offsets may have gaps."""

    def __init__(self, offsets: list[int]) -> None:
        self._waiting: dict[Partition, list[RawRecord]] = {IN: [_record(offset) for offset in offsets]}
        self._position = {IN: 0}
        self._end = {}
        self._astray = set()

    def rest(self, end: int) -> list[RawRecord]:
        """What a batch reads up to an offset."""
        return self._taken(IN, end)


def _record(offset: int) -> RawRecord:
    return f"k{offset % 3}".encode(), b"x" if offset != 13 else b"\xff", 1_000 + offset, None, offset


@pytest.fixture
def task(tmp_path: Path) -> VersionedTask:
    builder = StreamsBuilder()
    (
        builder.stream("in")
        .group_by_key(Grouped(Serdes.string, Serdes.string))
        .count(materialized=Materialized("counts"))
        .to_stream()
        .to("out", Produced(Serdes.string, Serdes.long))
    )
    topology = builder.build()
    config = StreamsConfig(
        default_key_serde=Serdes.string,
        default_value_serde=Serdes.string,
        statestore_cache_max_bytes=0,
        state_dir=tmp_path / "state",
    )
    program = Program("run", topology, Plan(topology, {"in": 1, "out": 1}), config, 1, str(tmp_path), None)
    return VersionedTask(program, TASK, 0)


def finish(
    task: VersionedTask, version: Version, records: list[RawRecord], *, ahead: bool = False
) -> list[OutputRecord]:
    """Run a wave, or the rest of it."""
    task.begin(version, 5_000, None, ahead=ahead)
    outputs = task.process({IN: records}) + task.end()
    task.save(version)
    task.finish(version)
    return outputs


def counts(outputs: list[OutputRecord]) -> list[tuple[bytes | None, int]]:
    return [(record[2], int.from_bytes(record[3] or b"", "big")) for record in outputs]


def begun(task: VersionedTask, inputs: RangeConsumer, guaranteed: int) -> WorkAhead:
    """WorkAhead work after the first batch, which went up to offset 6."""
    early = WorkAhead({TASK: task})
    early.allow(FIRST, {IN: TASK}, {IN: (6, guaranteed)})
    while early.work(inputs):
        pass
    return early


def test_what_was_done_early_is_part_of_the_batch(task: VersionedTask) -> None:
    inputs = Fetched([*range(6), 6, 7, 9, 10, 11, 12])
    first = finish(task, FIRST, inputs.rest(6))
    early = begun(task, inputs, 10)
    done, seconds = early.claim(SECOND, 0, {IN: (6, 12)})
    assert (done[IN].start, done[IN].end, done[IN].count) == (6, 10, 3)
    assert seconds > 0
    rest = finish(task, SECOND, inputs.rest(12), ahead=True)
    assert counts(first + done[IN].outputs + rest) == [
        (b"k0", 1), (b"k1", 1), (b"k2", 1), (b"k0", 2), (b"k1", 2), (b"k2", 2),
        (b"k0", 3), (b"k1", 3), (b"k0", 4), (b"k1", 4), (b"k2", 3),
    ]  # fmt: skip
    assert task.processed == 5


@pytest.mark.parametrize(
    ("version", "attempt", "ranges"),
    [
        (SECOND, 0, {IN: (6, 8)}),
        (SECOND, 0, {IN: (5, 12)}),
        (SECOND, 0, {}),
        (SECOND, 1, {IN: (6, 12)}),
        (FIRST, 0, {IN: (6, 12)}),
    ],
)
def test_another_batch_than_promised_starts_from_the_files(
    task: VersionedTask, version: Version, attempt: int, ranges: Mapping[Partition, tuple[int, int]]
) -> None:
    inputs = Fetched(list(range(12)))
    finish(task, FIRST, inputs.rest(6))
    early = begun(task, inputs, 10)
    assert early.claim(version, attempt, ranges) == ({}, 0.0)
    assert not task.is_current(SECOND)
    assert counts(finish(task, SECOND, [_record(6), _record(7)])) == [(b"k0", 3), (b"k1", 3)]
    assert task.processed == 2


def test_nothing_is_done_beyond_what_is_sure(task: VersionedTask) -> None:
    inputs = Fetched(list(range(12)))
    finish(task, FIRST, inputs.rest(6))
    early = begun(task, inputs, 6)
    assert early.claim(SECOND, 0, {IN: (6, 12)}) == ({}, 0.0)
    assert task.is_current(SECOND)  # nothing had to be let go


def test_what_fails_early_fails_again_in_its_batch(task: VersionedTask) -> None:
    inputs = Fetched(list(range(14)))
    finish(task, FIRST, inputs.rest(6))
    early = begun(task, inputs, 14)
    assert early.claim(SECOND, 0, {IN: (6, 14)}) == ({}, 0.0)
    with pytest.raises(Exception, match="13"):
        finish(task, SECOND, [_record(offset) for offset in range(6, 14)])


def test_a_failure_of_the_first_early_chunk_leaves_nothing(task: VersionedTask) -> None:
    """The records before the one that failed were processed; the task is not clean, and nobody has to say so."""
    inputs = Fetched(list(range(14)))
    finish(task, FIRST, inputs.rest(6))
    begun(task, inputs, 14)
    assert not task.is_current(SECOND)
    assert counts(finish(task, SECOND, [_record(6), _record(7)])) == [(b"k0", 3), (b"k1", 3)]


def test_a_wave_that_was_not_finished_leaves_nothing(task: VersionedTask) -> None:
    finish(task, FIRST, [_record(offset) for offset in range(6)])
    task.begin(SECOND, 5_000, None)
    task.process({IN: [_record(6), _record(7)]})
    task.end()
    task.save(SECOND)  # and then, for instance, the transaction fails
    assert not task.is_current(SECOND)
    assert counts(finish(task, SECOND, [_record(6), _record(7)])) == [(b"k0", 3), (b"k1", 3)]
