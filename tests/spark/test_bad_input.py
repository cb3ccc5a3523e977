"""What is not as it should be is a clear error or a clean wait, and nothing is lost or doubled."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import cloudpickle
import pytest
from confluent_kafka import Message, Producer

from millstream import (
    Consumed,
    DeserializationError,
    LogAndContinueExceptionHandler,
    MillstreamError,
    ProcessingError,
    Produced,
    Serdes,
    StreamsBuilder,
    StreamsConfig,
    StreamsError,
    Topology,
)
from millstream.kafka.admin import Admin
from millstream.kafka.broker import DevBroker
from millstream.kafka.errors import AuthenticationFailed, BrokerUnavailable
from millstream.kafka.topics import NewTopic
from millstream.spark import launch
from millstream.spark.client import KafkaStreams, State

from .conftest import PATIENCE, Apps
from .crashes import wait_until

cloudpickle.register_pickle_by_value(sys.modules[__name__])
pytestmark = pytest.mark.usefixtures("no_lane_is_left")

GOOD = (7).to_bytes(8, "big")
KEYS = [f"k{number}" for number in range(10)]

Build = Callable[..., Topology]
Make = Callable[..., str]
Produce = Callable[..., None]
Counts = Callable[..., dict[str, list[int]]]
Consume = Callable[..., list[Message]]


def failure_of(streams: KafkaStreams) -> MillstreamError:
    """The error with which an application ends."""
    with pytest.raises(MillstreamError) as raised:
        streams.wait(PATIENCE)
    assert streams.state is State.ERROR
    return raised.value


def test_a_corrupt_record_stops_the_application_or_goes_to_the_dead_letters(
    apps: Apps,
    counting: Build,
    make_topic: Make,
    produce: Produce,
    counts: Counts,
    consume: Consume,
) -> None:
    topic, out, dead = make_topic(4), make_topic(4), make_topic(1, name="dead")
    topology = counting(topic, out, value=Serdes.long)
    produce(topic, [(key, GOOD) for key in KEYS])
    produce(topic, [("bad", b"three")])
    produce(topic, [(key, GOOD) for key in KEYS])
    config = apps.config()
    streams = KafkaStreams(topology, config)
    streams.start(once=True)
    error = failure_of(streams)
    assert isinstance(error, DeserializationError)
    assert topic in str(error)
    assert "offset" in str(error)

    patient = replace(
        config,
        deserialization_exception_handler=LogAndContinueExceptionHandler(),
        dead_letter_queue_topic=dead,
    )
    assert apps.run_once(topology, patient).metrics()["dropped-records-total"] == 1
    assert counts(out) == {key: [1, 2] for key in KEYS}
    (letter,) = consume(dead)
    assert (letter.key(), letter.value()) == (b"bad", b"three")
    assert dict(letter.headers() or ())["__streams.errors.topic"] == topic.encode()


def test_a_function_that_raises_is_named(apps: Apps, make_topic: Make, produce: Produce, consume: Consume) -> None:
    topic, out = make_topic(2), make_topic(2)

    def halve(value: str) -> str:
        return str(10 // int(value))

    builder = StreamsBuilder()
    builder.stream(topic).map_values(halve).to(out)
    produce(topic, [("a", "5"), ("b", "0")])
    streams = KafkaStreams(builder.build(), apps.config())
    streams.start()
    error = failure_of(streams)
    assert isinstance(error, ProcessingError)
    assert re.search(rf"halve at test_bad_input\.py:{halve.__code__.co_firstlineno + 1}\b", str(error)), error
    assert "ZeroDivisionError" in str(error)
    assert "Traceback" not in str(error)
    story = Path(str(error.hint).partition("the whole story is in ")[2]).read_text()
    assert "Traceback" in story
    assert "in halve" in story
    assert len(consume(out)) <= 1  # that of the other partition's task may have been written


def test_a_missing_source_topic_is_named(apps: Apps, counting: Build) -> None:
    streams = KafkaStreams(counting("no-such-topic", "out"), apps.config())
    with pytest.raises(StreamsError, match="source topics are missing") as raised:
        streams.start()
    assert "'no-such-topic'" in str(raised.value)
    assert streams.state is State.ERROR


def test_a_broker_that_is_away_at_start_is_an_error_after_a_while(
    apps: Apps, counting: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "Admin", lambda config: Admin(config, timeout=timedelta(seconds=3)))
    streams = KafkaStreams(counting("in", "out"), apps.config(bootstrap_servers="127.0.0.1:9"))
    begun = time.monotonic()
    with pytest.raises(BrokerUnavailable, match="no broker answers"):
        streams.start()
    assert time.monotonic() - begun < 60
    assert streams.state is State.ERROR


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[DevBroker]:
    """A broker that may be killed, with users."""
    with DevBroker(tmp_path / "broker", users={"ann": "secret"}) as broker:
        yield broker


def test_a_broker_that_goes_away_is_waited_for(apps: Apps, counting: Build, own_broker: DevBroker) -> None:
    bootstrap = own_broker.bootstrap_servers
    admin = Admin(StreamsConfig(bootstrap_servers=bootstrap))
    admin.create_topics([NewTopic("in", 2), NewTopic("out", 2)])
    producer = Producer({"bootstrap.servers": bootstrap, "message.timeout.ms": 0, "log_level": 0})
    config = apps.config(bootstrap_servers=bootstrap)
    streams = KafkaStreams(counting("in", "out"), config)
    streams.start()
    try:
        producer.produce("in", "x", "a")
        producer.flush()
        wait_until(lambda: streams.metrics()["commit-total"] > 0, "the first batch")
        own_broker.kill()
        producer.produce("in", "y", "a")
        # Longer than any request takes to give up.
        assert not streams.wait(timedelta(seconds=20))
        assert streams.state is State.RUNNING
        own_broker.restart()
        producer.flush()
        wait_until(lambda: streams.metrics()["records-produced-total"] == 2, "the record of meanwhile")
        committed = ("in", 0), ("in", 1)
        wait_until(lambda: sum(admin.committed_offsets(committed, config.application_id).values()) == 2, "the offsets")
    finally:
        streams.close()
    assert streams.state is State.NOT_RUNNING


def test_an_application_can_be_closed_while_the_broker_is_away(
    apps: Apps, counting: Build, own_broker: DevBroker
) -> None:
    bootstrap = own_broker.bootstrap_servers
    Admin(StreamsConfig(bootstrap_servers=bootstrap)).create_topics([NewTopic("in", 2), NewTopic("out", 2)])
    streams = KafkaStreams(counting("in", "out"), apps.config(bootstrap_servers=bootstrap))
    streams.start()
    own_broker.kill()
    streams.close()
    assert streams.state is State.NOT_RUNNING


def test_credentials_are_used_and_wrong_ones_refused(apps: Apps, counting: Build, own_broker: DevBroker) -> None:
    admin = Admin(StreamsConfig(bootstrap_servers=own_broker.bootstrap_servers))
    admin.create_topics([NewTopic("in", 2), NewTopic("out", 2)])
    producer = Producer({"bootstrap.servers": own_broker.bootstrap_servers})
    producer.produce("in", "x", "a")
    producer.flush()
    security = {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "ann",
        "sasl.password": "wrong",
    }
    config = apps.config(bootstrap_servers=own_broker.secure_bootstrap_servers, client=security)
    streams = KafkaStreams(counting("in", "out"), config)
    with pytest.raises(AuthenticationFailed, match="the broker refuses it") as raised:
        streams.start()
    assert "wrong" not in str(raised.value)
    assert streams.state is State.ERROR

    right = replace(config, client={**security, "sasl.password": "secret"})
    assert apps.run_once(counting("in", "out"), right).metrics()["records-produced-total"] == 1


def test_a_checkpoint_of_another_application_is_refused(
    apps: Apps, counting: Build, make_topic: Make, produce: Produce
) -> None:
    topic, out = make_topic(2), make_topic(2)
    config = apps.config()
    produce(topic, [("a", "x")])
    apps.run_once(counting(topic, out), config)
    other = apps.config(checkpoint_location=config.checkpoint_location)
    with pytest.raises(StreamsError, match="belongs to another application") as raised:
        KafkaStreams(counting(topic, out), other).start()
    assert config.application_id in str(raised.value)


def test_a_checkpoint_that_cannot_be_written_is_an_error_at_start(
    apps: Apps, counting: Build, make_topic: Make, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a directory")
    config = apps.config(checkpoint_location=tmp_path / "file" / "checkpoint")
    with pytest.raises(StreamsError, match="the checkpoint cannot be") as raised:
        KafkaStreams(counting(make_topic(2), make_topic(2)), config).start()
    assert str(tmp_path / "file") in str(raised.value)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB, where one may be made."""
    place = tmp_path / "disk"
    place.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if os.getuid() != 0 or mount is None or umount is None:
        pytest.skip("only root can mount a small file system")
    command = [mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:  # noqa: S603 - as it says
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run([umount, "-l", str(place)], check=True)  # noqa: S603


@pytest.mark.parametrize("left_kb", [0, 48])
def test_a_full_disk_is_an_error_and_nothing_is_lost(
    apps: Apps,
    make_topic: Make,
    produce: Produce,
    consume: Consume,
    small_disk: Path,
    left_kb: int,
) -> None:
    topic, out = make_topic(2), make_topic(2)
    builder = StreamsBuilder()
    texts = Consumed(Serdes.string, Serdes.string)
    (
        builder.stream(topic, texts)
        .group_by_key()
        .reduce(lambda whole, new: new)
        .to_stream()
        .map_values(lambda value: value[:3])
        .to(out, Produced(Serdes.string, Serdes.string))
    )
    topology = builder.build()
    config = apps.config(checkpoint_location=small_disk / "checkpoint")
    produce(topic, [(key, "one") for key in KEYS])
    apps.run_once(topology, config)

    streams = KafkaStreams(topology, config)
    streams.start()
    free = shutil.disk_usage(small_disk).free - left_kb * 1024
    (small_disk / "other").write_bytes(bytes(free))
    produce(topic, [(key, "two" + "." * 20_000) for key in KEYS])
    error = failure_of(streams)
    assert "No space left on device" in str(error)
    assert error.hint

    (small_disk / "other").unlink()
    produce(topic, [(key, "three") for key in KEYS])
    apps.run_once(topology, config)
    found: dict[bytes, list[bytes]] = {}
    for message in consume(out):
        found.setdefault(message.key() or b"", []).append(message.value() or b"")
    assert found == {key.encode(): [b"one", b"two", b"thr"] for key in KEYS}
