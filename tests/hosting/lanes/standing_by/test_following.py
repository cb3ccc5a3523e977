"""What the thread that stands by makes of what a consumer gives it, however that is cut."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message, TopicPartition

from millstream import StreamsConfig
from millstream.hosting.lanes.query import HostedQuery
from millstream.hosting.lanes.settings import LaneSettings
from millstream.hosting.lanes.standing_by import following
from millstream.hosting.lanes.standing_by.following import StandingBy
from millstream.hosting.lanes.standing_by.group import Group, Member

from ..conftest import until
from .test_standby import PARTITION, query_of

Start = Callable[[list[list[Message]]], StandingBy]
END = 4  # the last offset is the mark of a transaction


class ScriptedConsumer:
    """Gives what it is told, piece by piece."""

    def __init__(self, pieces: list[list[Message]]) -> None:
        self._pieces = pieces
        self._at_hand: list[Message] = []
        self._is_assigned = False

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        self._is_assigned = True

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        self._is_assigned = False

    def get_watermark_offsets(self, partition: TopicPartition, cached: bool) -> tuple[int, int]:
        return 0, END

    def poll(self, seconds: float) -> Message | None:
        if not self._is_assigned or not self._pieces:
            time.sleep(0.01)
            return None
        first, *self._at_hand = self._pieces.pop(0)
        return first

    def consume(self, count: int, seconds: float) -> list[Message]:
        return self._at_hand

    def close(self) -> None:
        pass


def record(offset: int) -> Message:
    return Message(*PARTITION, offset, b"key-%d" % offset, b"%d" % offset, timestamp=(1, offset))


def end(offset: int, partition: int = 0) -> Message:
    return Message(PARTITION[0], partition, offset, error=KafkaError(KafkaError._PARTITION_EOF))


@pytest.fixture
def query() -> HostedQuery:
    return query_of("key-value in memory", None)


@pytest.fixture
def start(query: HostedQuery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    started: list[StandingBy] = []
    (task,) = query.tasks
    members = [
        Member("me", "app-lane-1", "h1", frozenset()),
        Member("other", "app-lane-2", "h2", frozenset({task.slot})),
    ]

    class OneGroup:
        def __init__(self, *_: object) -> None:
            pass

        def look(self) -> list[Member]:
            return members

    def run(pieces: list[list[Message]]) -> StandingBy:
        consumer = ScriptedConsumer(pieces)
        monkeypatch.setattr(following, "make_consumer", lambda *_, **__: consumer)
        monkeypatch.setattr(following, "Group", OneGroup)
        config = replace(StreamsConfig(application_id="app"), num_standby_replicas=1)
        standing_by = StandingBy(LaneSettings(config, "app", "lane-1"), lambda: [query], set, tmp_path)
        standing_by.start()
        started.append(standing_by)
        return standing_by

    yield run
    for one in started:
        one.close()


@pytest.mark.parametrize(
    "pieces",
    [
        [[record(0), record(1), record(2), end(END)]],
        [[record(0)], [record(1), end(2)], [record(2), end(END)]],
        [[record(0), end(1), record(1), end(2), record(2)], [end(END)]],
    ],
    ids=["at once", "in pieces", "ends between"],
)
def test_records_before_the_end_are_there(start: Start, query: HostedQuery, pieces: list[list[Message]]) -> None:
    standing_by = start(pieces)
    until(lambda: standing_by.lags("q") == {"0_0": 0})
    (task,) = query.tasks
    warm = standing_by.take(query, task)
    assert warm is not None
    assert warm.positions == {PARTITION: END}
    assert dict(warm._in_memory["s"].snapshot()) == {b"key-%d" % offset: b"%d" % offset for offset in range(3)}


def test_a_lane_that_comes_to_others_reads_few_tasks_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = replace(query_of("key-value in memory", None), counts={"topic": 5})
    pieces: list[list[Message]] = []
    monkeypatch.setattr(following, "make_consumer", lambda *_, **__: ScriptedConsumer(pieces))
    monkeypatch.setattr(following, "_LOOK_BEFORE_JOINING_SECONDS", 0.01)
    monkeypatch.setattr(following, "_ADAPT_SECONDS", 0.01)
    others = [Member("other", "app-else-2", "h2", frozenset(task.slot for task in query.tasks))]
    monkeypatch.setattr(Group, "look", lambda _: others)
    config = StreamsConfig(
        application_id="app", num_standby_replicas=1, acceptable_recovery_lag=0, max_warmup_replicas=2
    )
    standing_by = StandingBy(LaneSettings(config, "app", "lane-1"), lambda: [query], set, tmp_path)
    standing_by.start()
    try:
        for opened in (2, 4, 5):
            until(partial(lambda count: len(standing_by.lags("q")) == count, opened))
            cold = [name for name, lag in standing_by.lags("q").items() if lag]
            assert len(cold) <= 2
            pieces += [[end(END, int(name.partition("_")[2]))] for name in cold]
    finally:
        standing_by.close()
