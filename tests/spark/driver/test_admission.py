"""What a batch takes, without a broker."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from millstream import Consumed, GlobalKTable, JoinWindows, Serdes, StreamsBuilder, StreamsConfig, StreamsError
from millstream.kafka.admin import Partition
from millstream.kafka.errors import TopicMissing
from millstream.spark.driver.admission import Admission
from millstream.spark.driver.control import Control, LastBatch
from millstream.spark.plan import Plan
from millstream.spark.program import Program

from .times import Times

TEXT = Consumed(Serdes.string, Serdes.string)


class Broker(Times):
    """Topics with as many records as there are times.

    Attributes:
        made: how often a topic was made, if more than once.
        begin: the first offset that is still there, if it is not 0.
        away: whether topics are missing for the moment.
    """

    def __init__(self, times: Mapping[Partition, list[int]]) -> None:
        super().__init__(times)
        self.made: dict[str, int] = {}
        self.begin: dict[Partition, int] = {}
        self.away = False

    def end_offsets(self, partitions: Iterable[Partition], *, committed: bool | None = None) -> dict[Partition, int]:
        if self.away:
            raise TopicMissing("away")
        return {place: len(self.times[place]) for place in partitions}

    def begin_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return {place: self.begin.get(place, 0) for place in partitions}

    def committed_offsets(self, partitions: Iterable[Partition], group: str | None = None) -> dict[Partition, int]:
        return {}

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        return {topic: f"{topic}-{self.made.get(topic, 1)}" for topic in topics}

    def topics(self, *, internal: bool = False) -> dict[str, int]:
        return {topic: 1 + max(number for name, number in self.times if name == topic) for topic, _ in self.times}


def admission(builder: StreamsBuilder, broker: Broker, directory: Path, **options: Any) -> Admission:
    counts: dict[str, int] = {}
    for topic, partition in broker.times:
        counts[topic] = max(counts.get(topic, 0), partition + 1)
    topology = builder.build()
    config = StreamsConfig(max_batch_records=1_000, **options)
    program = Program("run", topology, Plan(topology, counts), config, 2, str(directory), None)
    return Admission(program, broker, Control(directory))


def stateless(*topics: str) -> StreamsBuilder:
    builder = StreamsBuilder()
    for topic in topics:
        builder.stream(topic, TEXT).map_values(str.upper).to("out")
    return builder


def sizes(start: dict[str, Any], end: dict[str, Any]) -> dict[str, int]:
    return {
        f"{topic}-{partition}": offset - start["topics"][topic][partition]
        for topic, offsets in end["topics"].items()
        for partition, offset in offsets.items()
    }


def test_a_batch_takes_its_share_of_each_partition(tmp_path: Path) -> None:
    broker = Broker({("in", 0): [0] * 3_000, ("in", 1): [0] * 1_000})
    found = admission(stateless("in"), broker, tmp_path)
    start = found.beginning()
    end = found.next(start)
    assert sizes(start, end) == {"in-0": 750, "in-1": 250}
    assert end["batch"] == 1


def test_the_next_batch_keeps_what_was_promised(tmp_path: Path) -> None:
    broker = Broker({("in", 0): [0] * 3_000, ("in", 1): [0] * 1_000})
    found = admission(stateless("in"), broker, tmp_path)
    first = found.next(found.beginning())
    assert first["guaranteed"] == {"in": {"0": 750 + 375, "1": 250 + 125}}
    # The batch was slow: the next is to be half as large, but not smaller than promised.
    Control(tmp_path).tell_last(LastBatch(60.0, 10.0))
    broker.times["in", 0].extend([0] * 100_000)
    second = found.next(first)
    assert sizes(first, second)["in-1"] >= 125
    assert sum(sizes(first, second).values()) <= 1_002
    # Also by somebody who has only read of it.
    again = admission(stateless("in"), broker, tmp_path).next({**first, "guaranteed": {"in": {"0": 2_000, "1": 900}}})
    assert sizes(first, again)["in-1"] >= 650


def test_nothing_is_promised_beyond_what_is_there(tmp_path: Path) -> None:
    broker = Broker({("in", 0): [0] * 1_100})
    found = admission(stateless("in"), broker, tmp_path)
    first = found.next(found.beginning())
    assert first["guaranteed"] == {"in": {"0": 1_100}}
    assert "guaranteed" not in found.next(first)


@pytest.mark.parametrize("idle", [timedelta(0), timedelta(seconds=1), None])
def test_nothing_is_promised_of_topics_that_meet(tmp_path: Path, idle: timedelta | None) -> None:
    builder = StreamsBuilder()
    windows = JoinWindows.of_time_difference(timedelta(seconds=1))
    builder.stream("a", TEXT).join(builder.stream("b", TEXT), lambda left, right: left, windows).to("out")
    builder.stream("alone", TEXT).to("out")
    times = list(range(5_000))
    broker = Broker({("a", 0): times, ("b", 0): times, ("alone", 0): times})
    found = admission(builder, broker, tmp_path, max_task_idle=idle)
    assert found.next(found.beginning())["guaranteed"].keys() == {"alone"}


def test_nothing_is_promised_where_batches_have_global_tables(tmp_path: Path) -> None:
    builder = stateless("in")
    table: GlobalKTable[str, str] = builder.global_table("names", TEXT)
    assert table is not None
    broker = Broker({("in", 0): [0] * 3_000, ("names", 0): [0]})
    found = admission(builder, broker, tmp_path)
    assert "guaranteed" not in found.next(found.beginning())


def test_batches_are_not_closer_than_the_commit_interval_unless_they_are_full(tmp_path: Path) -> None:
    broker = Broker({("in", 0): [0] * 10})
    found = admission(stateless("in"), broker, tmp_path, commit_interval=timedelta(hours=1))
    first = found.next(found.beginning())
    assert sizes(found.beginning(), first) == {"in-0": 10}
    broker.times["in", 0].extend([0] * 10)
    assert found.next(first) == first  # later
    broker.times["in", 0].extend([0] * 5_000)
    assert sizes(first, found.next(first)) == {"in-0": 1_000}


class Recreated:
    """An application that has read a topic, which is then made again with other records."""

    def __init__(self, directory: Path, reset: Any = None) -> None:
        self.broker = Broker({("in", 0): [0] * 100, ("in", 1): [0] * 40})
        self._directory = directory
        self._builder = StreamsBuilder()
        self._builder.stream("in", Consumed(Serdes.string, Serdes.string, offset_reset=reset)).to("out")
        self.admission = self.anew()
        begin = {"batch": 0, "now": 0, "topics": {"in": {"0": 0, "1": 0}}, "globals": {}}
        self.start = self.admission.next(begin)

    def anew(self) -> Admission:
        """The application starts again."""
        return admission(self._builder, self.broker, self._directory)

    def make_again(self, *counts: int) -> None:
        self.broker.made["in"] = self.broker.made.get("in", 1) + 1
        self.broker.times = {("in", partition): [0] * count for partition, count in enumerate(counts)}


@pytest.mark.parametrize("count", [30, 100, 300])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_topic_that_was_made_again_is_read_from_its_beginning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, count: int, restarted: bool
) -> None:
    app = Recreated(tmp_path)
    found = app.anew() if restarted else app.admission
    app.make_again(count, 50)
    with later():
        end = found.next(app.start)
    assert end["from"] == {"in": {"0": 0, "1": 0}}
    assert end["topics"] == {"in": {"0": count, "1": 50}}
    assert end["ids"] == {"in": "in-2"}
    assert "in-0: the topic was made again: it stood at offset 100 and goes on at 0" in caplog.text
    caplog.clear()
    app.broker.times["in", 0].append(0)
    with later(20.0):
        after = found.next(end)
    assert "from" not in after
    assert after["topics"]["in"]["0"] == count + 1
    assert not caplog.text


def test_a_topic_that_was_made_again_goes_on_at_its_end(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    app = Recreated(tmp_path, "latest")
    app.make_again(30, 40)
    end = app.admission.next(app.start)
    # Without any record, so that it is known also after a restart.
    assert (end["from"], end["topics"]) == ({"in": {"0": 30, "1": 40}}, {"in": {"0": 30, "1": 40}})
    assert caplog.text.count("offset reset: latest") == 2
    assert app.anew().next(end) == end


def test_a_topic_that_was_made_again_is_an_error_without_a_reset_policy(tmp_path: Path) -> None:
    app = Recreated(tmp_path, "none")
    app.make_again(30, 40)
    with pytest.raises(
        StreamsError, match="records of in, partition 0, that were not yet processed are gone"
    ) as raised:
        app.admission.next(app.start)
    assert "offset 100 comes next, but the topic was made again and has offsets 0 to 29" in str(raised.value)
    assert "offset_reset" in str(raised.value)


def test_a_topic_that_was_away_for_a_moment_is_looked_at(tmp_path: Path) -> None:
    app = Recreated(tmp_path)
    app.broker.away = True
    assert app.admission.next(app.start) == app.start
    app.broker.away = False
    app.make_again(300, 300)
    assert app.admission.next(app.start)["from"] == {"in": {"0": 0, "1": 0}}


def test_a_topic_with_another_number_of_partitions_has_another_plan(tmp_path: Path) -> None:
    app = Recreated(tmp_path)
    app.make_again(30, 30, 30)
    assert app.admission.next(app.start) == app.start
    assert Control(tmp_path).has_other_topics


def test_a_batch_of_a_topic_that_was_made_again_since_is_run_without_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = Recreated(tmp_path)
    app.broker.times["in", 0].extend([0] * 50)
    planned = app.admission.next(app.start)
    assert app.admission.made_again(app.start, planned) == set()
    assert app.anew().made_again(app.start, planned) == set()
    app.make_again(500, 500)
    assert app.anew().made_again(app.start, planned) == {"in"}
    assert "in-0: the topic was made again; offsets 100 to 149 of the topic before it" in caplog.text


def test_a_topic_that_has_lost_its_last_records_goes_on_at_its_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = Recreated(tmp_path)
    del app.broker.times["in", 0][90:]
    assert app.admission.next(app.start) == app.start  # a new leader may not know all yet
    with later(3.0):
        end = app.admission.next(app.start)
    assert end["from"] == {"in": {"0": 90}}
    assert "it stood at offset 100 and goes on at its end, 90" in caplog.text


@pytest.mark.parametrize(("reset", "goes_on"), [("earliest", 150), ("latest", 200), (None, 150)])
def test_records_that_were_deleted_while_it_was_away_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, reset: str | None, goes_on: int
) -> None:
    app = Recreated(tmp_path, reset)
    app.broker.times["in", 0].extend([0] * 100)
    app.broker.begin["in", 0] = 150
    end = app.anew().next(app.start)
    assert end["from"] == {"in": {"0": goes_on}}
    assert end["topics"]["in"] == {"0": 200, "1": 40}
    assert "in-0: 50 offsets are gone, deleted before they were read: it stood at offset 100" in caplog.text


def test_records_that_were_deleted_are_an_error_without_a_reset_policy(tmp_path: Path) -> None:
    app = Recreated(tmp_path, "none")
    app.broker.begin["in", 0] = 101
    app.broker.times["in", 0].append(0)
    with pytest.raises(StreamsError, match="that were not yet processed are gone"):
        app.anew().next(app.start)


def test_a_global_table_of_a_topic_that_was_made_again_is_read_anew(tmp_path: Path) -> None:
    builder = stateless("in")
    builder.global_table("names", TEXT)
    broker = Broker({("in", 0): [0] * 10, ("names", 0): [0]})
    found = admission(builder, broker, tmp_path)
    start = found.next(found.beginning())
    with later():
        found.next(start)
    broker.made["names"] = 2
    with later(20.0):
        assert found.next(start) == start
    assert Control(tmp_path).has_other_topics


@contextlib.contextmanager
def later(seconds: float = 10.0) -> Iterator[None]:
    """It is later than it is."""
    now = time.time() + seconds
    with mock.patch.object(time, "time", return_value=now):
        yield


def test_with_nothing_to_do_it_waits_for_records_until_something_else_is_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = Broker({("in", 0): [0] * 10, ("in", 1): []})
    found = admission(stateless("in"), broker, tmp_path)
    waits: list[tuple[dict[Partition, int], float]] = []
    rests: list[bool] = []

    class Arriving:
        def wait(self, ends: dict[Partition, int], seconds: float) -> None:
            waits.append((ends, seconds))

        def rest(self) -> None:
            rests.append(True)

    monkeypatch.setattr(found, "_arrivals", Arriving())
    first = found.next(found.beginning())
    end = time.monotonic() + 10
    while not waits and time.monotonic() < end:
        assert found.next(first) == first
    assert waits == [({("in", 0): 10, ("in", 1): 0}, 0.25)]
    Control(tmp_path).tell_due(int(time.time() * 1000) + 100)
    assert found.next(first) == first
    assert 0 < waits[-1][1] <= 0.1
    before = len(rests)
    broker.times["in", 1].append(0)
    assert sizes(first, found.next(first)) == {"in-0": 0, "in-1": 1}
    assert len(rests) == before + 1
