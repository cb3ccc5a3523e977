"""Records of long ago: the changelogs of windows keep them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from datetime import timedelta

import pytest

from millstream import Consumed, Grouped, Materialized, Serdes, StreamsBuilder, StreamsConfig, TimeWindows
from millstream.changelogs import changelogs_of
from millstream.errors import MillstreamError
from millstream.hosting.old_times import OldTimes
from millstream.kafka.admin import Admin
from millstream.kafka.broker import DevBroker
from millstream.kafka.topics import DAY_MS, NewTopic

from .lanes.conftest import until

Look = Callable[[int], None]


@pytest.fixture
def config(broker: DevBroker) -> StreamsConfig:
    return StreamsConfig(application_id=f"old-{uuid.uuid4().hex[:8]}", bootstrap_servers=broker.bootstrap_servers)


@pytest.fixture
def look(config: StreamsConfig, admin: Admin) -> Look:
    """Has a task look that has records so many days old."""
    builder = StreamsBuilder()
    grouped = builder.stream("in", Consumed(Serdes.string, Serdes.string)).group_by_key(
        Grouped(Serdes.string, Serdes.string)
    )
    grouped.count(Materialized("plain"))
    windows = TimeWindows.of_size(timedelta(minutes=1), grace=timedelta(0))
    grouped.windowed_by(windows).count(Materialized("windows"))
    topology = builder.build()
    logs = changelogs_of(topology, config.application_id)
    admin.create_topics([NewTopic(log.topic, 1, {"retention.ms": str(2 * DAY_MS)}) for log in logs.values()])
    admin.wait_for_topics([log.topic for log in logs.values()])
    old = OldTimes(topology, logs, config)
    return lambda days: old.look(int(time.time() * 1000) - days * DAY_MS)


def kept_days(admin: Admin, config: StreamsConfig, store: str) -> int:
    kept = admin.topic_settings(f"{config.application_id}-{store}-changelog")["retention.ms"]
    return int(kept or 0) // DAY_MS


def test_windows_of_long_ago_are_kept(look: Look, admin: Admin, config: StreamsConfig) -> None:
    """For as long again as they are old, and longer when they get older; other stores do not lose rows by age."""
    look(0)
    assert kept_days(admin, config, "windows") == 2
    look(1000)
    until(lambda: kept_days(admin, config, "windows") in (2000, 2001))
    assert kept_days(admin, config, "plain") == 2
    look(1500)
    assert kept_days(admin, config, "windows") in (2000, 2001)
    look(3000)
    until(lambda: kept_days(admin, config, "windows") in (6000, 6001))


def test_what_is_kept_for_longer_is_left_as_it_is(look: Look, admin: Admin, config: StreamsConfig) -> None:
    admin.set_topic(f"{config.application_id}-windows-changelog", "retention.ms", "-1")
    until(lambda: kept_days(admin, config, "windows") < 0)
    look(1000)
    assert admin.topic_settings(f"{config.application_id}-windows-changelog")["retention.ms"] == "-1"


def test_it_is_told_once_where_that_is_not_allowed(
    look: Look, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise MillstreamError("the broker refuses to set retention.ms")

    monkeypatch.setattr(Admin, "set_topic", refuse)
    look(1000)
    look(1000)
    (said,) = [record.getMessage() for record in caplog.records]
    assert "records are 1000 days old" in said
    assert "store windows " in said
    assert "windowstore_changelog_additional_retention to more than 1001 days" in said
    assert "refuses" in said
