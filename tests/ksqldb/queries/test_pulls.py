"""How many pull queries there may be."""

from __future__ import annotations

import pytest

from millstream.ksqldb.api import ServiceError
from millstream.ksqldb.queries.pulls import PullLimits
from millstream.sql.settings import Settings


def settings(name: str, value: int) -> Settings:
    return Settings({f"ksql.query.pull.max.{name}": value})


def test_without_limits_nothing_is_refused() -> None:
    limits = PullLimits()
    for _ in range(1000):
        limits.enter(Settings())


def test_only_so_many_at_once() -> None:
    limits, two = PullLimits(), settings("concurrent.requests", 2)
    limits.enter(two)
    limits.enter(two)
    with pytest.raises(ServiceError, match="concurrency limit"):
        limits.enter(two)
    limits.leave()
    limits.enter(two)


def test_only_so_many_in_a_second() -> None:
    now = [100.0]
    limits, two = PullLimits(lambda: now[0]), settings("qps", 2)
    for _ in range(2):
        limits.enter(two)
    with pytest.raises(ServiceError, match="rate limit for pull queries"):
        limits.enter(two)
    now[0] += 1
    limits.enter(two)


def test_only_so_much_in_an_hour() -> None:
    now = [100.0]
    limits, one = PullLimits(lambda: now[0]), settings("hourly.bandwidth.megabytes", 1)
    limits.enter(one)
    limits.sent(one, "x" * 2**20)
    with pytest.raises(ServiceError, match="1 megabytes per hour"):
        limits.enter(one)
    now[0] += 3600
    limits.enter(one)
