"""Records of long ago: windows whose changelogs Kafka may delete are told."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest

from millstream import Consumed, Grouped, Materialized, Serdes, StreamsBuilder, StreamsConfig, TimeWindows
from millstream.hosting.old_times import OldTimes

DAY_MS = 86_400_000


def looks(caplog: pytest.LogCaptureFixture, days: int, additional: timedelta) -> list[str]:
    builder = StreamsBuilder()
    grouped = builder.stream("in", Consumed(Serdes.string, Serdes.string)).group_by_key(
        Grouped(Serdes.string, Serdes.string)
    )
    grouped.count(Materialized("plain"))
    windows = TimeWindows.of_size(timedelta(minutes=1), grace=timedelta(0))
    grouped.windowed_by(windows).count(Materialized("windows"))
    config = StreamsConfig(windowstore_changelog_additional_retention=additional)
    old = OldTimes(builder.build(), ["plain", "windows"], config)
    for _ in range(2):
        old.look(int(time.time() * 1000) - days * DAY_MS)
    return [record.getMessage() for record in caplog.records]


def test_old_records_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    (said,) = looks(caplog, 1000, timedelta(days=1))
    assert "records are 1000 days old" in said
    assert "store windows " in said
    assert "windowstore_changelog_additional_retention to more than 1001 days" in said


@pytest.mark.parametrize(("days", "additional"), [(0, 1), (1000, 1100)])
def test_nothing_is_told_where_nothing_is_lost(caplog: pytest.LogCaptureFixture, days: int, additional: int) -> None:
    assert looks(caplog, days, timedelta(days=additional)) == []
