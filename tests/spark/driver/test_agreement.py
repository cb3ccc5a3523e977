"""What Kafka knows of an application and what its checkpoint knows: do they belong together?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from millstream.errors import StreamsError
from millstream.spark.driver.agreement import Committed, SparkLog, check_known, check_new, note, read_note
from millstream.spark.state.markers import Marker, check_marker, content_of, read_marker
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


def committed(batch: int, checkpoint: str = HERE) -> Committed:
    return Committed(checkpoint, "/checkpoints/orders", batch)


def test_markers_and_notes_survive_their_way_through_kafka() -> None:
    at = marker(4).at("app-progress", 7)
    assert (at.topic, at.partition, at.offset) == ("app-progress", 7, 5)
    assert read_marker(at) == marker(4)
    assert read_marker(TopicPartition("app-progress", 7, -1001)) is None
    assert read_note(note(HERE, "/checkpoints/orders", 4)) == committed(4)
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
    with pytest.raises(StreamsError, match="damaged") as raised:
        SparkLog.read(str(tmp_path))
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("batches", [(1, 2, 3), (3,), (3, 4)])
def test_a_checkpoint_that_is_as_far_as_its_outputs_goes_on(tmp_path: Path, batches: tuple[int, ...]) -> None:
    check_known(HERE, log(tmp_path, *batches), [committed(3)], [marker(3), marker(1)])


@pytest.mark.parametrize("batches", [(), (1,), (1, 2)])
def test_a_checkpoint_that_went_back_is_refused(tmp_path: Path, batches: tuple[int, ...]) -> None:
    with pytest.raises(StreamsError, match="gone back") as raised:
        check_known(HERE, log(tmp_path, *batches), [], [marker(1), marker(3)] if batches else [marker(3)])
    assert "up to batch 3" in str(raised.value)
    assert "millstream reset" in str(raised.value)


def test_a_batch_of_the_same_number_with_other_records_is_refused(tmp_path: Path) -> None:
    """The newest entries were lost, and the application went on with a copy of Kafka that had other records."""
    with pytest.raises(StreamsError, match="gone back"):
        check_known(HERE, log(tmp_path, 1, 2, 3), [], [marker(3, content="other")])


def test_the_progress_of_another_checkpoint_is_refused(tmp_path: Path) -> None:
    spark_log = log(tmp_path, 1, 2, 3)
    with pytest.raises(StreamsError, match="another checkpoint") as raised:
        check_known(HERE, spark_log, [committed(2, "xyz")], [])
    assert "/checkpoints/orders" in str(raised.value)
    with pytest.raises(StreamsError, match="another checkpoint"):
        check_known(HERE, spark_log, [], [marker(2, checkpoint="xyz")])


def test_an_application_that_never_ran_begins() -> None:
    check_new("orders", True, [], [])


@pytest.mark.parametrize(
    ("keeps_state", "notes", "markers"),
    [
        (True, [committed(3)], []),  # state would be empty, and the records that made it are behind the offsets
        (True, [], [marker(1)]),
        (False, [committed(2)], [marker(3)]),  # outputs of batch 3 are out, and its records would be read again
        (False, [], [marker(1)]),
    ],
)
def test_a_lost_checkpoint_is_told(keeps_state: bool, notes: list[Committed], markers: list[Marker]) -> None:
    with pytest.raises(StreamsError, match="'orders' has run before") as raised:
        check_new("orders", keeps_state, notes, markers)
    assert "millstream reset" in str(raised.value)


def test_what_keeps_no_state_goes_on_without_its_checkpoint() -> None:
    check_new("orders", False, [committed(3), committed(3)], [marker(3), marker(2)])


def test_a_wave_looks_at_its_markers() -> None:
    content = content_of(ENDS[3])
    check_marker(marker(2), HERE, 3, content)
    check_marker(marker(3), HERE, 3, content)
    with pytest.raises(StreamsError, match="gone back"):
        check_marker(marker(4), HERE, 3, content)
    with pytest.raises(StreamsError, match="other records"):
        check_marker(marker(3, content="other"), HERE, 3, content)
    with pytest.raises(StreamsError, match="another checkpoint"):
        check_marker(marker(2, checkpoint="xyz"), HERE, 3, content)
