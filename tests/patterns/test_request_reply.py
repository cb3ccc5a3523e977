"""Requests whose time is over, and requests that come again."""

from __future__ import annotations

from datetime import timedelta

from examples.patterns.request_reply import app

from millstream import Serdes
from millstream.testing import TopologyTestDriver


def test_what_nobody_waits_for_is_neither_executed_nor_remembered() -> None:
    with TopologyTestDriver(app.topology(), wall_clock_start=0) as driver:
        requests = driver.input_topic(app.REQUESTS, Serdes.string, Serdes.json(app.Request))
        replies = driver.output_topic(f"{app.REPLIES_PREFIX}ann", Serdes.string, Serdes.json(app.Reply))
        early, late = app.Request("r1", "ann", 20_000), app.Request("r2", "ann", 5_000)
        requests.pipe("bakery", early)
        requests.pipe("bakery", early)
        driver.advance_wall_clock(timedelta(seconds=10))
        requests.pipe("bakery", late)
        requests.pipe("bakery", app.Request("r3", "ann", 20_000))
        assert [(reply.id, reply.number) for reply in replies.read_values()] == [("r1", 1), ("r1", 1), ("r3", 2)]
        driver.advance_wall_clock(timedelta(seconds=10))
        assert list(driver.key_value_store("counter-given").all()) == []
