"""A lane: some tasks, wave after wave, whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream import Grouped, Materialized, Produced, Serdes, StreamsBuilder, Topology
from millstream.errors import FencedError, ProcessingError, ProductionError, StateStoreError, StreamsError
from millstream.hosting.producing.transactions import ProducerStuck
from millstream.spark.exchange.parcels import Parcel
from millstream.spark.lanes.lane import Lane
from millstream.spark.plan import Partition
from millstream.spark.state.markers import Marker
from millstream.spark.state.statefiles import Version

from .memory import MEMBERSHIP, Kafka, program_of, request, statistics_of

IN: Partition = ("in", 0)
OTHER: Partition = ("in", 1)
NUMBERS = Produced(Serdes.string, Serdes.long)

MakeLane = Callable[..., Lane]


def counting(check: Callable[[Any, Any], bool] = lambda key, value: True) -> Topology:
    """Counts keys where they lie."""
    builder = StreamsBuilder()
    (
        builder.stream("in")
        .filter(check)
        .group_by_key(Grouped(Serdes.string, Serdes.string))
        .count(materialized=Materialized("counts"))
        .to_stream()
        .to("out", NUMBERS)
    )
    return builder.build()


def counting_first_letters() -> Topology:
    """Counts what has to go through an exchange first."""
    builder = StreamsBuilder()
    (
        builder.stream("in")
        .group_by(lambda key, value: key[0], Grouped(Serdes.string, Serdes.string))
        .count(materialized=Materialized("counts"))
        .to_stream()
        .to("out", NUMBERS)
    )
    return builder.build()


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> Kafka:
    made = Kafka()
    made.serve_lanes(monkeypatch)
    return made


@pytest.fixture
def make_lane(tmp_path: Path) -> Iterator[MakeLane]:
    """`make_lane(topology, index=0, partitions=1, **options)`: a lane's process, with the same checkpoint as others."""

    def make(topology: Topology | None = None, index: int = 0, partitions: int = 1, **options: Any) -> Lane:
        topics = {"in": partitions, "out": 1}
        made.append(Lane(program_of(topology or counting(), topics, tmp_path, **options), index))
        return made[-1]

    made: list[Lane] = []
    yield make
    for lane in made:
        lane.close()


def state_files(tmp_path: Path) -> list[str]:
    return sorted(f"{path.parent.name}/{path.name}" for path in tmp_path.glob("checkpoint/millstream/state/*/*"))


# --- one wave


def test_a_wave_writes_its_outputs_with_a_marker_and_keeps_its_state(
    kafka: Kafka, make_lane: MakeLane, tmp_path: Path
) -> None:
    kafka.add("in", 0, "a", "b", "a", "not yet")
    answer = make_lane().run(request(0, {IN: (0, 3)}))
    assert kafka.counts() == [("a", 1), ("b", 1), ("a", 2)]
    assert kafka.markers == {0: Marker("c1", "0_0/0", 0, "content-0", Version(0, 0))}
    assert kafka.memberships == [MEMBERSHIP]
    assert state_files(tmp_path) == ["0_0/000000000000-000.changes"]
    told = statistics_of(answer)
    assert (told["batch"], told["wave"], told["content"], told["ends"]) == (0, 0, "content-0", [("in", 0, 3)])
    assert (told["read"], told["processed"], told["written"]) == (3, 3, 3)
    assert told["tasks"]["0_0"]["state"] == Version(0, 0)


def test_a_lane_that_is_closed_leaves_no_directories_of_stores(
    kafka: Kafka, make_lane: MakeLane, tmp_path: Path
) -> None:
    kafka.add("in", 0, "a")
    lane, state = make_lane(state_dir=tmp_path / "stores"), tmp_path / "stores" / "app"
    lane.run(request(0, {IN: (0, 1)}))
    assert [path.name for path in state.iterdir()] == ["0_0"]
    lane.close()
    assert not state.exists()


def test_changes_and_input_offsets_are_in_the_same_commit(kafka: Kafka, make_lane: MakeLane) -> None:
    kafka.add("in", 0, "a", "b", "a")
    answer = make_lane(with_changelogs=True).run(request(1, {IN: (0, 3)}))
    assert len(kafka.memberships) == 1
    assert kafka.inputs == {IN: 3}
    changes = [record for record in kafka.outputs if record[0] == "app-counts-changelog"]
    assert [
        (partition, key, int.from_bytes(value or b"", "big"), time) for _, partition, key, value, time, _ in changes
    ] == [
        (0, b"a", 2, 1_002),  # the last of the batch, with its own timestamp
        (0, b"b", 1, 1_001),
    ]
    assert [(topic, key) for topic, _, key, *_ in kafka.outputs][-1] == ("app-progress", b"0_0")
    assert statistics_of(answer)["written"] == 3  # those that the user wanted


def test_a_wave_in_which_nothing_happens_commits_nothing(kafka: Kafka, make_lane: MakeLane, tmp_path: Path) -> None:
    kafka.add("in", 0, "a")
    lane = make_lane()
    lane.run(request(0, {IN: (0, 1)}))
    lane.run(request(1, {IN: (1, 1)}))
    assert len(kafka.memberships) == 1
    assert kafka.markers[0].batch == 0
    assert len(state_files(tmp_path)) == 1


def test_batch_after_batch_nobody_is_asked_how_far_it_is(kafka: Kafka, make_lane: MakeLane) -> None:
    kafka.add("in", 0, "a", "a", "a")
    lane = make_lane()
    for batch in range(3):
        lane.run(request(batch, {IN: (batch, batch + 1)}))
    assert kafka.counts() == [("a", 1), ("a", 2), ("a", 3)]
    assert (kafka.asked, len(kafka.producers)) == (1, 1)


def test_what_was_prepared_is_used(kafka: Kafka, make_lane: MakeLane) -> None:
    kafka.add("in", 0, "ab")
    lane = make_lane(counting_first_letters())
    lane.prepare()
    assert kafka.consumers[0].met == {"in"}  # the repartition topic is not on the broker
    lane.run(request(0, {IN: (0, 1)}))
    assert (len(kafka.producers), len(kafka.consumers)) == (1, 1)


# --- through the exchange


def test_records_go_to_the_lanes_of_their_tasks_and_are_counted_there(kafka: Kafka, make_lane: MakeLane) -> None:
    kafka.add("in", 0, "ab", "cd", "ae")
    kafka.add("in", 1, "af", "cg", "bh")
    lanes = [make_lane(counting_first_letters(), index, partitions=2, lanes=2) for index in range(2)]
    sent: list[tuple[int, Parcel]] = []
    for lane, partition in zip(lanes, (IN, OTHER), strict=True):
        sent += lane.run(request(0, {partition: (0, 3)}))
    assert kafka.counts() == []
    read_later = {(to, parcel.wave) for to, parcel in sent}
    assert read_later == {(0, 1), (1, 1), (0, -1), (1, -1)}  # each has something to do in wave 1, and tells
    for index, lane in enumerate(lanes):
        mine = [parcel for to, parcel in sent if (to, parcel.wave) == (index, 1)]
        lane.run(request(0, wave=1, parcels=mine))
    assert sorted(kafka.counts()) == [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("c", 1), ("c", 2)]
    assert sorted(marker.task for marker in kafka.markers.values()) == ["0_0/0", "0_1/0", "1_0/1", "1_1/1"]


# --- again, and by others


def test_a_wave_that_is_asked_for_again_is_answered_at_once(kafka: Kafka, make_lane: MakeLane) -> None:
    kafka.add("in", 0, "a", "b")
    lane = make_lane()
    first = lane.run(request(0, {IN: (0, 2)}))
    assert lane.run(request(0, {IN: (0, 2)}, attempt=1)) is first
    assert kafka.counts() == [("a", 1), ("b", 1)]


def test_another_process_sends_the_same_and_writes_nothing_that_is_out(kafka: Kafka, make_lane: MakeLane) -> None:
    kafka.add("in", 0, "ab", "cd", "ae")
    first = make_lane(counting_first_letters()).run(request(0, {IN: (0, 3)}))  # and nobody lived to hear it
    second = make_lane(counting_first_letters())
    again = second.run(request(0, {IN: (0, 3)}, attempt=1))
    assert [parcel.bundles for _, parcel in again] == [parcel.bundles for _, parcel in first]
    for lane in (second, make_lane(counting_first_letters())):
        lane.run(request(0, wave=1, attempt=1, parcels=[parcel for _, parcel in again if parcel.wave == 1]))
        assert kafka.counts() == [("a", 1), ("c", 1), ("a", 2)]


def test_after_a_takeover_counts_go_on_and_the_former_is_shut_out(kafka: Kafka, make_lane: MakeLane) -> None:
    kafka.add("in", 0, *"aaaa")
    former, now = make_lane(), make_lane()
    former.run(request(0, {IN: (0, 2)}))
    now.run(request(1, {IN: (2, 3)}))
    with pytest.raises(FencedError):
        former.run(request(1, {IN: (2, 4)}))
    assert kafka.counts() == [("a", 1), ("a", 2), ("a", 3)]
    now.run(request(2, {IN: (3, 4)}))
    assert kafka.counts()[-1] == ("a", 4)


def test_a_lane_that_was_away_takes_over_with_what_others_changed(kafka: Kafka, make_lane: MakeLane) -> None:
    kafka.add("in", 0, *"aaaa")
    first, second = make_lane(), make_lane()
    first.run(request(0, {IN: (0, 1)}))
    second.run(request(1, {IN: (1, 3)}))
    first.run(request(2, {IN: (3, 4)}))
    assert kafka.counts() == [("a", number) for number in (1, 2, 3, 4)]


def test_with_fewer_lanes_only_what_is_not_out_is_written(kafka: Kafka, make_lane: MakeLane) -> None:
    kafka.add("in", 0, "a")
    kafka.add("in", 1, "b")
    make_lane(partitions=2, lanes=2).run(request(0, {IN: (0, 1)}))  # the other one dies
    make_lane(partitions=2, lanes=1).run(request(0, {IN: (0, 1), OTHER: (0, 1)}, attempt=1))
    assert kafka.counts() == [("a", 1), ("b", 1)]


def test_at_least_once_writes_again(kafka: Kafka, make_lane: MakeLane) -> None:
    kafka.add("in", 0, "a")
    for attempt in range(2):
        lane = make_lane(processing_guarantee="at_least_once")
        lane.run(request(0, {IN: (0, 1)}, attempt=attempt))
    assert kafka.counts() == [("a", 1), ("a", 1)]
    assert kafka.markers == {}  # the driver commits them


# --- what fails


def test_a_commit_that_fails_leaves_nothing(kafka: Kafka, make_lane: MakeLane) -> None:
    kafka.add("in", 0, "a", "a", "b")
    lane = make_lane()
    lane.run(request(0, {IN: (0, 1)}))
    kafka.on_commit = _refuse(ProductionError("outputs could not be written"))
    with pytest.raises(ProductionError):
        lane.run(request(1, {IN: (1, 3)}))
    assert (kafka.counts(), kafka.producers[-1].aborted) == ([("a", 1)], 1)
    kafka.on_commit = lambda: None
    lane.run(request(1, {IN: (1, 3)}, attempt=1))
    assert kafka.counts() == [("a", 1), ("a", 2), ("b", 1)]


def test_a_function_that_fails_leaves_nothing(kafka: Kafka, make_lane: MakeLane) -> None:
    bad = {"b"}

    def careful(key: Any, value: Any) -> bool:
        if key in bad:
            raise ValueError("not yet")
        return True

    kafka.add("in", 0, "a", "a", "b")
    lane = make_lane(counting(careful))
    lane.run(request(0, {IN: (0, 1)}))
    with pytest.raises(ProcessingError, match="not yet"):
        lane.run(request(1, {IN: (1, 3)}))
    assert kafka.counts() == [("a", 1)]
    assert kafka.producers[-1].pending == []
    bad.clear()
    lane.run(request(1, {IN: (1, 3)}, attempt=1))
    assert kafka.counts() == [("a", 1), ("a", 2), ("b", 1)]


def test_a_producer_that_hangs_is_not_touched_any_more(kafka: Kafka, make_lane: MakeLane) -> None:
    kafka.add("in", 0, "a")
    kafka.on_commit = _refuse(ProducerStuck())
    with pytest.raises(ProducerStuck):
        make_lane().run(request(0, {IN: (0, 1)}))
    assert kafka.producers[-1].aborted == 0


def test_state_that_is_behind_its_marker_is_refused(kafka: Kafka, make_lane: MakeLane, tmp_path: Path) -> None:
    kafka.add("in", 0, "a", "a")
    make_lane().run(request(0, {IN: (0, 1)}))
    (tmp_path / "checkpoint" / "millstream" / "state" / state_files(tmp_path)[0]).unlink()
    with pytest.raises(StateStoreError, match="a state file is missing"):
        make_lane().run(request(1, {IN: (1, 2)}))
    assert kafka.counts() == [("a", 1)]


def test_the_marker_of_another_checkpoint_is_refused(kafka: Kafka, make_lane: MakeLane) -> None:
    kafka.add("in", 0, "a", "a")
    make_lane().run(request(0, {IN: (0, 1)}))
    with pytest.raises(StreamsError, match="belongs to another checkpoint"):
        make_lane(checkpoint_id="c2").run(request(1, {IN: (1, 2)}))
    assert kafka.counts() == [("a", 1)]


def _refuse(error: BaseException) -> Callable[[], None]:
    def refuse() -> None:
        raise error

    return refuse


# --- ahead of its batch


def ahead(kafka: Kafka, lane: Lane) -> None:
    """A first batch, and then all that can be done before the second."""
    kafka.add("in", 0, *"aaaaaa")
    assert not lane.work_ahead()  # nothing is known yet
    lane.run(request(0, {IN: (0, 2)}, guaranteed={IN: 4}))
    while lane.work_ahead():
        pass
    assert kafka.counts() == [("a", 1), ("a", 2)]  # what was done is kept back


def test_what_was_done_ahead_is_written_with_its_batch(kafka: Kafka, make_lane: MakeLane) -> None:
    lane = make_lane()
    ahead(kafka, lane)
    told = statistics_of(lane.run(request(1, {IN: (2, 5)})))
    assert kafka.counts() == [("a", number) for number in (1, 2, 3, 4, 5)]
    assert (told["read"], told["processed"], told["written"]) == (3, 3, 3)
    assert kafka.asked == 1


def test_what_was_done_ahead_is_not_written_with_another_batch(kafka: Kafka, make_lane: MakeLane) -> None:
    lane = make_lane()
    ahead(kafka, lane)
    lane.run(request(1, {IN: (2, 3)}))
    assert kafka.counts() == [("a", 1), ("a", 2), ("a", 3)]


def test_a_batch_that_fails_takes_what_was_done_ahead_with_it(kafka: Kafka, make_lane: MakeLane) -> None:
    lane = make_lane()
    ahead(kafka, lane)
    kafka.on_commit = _refuse(ProductionError("outputs could not be written"))
    with pytest.raises(ProductionError):
        lane.run(request(1, {IN: (2, 5)}))
    kafka.on_commit = lambda: None
    lane.run(request(1, {IN: (2, 5)}, attempt=1))
    assert kafka.counts() == [("a", number) for number in (1, 2, 3, 4, 5)]


# --- the end


def test_close_gives_everything_back(kafka: Kafka, make_lane: MakeLane, tmp_path: Path) -> None:
    kafka.add("in", 0, "a")
    lane = make_lane()
    lane.run(request(0, {IN: (0, 1)}))
    lane.close()
    assert kafka.producers[-1].closed
    assert kafka.consumers[-1].closed
    assert list(tmp_path.glob("state/*/app/0_0/*")) == []
    make_lane().close()  # one that was never asked anything
