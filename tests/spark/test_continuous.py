"""Applications that run continuously: their life, and what is left of them when something is killed."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import cloudpickle
import pytest
from confluent_kafka import Message

from millstream import (
    Grouped,
    Materialized,
    Produced,
    Serdes,
    StreamsBuilder,
    Topology,
)
from millstream.errors import StreamsError
from millstream.kafka.admin import Admin
from millstream.kafka.group_admin import GroupAdmin
from millstream.kafka.topics import NewTopic
from millstream.spark.client import KafkaStreams
from millstream.spark.life import State, UncaughtAction
from millstream.spark.runtimes.continuous import ContinuousRuntime

from .conftest import PATIENCE, Apps, processes_of_lanes
from .crashes import wait_until

cloudpickle.register_pickle_by_value(sys.modules[__name__])

KEYS = "abkdhnceifgo"
Make = Callable[..., str]
Produce = Callable[..., None]
Counts = Callable[..., dict[str, list[int]]]
Build = Callable[..., Topology]


def _counting_twice(topic: str, out: str, again: str) -> Topology:
    """A count of each key, and behind a repartition topic one of each value."""
    builder = StreamsBuilder()
    stream = builder.stream(topic)
    numbers = Produced(Serdes.string, Serdes.long)
    texts = Grouped(Serdes.string, Serdes.string)
    stream.group_by_key(texts).count(materialized=Materialized("counts")).to_stream().to(out, numbers)
    stream.group_by(lambda key, value: value, texts).count().to_stream().to(again, numbers)
    return builder.build()


@pytest.mark.parametrize("guarantee", ["exactly_once_v2", "at_least_once"])
def test_it_goes_on_where_it_was(
    apps: Apps, counting: Build, make_topic: Make, produce: Produce, counts: Counts, guarantee: str, admin: Admin
) -> None:
    """Files of the machine are used if they are there, and not needed; others see by the group how far it is."""
    topic, out = make_topic(4), make_topic(2)
    config = apps.config(processing_guarantee=guarantee)
    for number in range(1, 4):
        produce(topic, [(key, "x") for key in KEYS])
        elsewhere = replace(config, state_dir=f"{config.state_dir}-elsewhere") if number == 3 else config
        streams = apps.run_once(counting(topic, out), elsewhere)
        assert counts(out) == {key: list(range(1, number + 1)) for key in KEYS}
    # How many on the same machine depends on whether lanes joined one after the other: see tests/hosting/lanes.
    assert streams.metrics()["restored-records-total"] >= len(KEYS)
    assert streams.metrics()["process-total"] == len(KEYS)
    found = GroupAdmin(config).positions(config.application_id)
    assert sum(found[topic, partition] for partition in range(4)) == 3 * len(KEYS)


def test_lanes_are_killed(apps: Apps, make_topic: Make, produce: Produce, counts: Counts) -> None:
    """With kill -9, one after the other, in the middle of work: every count comes once."""
    topic, out, again = make_topic(4), make_topic(2), make_topic(2)
    rounds, ended = 0, threading.Event()

    def feed() -> None:
        nonlocal rounds
        while not ended.is_set():
            produce(topic, [(key, key.upper()) for key in KEYS])
            rounds += 1
            ended.wait(0.02)

    streams = KafkaStreams(_counting_twice(topic, out, again), apps.config())
    streams.start()
    feeding = threading.Thread(target=feed, daemon=True)
    feeding.start()
    try:
        wait_until(lambda: streams.metrics()["commit-total"] > 3, "the first commits", 120)
        for lane in range(2):
            wait_until(lambda: len(processes_of_lanes(streams)) == 2, "both lanes", 120)
            before = processes_of_lanes(streams)
            os.kill(before[lane], signal.SIGKILL)
            wait_until(
                lambda lane=lane, before=before: processes_of_lanes(streams).get(lane, before[lane]) != before[lane],  # type: ignore[misc]
                "another process",
                120,
            )
            wait_until(lambda: streams.state is State.RUNNING, "its tasks", 120)
        ended.set()
        feeding.join()
        assert counts(out, rounds * len(KEYS)) == {key: list(range(1, rounds + 1)) for key in KEYS}
        assert counts(again, rounds * len(KEYS)) == {key.upper(): list(range(1, rounds + 1)) for key in KEYS}
        assert streams.store("counts").get("a") == rounds
    finally:
        ended.set()
        streams.close()
    assert streams.state is State.NOT_RUNNING


def test_a_lane_is_killed_whose_tasks_another_has_in_reserve(
    apps: Apps, make_topic: Make, produce: Produce, counts: Counts
) -> None:
    """The other one goes on at once; the one that Spark starts in its place joins when it is warm."""
    topic, out, again = make_topic(4), make_topic(2), make_topic(2)
    keys = [f"key-{number}" for number in range(1000)]
    streams = KafkaStreams(_counting_twice(topic, out, again), apps.config(num_standby_replicas=1))
    streams.start()
    at_first = 0.0

    def is_warm() -> bool:
        found = streams.metrics()
        shared = len(streams.lanes()) == 2 and all(streams.lanes().values())
        # Marks of transactions count as records.
        return shared and found["standby-tasks"] == 8 and found["standby-records-lag"] < 50

    try:
        for number in range(1, 4):
            produce(topic, [(key, key) for key in keys])
            assert counts(out, number * len(keys)) == {key: list(range(1, number + 1)) for key in keys}
            assert counts(again, number * len(keys)) == {key: list(range(1, number + 1)) for key in keys}
            restored = streams.metrics()["restored-records-total"]
            assert number == 1 or restored - at_first < 100
            if number < 3:
                wait_until(is_warm, "standbys", 120)
                if number == 1:  # one lane may have had all tasks before the other was there
                    at_first = streams.metrics()["restored-records-total"]
                os.kill(processes_of_lanes(streams)[number - 1], signal.SIGKILL)
    finally:
        streams.close()


def test_two_instances_share_the_work(
    apps: Apps, counting: Build, make_topic: Make, produce: Produce, counts: Counts
) -> None:
    """And when one of them ends, the other has all of it."""
    topic, out = make_topic(4), make_topic(2)
    config = apps.config()
    first, second = (KafkaStreams(counting(topic, out), config) for _ in range(2))

    def tasks(streams: KafkaStreams) -> set[str]:
        return {task for names in streams.lanes().values() for task in names}

    everything = {f"0_{partition}" for partition in range(4)}
    first.start()
    try:
        produce(topic, [(key, "x") for key in KEYS])
        assert counts(out, len(KEYS)) == {key: [1] for key in KEYS}
        second.start()
        wait_until(lambda: tasks(second) and tasks(first) | tasks(second) == everything, "shared tasks", 120)
        wait_until(lambda: not tasks(first) & tasks(second), "tasks in one place each", 120)
        produce(topic, [(key, "x") for key in KEYS])
        assert counts(out, 2 * len(KEYS)) == {key: [1, 2] for key in KEYS}
        first.close()
        wait_until(lambda: tasks(second) == everything, "all tasks", 120)
        produce(topic, [(key, "x") for key in KEYS])
        assert counts(out, 3 * len(KEYS)) == {key: [1, 2, 3] for key in KEYS}
    finally:
        first.close()
        second.close()


def test_a_function_that_raises(
    apps: Apps,
    make_topic: Make,
    produce: Produce,
    consume: Callable[..., list[Message]],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Is told with its name, and what it printed; a handler may have it tried again."""
    topic, out = make_topic(1), make_topic(1)
    mended = tmp_path / "mended"

    def careful(value: str) -> str:
        print("looking at", value)
        if value == "bad" and not mended.exists():
            raise RuntimeError("not yet")
        return value

    builder = StreamsBuilder()
    builder.stream(topic).map_values(careful).to(out)
    topology, config = builder.build(), apps.config()
    produce(topic, [("a", "good"), ("a", "bad"), ("a", "good")])
    streams = KafkaStreams(topology, config)
    streams.start()
    with pytest.raises(StreamsError, match="careful") as raised:
        streams.wait(PATIENCE)
    assert "not yet" in str(raised.value)
    assert streams.state is State.ERROR
    wait_until(lambda: "task 0_0: looking at bad" in capfd.readouterr().err, "what it printed")
    errors: list[str] = []

    def handle(error: Exception) -> UncaughtAction:
        errors.append(str(error))
        mended.touch()
        return UncaughtAction.REPLACE_THREAD

    streams = KafkaStreams(topology, config)
    streams.set_uncaught_exception_handler(handle)
    streams.start()
    try:
        values = [message.value() for message in consume(out, 3, timeout=PATIENCE.total_seconds())]
        assert values == [b"good", b"bad", b"good"]
        assert len(errors) == 1
        wait_until(lambda: streams.state is State.RUNNING, "it to run again")
    finally:
        streams.close()


def test_a_function_that_hangs(
    apps: Apps, make_topic: Make, produce: Produce, consume: Callable[..., list[Message]], tmp_path: Path
) -> None:
    topic, out = make_topic(1), make_topic(1)
    hung = tmp_path / "hung"

    def slow(value: str) -> str:
        if value == "slow" and not hung.exists():
            hung.touch()
            time.sleep(600)
        return value

    builder = StreamsBuilder()
    builder.stream(topic).map_values(slow).to(out)
    produce(topic, [("a", "quick"), ("a", "slow")])
    with KafkaStreams(builder.build(), apps.config(max_poll_interval=timedelta(seconds=4))):
        values = [message.value() for message in consume(out, 2, timeout=PATIENCE.total_seconds())]
    assert values == [b"quick", b"slow"]


def test_pause_and_resume(apps: Apps, counting: Build, make_topic: Make, produce: Produce, counts: Counts) -> None:
    topic, out = make_topic(2), make_topic(1)
    streams = KafkaStreams(counting(topic, out), apps.config())
    streams.start()
    try:
        produce(topic, [("a", "x")])
        assert counts(out, 1) == {"a": [1]}
        streams.pause()
        assert streams.is_paused
        runtime = streams._runtime
        assert isinstance(runtime, ContinuousRuntime)
        wait_until(lambda: all(told.is_paused for told in runtime.statistics.lanes().values()), "the pause")
        produce(topic, [("a", "y")])
        assert counts(out) == {"a": [1]}
        streams.resume()
        assert counts(out, 2) == {"a": [1, 2]}
    finally:
        streams.close()


def test_a_topic_that_was_made_again_is_read_from_its_beginning(
    apps: Apps, counting: Build, make_topic: Make, produce: Produce, counts: Counts, admin: Admin
) -> None:
    """Also if it has become longer than the one before in the meantime."""
    topic, out = make_topic(1), make_topic(1)
    config = apps.config()
    produce(topic, [(key, "x") for key in KEYS])
    apps.run_once(counting(topic, out), config)
    admin.delete_topics([topic])
    admin.create_topics([NewTopic(topic, 1)])
    produce(topic, [(key, "x") for key in KEYS * 2])
    apps.run_once(counting(topic, out), config)
    assert counts(out) == {key: [1, 2, 3] for key in KEYS}


def test_a_topic_that_is_made_again_meanwhile_is_read_once(
    apps: Apps, counting: Build, make_topic: Make, produce: Produce, counts: Counts, admin: Admin
) -> None:
    """By the lane that finds less there than it has read; when the driver notices, it is not read again."""
    topic, out = make_topic(1), make_topic(1)
    produce(topic, [("old", "x")] * 100)
    with KafkaStreams(counting(topic, out), apps.config()) as streams:
        assert counts(out, 100) == {"old": list(range(1, 101))}
        runtime = streams._runtime
        assert isinstance(runtime, ContinuousRuntime)
        before = runtime._query
        admin.delete_topics([topic])
        admin.create_topics([NewTopic(topic, 1)])
        produce(topic, [("new", "x")] * 40)
        assert counts(out, 140)["new"] == list(range(1, 41))
        wait_until(lambda: runtime._query is not before, "the driver to notice", 120)
        produce(topic, [("last", "x")])
        assert counts(out, 141) == {"old": list(range(1, 101)), "new": list(range(1, 41)), "last": [1]}


def test_what_cannot_go_on_is_refused(
    apps: Apps, batches: Apps, counting: Build, make_topic: Make, produce: Produce, admin: Admin
) -> None:
    topic, out = make_topic(2), make_topic(1)
    before = batches.config()
    produce(topic, [("a", "x")])
    batches.run_once(counting(topic, out), before)
    with pytest.raises(StreamsError, match="has run in batches before"):
        KafkaStreams(counting(topic, out), replace(before, processing_mode="continuous")).start()
    config = apps.config()
    apps.run_once(counting(topic, out), config)
    with pytest.raises(StreamsError, match="its state cannot follow"):
        KafkaStreams(counting(topic, out, store="others"), config).start()
    with pytest.raises(StreamsError, match="has run continuously before"):
        KafkaStreams(counting(topic, out), replace(config, processing_mode="micro_batch")).start()
    admin.delete_topics([f"{config.application_id}-slots"])
    with pytest.raises(StreamsError, match="is not known") as raised:
        KafkaStreams(counting(topic, out), config).start()
    assert f"{config.application_id}-counts-changelog" in str(raised.value)


def test_nothing_to_do_and_a_record_that_kafka_refuses(
    apps: Apps, make_topic: Make, produce: Produce, admin: Admin
) -> None:
    """The first ends by itself; the second is told with its topic, and nothing of it is lost or skipped."""
    topic, out = make_topic(2), make_topic(1)
    builder = StreamsBuilder()
    builder.stream(topic).map_values(lambda value: value * 2_000_000).to(out)
    config = apps.config()
    before = KafkaStreams(builder.build(), config).metrics()
    assert set(before.values()) == {0}
    found = apps.run_once(builder.build(), config).metrics()
    assert found.keys() == before.keys()
    assert found["process-total"] == 0
    produce(topic, [("a", "x")])
    streams = KafkaStreams(builder.build(), config)
    streams.start()
    with pytest.raises(StreamsError, match=out):
        streams.wait(PATIENCE)
    assert GroupAdmin(config).positions(config.application_id).get((topic, 0), 0) == 0
    assert GroupAdmin(config).positions(config.application_id).get((topic, 1), 0) == 0
