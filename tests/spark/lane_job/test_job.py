"""Lanes as a Spark job: killed, started anew, and gone when it ends."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from confluent_kafka import Message
from tests.spark.conftest import Apps

from millstream import Consumed, Grouped, Produced, Serdes, StreamsBuilder, Topology
from millstream.hosting.lanes.messages import Run
from millstream.hosting.lanes.notes import slots_topic
from millstream.hosting.lanes.preparing import prepare
from millstream.kafka.admin import Admin
from millstream.spark.lane_job.job import LaneJob
from millstream.spark.startup.session import lanes_of, spark_session

_SECONDS = 120.0


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + _SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def counting(source: str, out: str) -> Topology:
    builder = StreamsBuilder()
    grouped = builder.stream(source, Consumed(Serdes.string, Serdes.string)).group_by_key(
        Grouped(Serdes.string, Serdes.string)
    )
    grouped.count().to_stream().to(out, Produced(Serdes.string, Serdes.long))
    return builder.build()


@pytest.fixture
def start(apps: Apps, admin: Admin) -> Iterator[Callable[[], LaneJob]]:
    """Has Spark run lanes of a service of their own."""
    started: list[LaneJob] = []

    def start() -> LaneJob:
        config = apps.config()
        admin.ensure_topic(slots_topic(config.application_id))
        started.append(
            LaneJob(config, config.application_id, lambda lane, event: None, lambda error: pytest.fail(str(error)))
        )
        started[-1].start(spark_session(config))
        return started[-1]

    yield start
    for job in started:
        job.close()
    until(lambda: not any(job.lanes for job in started))


def test_a_killed_lane_is_started_anew(
    start: Callable[[], LaneJob],
    apps: Apps,
    admin: Admin,
    make_topic: Callable[..., str],
    produce: Callable[..., None],
    consume: Callable[..., list[Message]],
) -> None:
    source, out = make_topic(4, name="in"), make_topic(1, name="out")
    config = replace(apps.config(), statestore_cache_max_bytes=0)
    job = start()
    job.order(Run(prepare("q", counting(source, out), config, admin)))
    count = lanes_of(spark_session(config))  # the process's session may be that of other tests
    until(lambda: len(job.lanes) == count)
    produce(source, [(f"k{n % 5}", "v") for n in range(100)])
    consume(out, 100, timeout=_SECONDS)
    before = {hello.process for hello in job.lanes.values()}
    produce(source, [(f"k{n % 5}", "v") for n in range(100)])
    for process in before:
        os.kill(process, signal.SIGKILL)
    until(lambda: len(job.lanes) == count and before.isdisjoint(hello.process for hello in job.lanes.values()))
    found: dict[bytes | None, list[int]] = {}
    for message in consume(out, 200, timeout=_SECONDS):
        found.setdefault(message.key(), []).append(int.from_bytes(message.value() or b"", "big"))
    assert found == {f"k{n}".encode(): list(range(1, 41)) for n in range(5)}


def test_services_and_applications_in_one_process_do_not_wait_for_each_other(
    start: Callable[[], LaneJob],
    apps: Apps,
    make_topic: Callable[..., str],
    produce: Callable[..., None],
    consume: Callable[..., list[Message]],
) -> None:
    jobs = [start() for _ in range(3)]
    count = lanes_of(spark_session(apps.config()))
    until(lambda: all(len(job.lanes) == count for job in jobs))
    source, out = make_topic(2, name="in"), make_topic(1, name="out")
    produce(source, [(f"k{n % 5}", "v") for n in range(10)])
    apps.run_once(counting(source, out), apps.config())
    assert len(consume(out, 10)) == 10
