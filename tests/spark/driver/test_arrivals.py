"""Waiting for records on a real broker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from millstream import StreamsConfig
from millstream.kafka.detached import DetachedBroker
from millstream.spark.driver.arrivals import Arrivals


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_a_record_ends_the_wait(
    broker: DetachedBroker, make_topic: Callable[..., str], produce: Callable[..., None], guarantee: Any
) -> None:
    topic = make_topic(2)
    produce(topic, [("a", "old")], partition=0)
    arrivals = Arrivals(StreamsConfig(bootstrap_servers=broker.bootstrap_servers, processing_guarantee=guarantee))
    ends = {(topic, 0): 1, (topic, 1): 0}
    begun = time.monotonic()
    arrivals.wait(ends, 0.1)  # what was there before is nothing new
    assert time.monotonic() - begun < 10
    for number in range(2):
        ended = threading.Event()

        def wait(ended: threading.Event = ended) -> None:
            arrivals.wait(ends, 60)
            ended.set()

        thread = threading.Thread(target=wait)
        thread.start()
        produce(topic, [("b", "new")], partition=1)
        assert ended.wait(30)
        thread.join()
        ends[topic, 1] = number + 1
    arrivals.rest()


def test_a_broker_that_is_away_is_no_reason_to_spin() -> None:
    arrivals = Arrivals(StreamsConfig(bootstrap_servers="127.0.0.1:1"))
    begun = time.monotonic()
    for _ in range(3):
        arrivals.wait({("in", 0): 0}, 0.1)
    assert time.monotonic() - begun > 0.2
