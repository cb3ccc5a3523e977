"""What Kafka knows of an application and what its checkpoint knows: do they belong together?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from millstream import Consumed, Grouped, Serdes, StreamsBuilder, StreamsConfig
from millstream.changelogs import changelogs_of
from millstream.errors import CheckpointDamaged, StreamsError
from millstream.hosting.task_note import decode, encode
from millstream.spark.driver.agreement import Known, SparkLog, check_known
from millstream.spark.driver.recovery import check_never_run, check_notes, check_whole
from millstream.spark.plan import Plan
from millstream.spark.program import Program
from millstream.spark.state.markers import (
    BATCH,
    Committed,
    Marker,
    check_marker,
    content_of,
    input_offset,
    read_marker,
    read_note,
)
from millstream.spark.state.statefiles import Version

HERE = "abc"
ENDS = {batch: {"batch": batch, "now": batch, "topics": {"in": {"0": 10 * batch}}} for batch in range(1, 6)}


def log(tmp_path: Path, *batches: int) -> SparkLog:
    offsets = tmp_path / "spark" / "offsets"
    offsets.mkdir(parents=True)
    for number, batch in enumerate(batches):
        entry = ["v1", json.dumps({"batchWatermarkMs": 0}), json.dumps(ENDS[batch])]
        (offsets / str(number)).write_text("\n".join(entry))
    return SparkLog.read(str(tmp_path))


def marker(batch: int, *, checkpoint: str = HERE, content: str | None = None) -> Marker:
    return Marker(checkpoint, "0_0/0", batch, content or content_of(ENDS[batch]), Version(batch, 0))


def done(batch: int) -> Marker:
    return Marker(HERE, BATCH, batch, "", None)


def application(*, stateful: bool = True, exchange: bool = False, exactly_once: bool = True) -> Program:
    builder = StreamsBuilder()
    stream = builder.stream("in", Consumed(Serdes.string, Serdes.string))
    if exchange:
        stream = stream.select_key(lambda key, value: value).repartition()
    if stateful:
        stream.group_by_key(Grouped(Serdes.string, Serdes.string)).count()
    topology = builder.build()
    config = StreamsConfig(
        application_id="orders", processing_guarantee="exactly_once_v2" if exactly_once else "at_least_once"
    )
    plan = Plan(topology, {"in": 1})
    return Program("run", topology, plan, config, 1, "/c", None, HERE, {}, changelogs_of(topology, "orders"))


def check(spark_log: SparkLog, notes: list[Committed], markers: list[Marker]) -> None:
    check_known(application(), spark_log, Known([], notes, markers))


def committed(batch: int, checkpoint: str = HERE) -> Committed:
    return Committed(checkpoint, "/checkpoints/orders", batch)


def test_markers_and_notes_survive_their_way_through_kafka() -> None:
    at = marker(4).at("app-progress", 7)
    assert (at.topic, at.partition, at.offset) == ("app-progress", 7, 5)
    assert read_marker(at) == marker(4)
    assert read_marker(TopicPartition("app-progress", 7, -1001)) is None
    offset = input_offset(("in", 3), 17, committed(4))
    assert (offset.topic, offset.partition, offset.offset, read_note(offset.metadata)) == ("in", 3, 17, committed(4))
    assert read_note("") is None
    assert read_note(None) is None
    assert read_note('{"checkpoint": 3}') is None  # somebody else's


def test_what_somebody_else_wrote_is_no_marker() -> None:
    with pytest.raises(StreamsError, match="cannot be read") as raised:
        read_marker(TopicPartition("app-progress", 7, 5, metadata="hello"))
    assert "hello" in str(raised.value)


def test_a_log_of_sparks_is_read(tmp_path: Path) -> None:
    found = log(tmp_path, 2, 3)
    assert found.latest == 3
    assert found.contents == {2: content_of(ENDS[2]), 3: content_of(ENDS[3])}
    assert SparkLog.read(str(tmp_path / "nothing")).latest is None


def test_a_damaged_entry_is_told(tmp_path: Path) -> None:
    log(tmp_path, 2)
    path = tmp_path / "spark" / "offsets" / "0"
    path.write_text(path.read_text()[:-5])
    with pytest.raises(CheckpointDamaged, match="damaged") as raised:
        SparkLog.read(str(tmp_path))
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("batches", [(1, 2, 3), (3,), (3, 4)])
def test_a_checkpoint_that_is_as_far_as_its_outputs_goes_on(tmp_path: Path, batches: tuple[int, ...]) -> None:
    check(log(tmp_path, *batches), [committed(3)], [marker(3), marker(1)])


@pytest.mark.parametrize("batches", [(), (1,), (1, 2)])
def test_a_checkpoint_that_went_back_is_refused(tmp_path: Path, batches: tuple[int, ...]) -> None:
    with pytest.raises(CheckpointDamaged, match="gone back") as raised:
        check(log(tmp_path, *batches), [], [marker(1), marker(3)] if batches else [marker(3)])
    assert "up to batch 3" in str(raised.value)
    assert "millstream reset" in str(raised.value)


def test_a_batch_of_the_same_number_with_other_records_is_refused(tmp_path: Path) -> None:
    """The newest entries were lost, and the application went on with a copy of Kafka that had other records."""
    with pytest.raises(CheckpointDamaged, match="gone back"):
        check(log(tmp_path, 1, 2, 3), [], [marker(3, content="other")])


def test_the_progress_of_another_checkpoint_is_refused(tmp_path: Path) -> None:
    spark_log = log(tmp_path, 1, 2, 3)
    with pytest.raises(StreamsError, match="another checkpoint") as raised:
        check(spark_log, [committed(2, "xyz")], [])
    assert "/checkpoints/orders" in str(raised.value)
    with pytest.raises(StreamsError, match="another checkpoint"):
        check(spark_log, [], [marker(2, checkpoint="xyz")])


def test_forgotten_progress_of_an_unfinished_batch_is_refused(tmp_path: Path) -> None:
    """Brokers forget the offsets of a group that is away for a week: were the outputs of the last batch out?"""
    spark_log = log(tmp_path, 1, 2, 3)
    with pytest.raises(StreamsError, match="in Kafka is gone"):
        check(spark_log, [], [])
    commits = tmp_path / "spark" / "commits"
    commits.mkdir()
    (commits / "2").write_text("v1")
    check(SparkLog.read(str(tmp_path)), [], [])  # it was done
    check(SparkLog({1: "a"}, has_unfinished=True), [], [])  # killed in its first batch


WITHIN = [marker(3), marker(2), done(3)]  # a task that had nothing to do in batch 3
CUT = [marker(4), marker(3), done(3)]


@pytest.mark.parametrize(
    ("program", "notes", "markers"),
    [
        (application(), [committed(4), committed(3)], CUT),  # each lane by itself, inputs and outputs
        (application(exchange=True), [committed(3)], WITHIN),
        (application(exchange=True, exactly_once=False), [committed(3)], CUT),  # some come again
        (application(exchange=True, stateful=False), [committed(3)], WITHIN),
    ],
)
def test_an_application_between_two_batches_is_whole(
    program: Program, notes: list[Committed], markers: list[Marker]
) -> None:
    check_whole(program, Known([], notes, markers), [])


@pytest.mark.parametrize("stateful", [True, False])
@pytest.mark.parametrize(
    ("notes", "markers"),
    [
        ([committed(3)], CUT),
        ([committed(4)], WITHIN),  # the wave had no outputs, but handed something over
        ([committed(3)], [marker(3)]),  # nobody said that it was done
    ],
)
def test_a_batch_that_is_cut_in_two_is_told(stateful: bool, notes: list[Committed], markers: list[Marker]) -> None:
    with pytest.raises(StreamsError, match="cut in two") as raised:
        check_whole(application(exchange=True, stateful=stateful), Known([], notes, markers), [])
    assert "/checkpoints/orders" in str(raised.value)
    assert "millstream reset" in str(raised.value)


def test_missing_changelogs_are_told() -> None:
    with pytest.raises(StreamsError, match="its checkpoint is not here") as raised:
        check_whole(application(), Known([], [committed(3)], []), ["orders-counts-changelog"])
    assert "orders-counts-changelog" in str(raised.value)


def test_changelogs_that_do_not_have_everything_are_told() -> None:
    program = application()
    (store,) = program.changelogs
    note = decode(encode(b"progress", {}, {store: "id-1", "gone": "id-2"}))
    check_notes(program, [marker(3)], {"0_0": note}, {store: "id-1"})
    check_notes(program, [Marker(HERE, "0_0/0", 3, "", None)], {}, {store: "id-1"})  # it never had any state
    for markers, notes, ids in (
        ([marker(3)], {}, {store: "id-1"}),  # made by a version without changelogs
        ([marker(3)], {"0_0": note}, {store: "id-3"}),  # the topic was made again
    ):
        with pytest.raises(StreamsError, match="its checkpoint is not here") as raised:
            check_notes(program, markers, notes, ids)
        assert "not whole" in str(raised.value)


def test_state_without_any_offsets_is_told() -> None:
    check_never_run(application(), [])
    with pytest.raises(StreamsError, match="neither its checkpoint nor its group's offsets"):
        check_never_run(application(), ["0_0"])


def test_a_wave_looks_at_its_markers() -> None:
    content = content_of(ENDS[3])
    check_marker(marker(2), HERE, 3, content)
    check_marker(marker(3), HERE, 3, content)
    with pytest.raises(CheckpointDamaged, match="gone back"):
        check_marker(marker(4), HERE, 3, content)
    with pytest.raises(CheckpointDamaged, match="other records"):
        check_marker(marker(3, content="other"), HERE, 3, content)
    with pytest.raises(StreamsError, match="another checkpoint"):
        check_marker(marker(2, checkpoint="xyz"), HERE, 3, content)
