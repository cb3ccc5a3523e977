"""What a checkpoint remembers of its application, and what may not have changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream import (
    Consumed,
    Grouped,
    Materialized,
    Produced,
    Serdes,
    StreamsBuilder,
    StreamsConfig,
    StreamsError,
    Topology,
)
from millstream.errors import CheckpointDamaged
from millstream.kafka.admin import Admin
from millstream.kafka.detached import DetachedBroker
from millstream.spark.driver.admission import Admission
from millstream.spark.driver.control import Control
from millstream.spark.plan import Plan
from millstream.spark.program import Program
from millstream.spark.state.checkpoint import Checkpoint, Remembered

TEXT = Consumed(Serdes.string, Serdes.string)


def counting(*stores: str, through: bool = False, config: StreamsConfig | None = None) -> Topology:
    """A count for each store; `through` another topic, so that the stores are in another sub-topology."""
    builder = StreamsBuilder(config)
    stream = builder.stream("in", TEXT)
    if through:
        stream = stream.select_key(lambda key, value: value).repartition()
    for store in stores:
        grouped = stream.group_by_key(Grouped(Serdes.string, Serdes.string))
        grouped.count(materialized=Materialized(store)).to_stream().to("out", Produced(Serdes.string, Serdes.long))
    if not stores:
        stream.to("out", Produced(Serdes.string, Serdes.string))
    return builder.build()


def compared(
    directory: Path, topology: Topology, *, partitions: int = 2, lanes: int = 2, application: str = "app"
) -> Remembered:
    """Start an application, as far as its checkpoint is concerned."""
    checkpoint = Checkpoint(str(directory))
    plan = Plan(topology, {"in": partitions, "out": 2})
    found = checkpoint.compare(application, topology, plan, lanes, "id of a new one")
    checkpoint.remember(found, {})
    return found


def test_a_new_one_gets_an_id_which_stays(tmp_path: Path) -> None:
    assert Checkpoint(str(tmp_path)).known_id() is None
    first = compared(tmp_path, counting("counts"))
    assert (first.is_new, first.moved, first.id) == (True, False, "id of a new one")
    assert Checkpoint(str(tmp_path)).known_id() == first.id
    again = compared(tmp_path, counting("counts"))
    assert (again.is_new, again.moved, again.id, again.markers) == (False, False, first.id, first.markers)


def test_that_of_another_application_is_refused(tmp_path: Path) -> None:
    compared(tmp_path, counting("counts"))
    with pytest.raises(StreamsError, match="belongs to another application") as raised:
        compared(tmp_path, counting("counts"), application="other")
    assert f"{tmp_path} is that of 'app', this is 'other'" in str(raised.value.detail)


@pytest.mark.parametrize(
    ("start", "why"),
    [
        (lambda path: compared(path, counting("other")), "store 'counts' is gone"),
        (lambda path: compared(path, counting("counts", through=True)), "moved from sub-topology 0 to 1"),
        (lambda path: compared(path, counting("counts"), partitions=3), "sub-topology 0 had 2 partitions and has 3"),
        (
            lambda path: compared(path, counting("counts", config=StreamsConfig(dsl_store_format="headers"))),
            "was a timestamped key-value store and is a timestamped key-value with headers store",
        ),
    ],
)
def test_a_topology_that_state_cannot_follow_is_refused(
    tmp_path: Path, start: Callable[[Path], Remembered], why: str
) -> None:
    compared(tmp_path, counting("counts"))
    with pytest.raises(StreamsError, match="the topology has changed") as raised:
        start(tmp_path)
    assert why in str(raised.value.detail)
    assert not compared(tmp_path, counting("counts")).moved  # what was refused has left no trace


def test_a_topology_may_grow(tmp_path: Path) -> None:
    first = compared(tmp_path, counting("counts"))
    more = compared(tmp_path, counting("counts", "more"))
    assert first.markers.items() <= more.markers.items()


def test_without_state_more_partitions_are_just_more_tasks(tmp_path: Path) -> None:
    first = compared(tmp_path, counting())
    more = compared(tmp_path, counting(), partitions=3)
    assert more.moved
    assert first.markers.items() < more.markers.items()


def test_all_lanes_there_ever_were_are_remembered(tmp_path: Path) -> None:
    compared(tmp_path, counting("counts"), lanes=2)
    fewer = compared(tmp_path, counting("counts"), lanes=1)
    assert (fewer.moved, fewer.lanes) == (True, 2)
    assert compared(tmp_path, counting("counts"), lanes=1).lanes == 2  # they may still have something under way


def test_notes_are_whole_or_not_there(tmp_path: Path) -> None:
    checkpoint = Checkpoint(str(tmp_path))
    assert checkpoint.read("note.json") is None
    checkpoint.write("note.json", {"a": 1})
    assert json.loads((tmp_path / "millstream" / "note.json").read_text()) == {"a": 1}
    (tmp_path / "millstream" / "note.json").write_text("{")
    with pytest.raises(CheckpointDamaged, match="the checkpoint is damaged"):
        checkpoint.read("note.json")


def test_where_nothing_can_be_written_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    with pytest.raises(StreamsError, match="the checkpoint cannot be") as raised:
        compared(tmp_path / "file" / "checkpoint", counting("counts"))
    assert str(tmp_path / "file") in str(raised.value)


def test_the_beginning_is_the_same_when_the_first_batch_is_run_again(
    broker: DetachedBroker, make_topic: Callable[..., str], produce: Callable[..., None], tmp_path: Path
) -> None:
    topic = make_topic(1)
    builder = StreamsBuilder()
    builder.stream(topic, Consumed(Serdes.string, Serdes.string, offset_reset="latest")).to("out")
    topology, config = builder.build(), StreamsConfig(bootstrap_servers=broker.bootstrap_servers)
    program = Program("run", topology, Plan(topology, {topic: 1}), config, 1, str(tmp_path / "checkpoint"), None)
    produce(topic, [("a", "x")])
    first = Admission(program, Admin(config), Control(tmp_path)).beginning()
    assert first["topics"] == {topic: {"0": 1}}
    produce(topic, [("a", "y")])
    again = Admission(program, Admin(config), Control(tmp_path)).beginning()
    assert again == first
