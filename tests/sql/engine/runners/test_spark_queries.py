"""Persistent queries as applications, with stand-ins for Spark and Kafka."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from millstream import StreamsConfig
from millstream.errors import StreamsError
from millstream.handlers import LogAndFailExceptionHandler
from millstream.spark.client import State
from millstream.sql.engine.api import Ksql
from millstream.sql.engine.queries import PersistentQuery, QueryState
from millstream.sql.engine.runners import spark_queries
from millstream.sql.engine.runners.applications import SkipUnreadable, application_config
from millstream.sql.engine.runners.spark_queries import SparkQueries
from millstream.sql.errors import SqlError
from millstream.sql.processing_log import PythonLog


class Application:
    """What `SparkQueries` needs of `KafkaStreams`."""

    made: list[Application]
    #: How many of the next ones do not start.
    refused = 0

    def __init__(self, topology: object, config: StreamsConfig, session: object) -> None:
        self.config, self.session = config, session
        self.state = State.CREATED
        self.is_paused = False
        self.failure: StreamsError | None = None
        type(self).made.append(self)

    def start(self) -> None:
        if type(self).refused:
            type(self).refused -= 1
            self.state = State.ERROR
            Broker.there.append(f"{self.config.application_id}-progress")
            raise StreamsError("it does not start")
        self.state = State.RUNNING

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False

    def close(self) -> None:
        if self.state is not State.ERROR:
            self.state = State.NOT_RUNNING

    def fail(self) -> None:
        self.failure, self.state = StreamsError("it broke"), State.ERROR


class Broker:
    """What `SparkQueries` needs of `GroupAdmin`."""

    deleted: list[str]
    there: list[str]

    def __init__(self, config: StreamsConfig) -> None:
        pass

    def topics(self) -> dict[str, int]:
        return dict.fromkeys(self.there, 1)

    def delete_topics(self, names: list[str]) -> None:
        self.deleted.extend(names)

    def delete_groups(self, names: list[str]) -> None:
        self.deleted.extend(f"group {name}" for name in names)

    def close(self) -> None:
        pass


@pytest.fixture
def applications(monkeypatch: pytest.MonkeyPatch) -> list[Application]:
    Application.made, Broker.deleted, Broker.there = [], [], []
    monkeypatch.setattr(spark_queries, "KafkaStreams", Application)
    monkeypatch.setattr(spark_queries, "GroupAdmin", Broker)
    monkeypatch.setattr(spark_queries, "spark_session", lambda config: object())
    return Application.made


@pytest.fixture
def runner(applications: list[Application], tmp_path: Path) -> SparkQueries:
    config = StreamsConfig(bootstrap_servers="somewhere:1", checkpoint_location=tmp_path)
    return SparkQueries(config, PythonLog())


def query(name: str = "c", *settings: str) -> PersistentQuery:
    ksql = Ksql.in_memory({"ksql.service.id": "shop_"})
    for setting in settings:
        ksql.execute(setting)
    ksql.execute("CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic='s', value_format='JSON');")
    ksql.execute(f"CREATE STREAM {name} AS SELECT * FROM s;")
    (found,) = ksql.queries
    return found


def test_all_queries_share_one_session(runner: SparkQueries, applications: list[Application]) -> None:
    runner.start(query("a"))
    runner.start(query("b"))
    first, second = applications
    assert first.session is second.session
    assert first.config.application_id == "_confluent-ksql-shop_query_CSAS_A_0"
    assert first.config.checkpoint_location != second.config.checkpoint_location


def test_a_query_of_the_same_id_takes_the_place(runner: SparkQueries, applications: list[Application]) -> None:
    runner.start(query())
    runner.start(query())
    before, now = applications
    assert (before.state, now.state) == (State.NOT_RUNNING, State.RUNNING)
    assert before.config.checkpoint_location == now.config.checkpoint_location


def test_a_query_that_ends_leaves_nothing(
    runner: SparkQueries, applications: list[Application], tmp_path: Path
) -> None:
    ended = query()
    own = f"{ended.application_id}-Aggregate-GroupBy-repartition"
    Broker.there = [own, f"{ended.application_id}-progress", f"{ended.application_id}2-x-changelog", "C"]
    runner.start(ended)
    (tmp_path / ended.id / "spark").mkdir(parents=True)
    runner.stop(ended)
    assert applications[0].state is State.NOT_RUNNING
    assert Broker.deleted == [own, f"{ended.application_id}-progress", f"group {ended.application_id}"]
    assert not (tmp_path / ended.id).exists()


def test_a_query_that_does_not_start_leaves_nothing(runner: SparkQueries, applications: list[Application]) -> None:
    new = query()
    kept = f"{new.application_id}-x-changelog"
    Broker.there = [kept, "C"]  # of an earlier run
    Application.refused = 1
    with pytest.raises(StreamsError, match="it does not start"):
        runner.start(new)
    assert Broker.deleted == [f"{new.application_id}-progress", f"group {new.application_id}"]
    assert list(runner.applications()) == []


def test_the_replaced_query_goes_on_when_the_new_one_does_not_start(
    runner: SparkQueries, applications: list[Application]
) -> None:
    runner.start(query())
    Application.refused = 1
    with pytest.raises(StreamsError, match="it does not start"):
        runner.start(query())
    assert [application.state for application in applications] == [State.NOT_RUNNING, State.ERROR, State.RUNNING]
    running: list[object] = [streams for _, streams in runner.applications()]
    assert running == applications[2:]


def test_it_is_told_when_the_replaced_query_does_not_go_on(
    runner: SparkQueries, applications: list[Application]
) -> None:
    runner.start(query())
    Application.refused = 2
    with pytest.raises(StreamsError, match="it does not start") as caught:
        runner.start(query())
    assert caught.value.detail == (
        "the query it should replace is stopped and does not start again (it does not start)"
    )


def test_a_query_that_does_not_run_cannot_be_paused(runner: SparkQueries) -> None:
    with pytest.raises(SqlError, match="does not run"):
        runner.pause(query())


def test_states(runner: SparkQueries, applications: list[Application]) -> None:
    running = query()
    assert runner.state(running) is QueryState.ERROR
    runner.start(running)
    assert runner.state(running) is QueryState.RUNNING
    runner.pause(running)
    assert runner.state(running) is QueryState.PAUSED
    runner.resume(running)
    assert runner.errors(running) == []
    applications[0].fail()
    assert runner.state(running) is QueryState.ERROR
    assert runner.errors(running) == ["it broke"]


def test_waiting(runner: SparkQueries, applications: list[Application]) -> None:
    assert runner.wait()
    runner.start(query())
    assert not runner.wait(timedelta(0))
    applications[0].fail()
    with pytest.raises(StreamsError, match="it broke"):
        runner.wait()
    runner.close()
    assert runner.wait()


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
