"""Persistent queries in lanes, with stand-ins for Spark and Kafka."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from millstream import StreamsConfig
from millstream.errors import StreamsError
from millstream.handlers import LogAndFailExceptionHandler
from millstream.hosting.lanes.messages import Close, Event, Failed, Figures, Order, Pause, Resume, Run, Stop, Stopped
from millstream.hosting.lanes.query import HostedQuery
from millstream.kafka.errors import TopicMissing
from millstream.kafka.topics import NewTopic
from millstream.sql.engine.api import Ksql
from millstream.sql.engine.progress import InputOffsets, QueryProgress
from millstream.sql.engine.queries import PersistentQuery, QueryState
from millstream.sql.engine.runners import lane_queries
from millstream.sql.engine.runners.applications import SkipUnreadable, application_config
from millstream.sql.engine.runners.lane_queries import LaneQueries
from millstream.sql.errors import SqlError
from millstream.sql.processing_log import PythonLog
from millstream.topology import Topology


class Job:
    """What `LaneQueries` needs of `LaneJob`: two lanes that let go of queries at once."""

    made: list[Job]

    def __init__(
        self, config: StreamsConfig, service: str, hear: Callable[[int, Event], None], gone: Callable[[Exception], None]
    ) -> None:
        self.service, self.hear = service, hear
        self.orders: list[Order] = []
        self.lanes = {0, 1}
        type(self).made.append(self)

    def start(self, session: object) -> None:
        """Nothing runs."""

    def order(self, order: Order) -> None:
        self.orders.append(order)
        if isinstance(order, Stop):
            for lane in self.lanes:
                self.hear(lane, Stopped(order.query))

    def close(self) -> None:
        self.orders.append(Close())


class Broker:
    """What `LaneQueries` needs of `Admin` and `GroupAdmin`."""

    deleted: list[str]
    there: list[str]

    def __init__(self, config: StreamsConfig) -> None:
        pass

    def topics(self) -> dict[str, int]:
        return dict.fromkeys(self.there, 1)

    def ensure_topic(self, topic: NewTopic) -> None:
        self.there.append(topic.name)

    def delete_topics(self, names: list[str]) -> None:
        for name in names:
            if name in MISSING:
                raise TopicMissing(f"cannot delete topic {name}: the topic does not exist")
            self.deleted.append(name)

    def begin_offsets(self, partitions: list[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return dict.fromkeys(partitions, 0)

    def end_offsets(self, partitions: list[tuple[str, int]], *, committed: bool) -> dict[tuple[str, int], int]:
        return dict.fromkeys(partitions, 20)

    def close(self) -> None:
        pass


#: Topics that another server deletes.
MISSING: list[str] = []
#: Queries that cannot be prepared.
REFUSED: list[str] = []


def prepare(query_id: str, topology: Topology, config: StreamsConfig, admin: object) -> HostedQuery:
    Broker.there.append(f"{config.application_id}-x-changelog")
    if query_id in REFUSED:
        raise StreamsError("it does not start")
    return HostedQuery(query_id, topology, config, {}, {})


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> LaneQueries:
    Job.made, Broker.deleted, Broker.there = [], [], []
    REFUSED.clear()
    MISSING.clear()
    for name, stand_in in (("LaneJob", Job), ("Admin", Broker), ("GroupAdmin", Broker), ("prepare", prepare)):
        monkeypatch.setattr(lane_queries, name, stand_in)
    monkeypatch.setattr(lane_queries, "spark_session", lambda config: object())
    return LaneQueries(StreamsConfig(application_id="shop", bootstrap_servers="somewhere:1"), PythonLog())


def query(name: str = "c", *settings: str) -> PersistentQuery:
    ksql = Ksql.in_memory({"ksql.service.id": "shop_"})
    for setting in settings:
        ksql.execute(setting)
    ksql.execute("CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic='s', value_format='JSON');")
    ksql.execute(f"CREATE STREAM {name} AS SELECT * FROM s;")
    (found,) = ksql.queries
    return found


def test_all_queries_share_one_job(runner: LaneQueries) -> None:
    runner.start(query("a"))
    runner.start(query("b"))
    (job,) = Job.made
    assert job.service == "shop"
    queries = [order.query for order in job.orders if isinstance(order, Run)]
    assert [found.id for found in queries] == ["CSAS_A_0", "CSAS_B_0"]
    assert queries[0].config.application_id == "_confluent-ksql-shop_query_CSAS_A_0"
    assert "shop-slots" in Broker.there


def test_a_query_that_ends_leaves_nothing(runner: LaneQueries) -> None:
    ended = query()
    runner.start(ended)
    Broker.there += [f"{ended.application_id}2-x-changelog", "C"]
    runner.stop(ended)
    assert Job.made[0].orders[-1] == Stop(ended.id, for_good=True)
    assert Broker.deleted == [f"{ended.application_id}-x-changelog"]
    assert runner.state(ended) is QueryState.ERROR


def test_another_server_may_delete_the_topics_of_a_query_that_ends(runner: LaneQueries) -> None:
    ended = query()
    runner.start(ended)
    Broker.there.append(f"{ended.application_id}-a-changelog")
    MISSING.append(f"{ended.application_id}-a-changelog")
    runner.stop(ended)
    assert Broker.deleted == [f"{ended.application_id}-x-changelog"]


def test_a_query_that_does_not_start_leaves_nothing(runner: LaneQueries) -> None:
    new = query()
    REFUSED.append(new.id)
    with pytest.raises(StreamsError, match="it does not start"):
        runner.start(new)
    assert Broker.deleted == [f"{new.application_id}-x-changelog"]
    assert Job.made[0].orders == []


def test_the_replaced_query_goes_on_when_the_new_one_does_not_start(runner: LaneQueries) -> None:
    running = query()
    runner.start(running)
    REFUSED.append(running.id)
    with pytest.raises(StreamsError, match="it does not start"):
        runner.start(query())
    assert runner.state(running) is QueryState.RUNNING
    assert Broker.deleted == []  # they are those of the query that goes on


def test_lanes_let_a_query_go_before_they_run_what_replaces_it(runner: LaneQueries) -> None:
    running = query()
    runner.start(running)
    runner.pause(running)
    runner.start(query())
    orders = Job.made[0].orders
    assert [type(order) for order in orders] == [Run, Pause, Stop, Run, Pause]
    assert orders[2] == Stop(running.id, for_good=False)
    assert runner.state(running) is QueryState.PAUSED
    assert Broker.deleted == []


def test_a_lane_that_died_has_let_its_queries_go(runner: LaneQueries, monkeypatch: pytest.MonkeyPatch) -> None:
    running = query()
    runner.start(running)
    (job,) = Job.made

    def order(order: Order) -> None:
        job.hear(0, Stopped(running.id))
        job.lanes = {0}

    monkeypatch.setattr(job, "order", order)
    monkeypatch.setattr(lane_queries, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(lane_queries, "_STOP_SECONDS", 600.0)
    runner.stop(running)
    assert Broker.deleted == [f"{running.application_id}-x-changelog"]


def test_a_query_that_does_not_run_cannot_be_paused(runner: LaneQueries) -> None:
    with pytest.raises(SqlError, match="does not run"):
        runner.pause(query())


def test_states(runner: LaneQueries) -> None:
    running = query()
    assert runner.state(running) is QueryState.ERROR
    runner.start(running)
    assert runner.state(running) is QueryState.RUNNING
    runner.pause(running)
    assert runner.state(running) is QueryState.PAUSED
    runner.resume(running)
    (job,) = Job.made
    assert job.orders[1:] == [Pause(running.id), Resume(running.id)]
    job.hear(0, Failed(running.id, "once", is_final=False))
    assert runner.state(running) is QueryState.RUNNING
    job.hear(0, Failed(running.id, "it broke", is_final=True))
    assert runner.state(running) is QueryState.ERROR
    assert [error.error_message for error in runner.errors(running)] == ["once", "it broke"]


def test_figures_of_all_lanes_are_one(runner: LaneQueries) -> None:
    running = query()
    runner.start(running)
    (job,) = Job.made
    job.hear(0, Figures(running.id, ("0_0",), 10, 1, {"s-0": 10}, {"s-0": 0}))
    job.hear(1, Figures(running.id, ("0_1",), 5, 0, {"s-1": 5}, {"s-1": 7}))
    assert runner.figures()[running.id] == {
        "tasks": 2,
        "process-total": 15,
        "dropped-records-total": 1,
        "records-lag": 7,
    }
    assert runner.positions(running) == {"s-0": (10, 0), "s-1": (5, 7)}
    progress = runner.progress(running)
    assert (progress.processed, progress.dropped, progress.lag) == (15, 1, 7)
    assert progress.rate > 0
    assert progress.last is not None
    assert runner.offsets(running) == [InputOffsets("s", 0, 0, 20, 10), InputOffsets("s", 1, 0, 20, 5)]
    assert runner.progress(query("other")) == QueryProgress()


def test_waiting(runner: LaneQueries) -> None:
    assert runner.wait()
    failing = query()
    runner.start(failing)
    assert not runner.wait(timedelta(0))
    Job.made[0].hear(0, Failed(failing.id, "it broke", is_final=True))
    with pytest.raises(StreamsError, match=failing.id):
        runner.wait()
    runner.close()
    assert Job.made[0].orders[-1] == Close()


def test_settings_of_the_session_configure_the_application() -> None:
    base = StreamsConfig(bootstrap_servers="somewhere:1", client={"security.protocol": "ssl"})
    configured = application_config(
        base,
        query(
            "c",
            "SET 'auto.offset.reset' = 'earliest';",
            "SET 'processing.guarantee' = 'exactly_once_v2';",
            "SET 'ksql.streams.cache.max.bytes.buffering' = '0';",
            "SET 'commit.interval.ms' = '250';",
            "SET 'max.task.idle.ms' = '7';",
        ),
        PythonLog(),
    )
    expected: dict[str, Any] = {
        "offset_reset": "earliest",
        "exactly_once": True,
        "statestore_cache_max_bytes": 0,
        "commit_interval": timedelta(milliseconds=250),
        "max_task_idle_ms": 7,
    }
    assert {name: getattr(configured, name) for name in expected} == expected
    assert configured.client["security.protocol"] == "ssl"
    assert isinstance(configured.deserialization_exception_handler, SkipUnreadable)


def test_unreadable_records_can_stop_a_query() -> None:
    strict = query("c", "SET 'ksql.fail.on.deserialization.error' = 'true';")
    configured = application_config(StreamsConfig(), strict, PythonLog())
    assert isinstance(configured.deserialization_exception_handler, LogAndFailExceptionHandler)
    assert configured.commit_interval is None  # results are seen sooner than ksqlDB would show them
