"""What is not as it should be is a clear error or a clean wait, and nothing is lost or doubled."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import cloudpickle
import pytest
from confluent_kafka import Message, Producer

from millstream import (
    DeserializationError,
    LogAndContinueExceptionHandler,
    MillstreamError,
    ProcessingError,
    Serdes,
    StreamsBuilder,
    StreamsConfig,
    StreamsError,
    Topology,
)
from millstream.kafka.admin import Admin
from millstream.kafka.broker import DevBroker
from millstream.kafka.errors import AuthenticationFailed
from millstream.kafka.topics import NewTopic
from millstream.spark.client import KafkaStreams
from millstream.spark.life import State
from millstream.spark.plan import Plan
from millstream.spark.state.checkpoint import Checkpoint
from millstream.topology.nodes import SourceNode

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
    either: Apps,
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
    config = either.config()
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
    assert either.run_once(topology, patient).metrics()["dropped-records-total"] == 1
    assert counts(out) == {key: [1, 2] for key in KEYS}
    (letter,) = consume(dead)
    assert (letter.key(), letter.value()) == (b"bad", b"three")
    assert dict(letter.headers() or ())["__streams.errors.topic"] == topic.encode()


def test_a_function_that_raises_is_named(either: Apps, make_topic: Make, produce: Produce, consume: Consume) -> None:
    topic, out = make_topic(2), make_topic(2)

    def halve(value: str) -> str:
        return str(10 // int(value))

    builder = StreamsBuilder()
    builder.stream(topic).map_values(halve).to(out)
    produce(topic, [("a", "5"), ("b", "0")])
    streams = KafkaStreams(builder.build(), either.config())
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


def test_a_missing_source_topic_is_named(either: Apps, counting: Build) -> None:
    streams = KafkaStreams(counting("no-such-topic", "out"), either.config())
    with pytest.raises(StreamsError, match="source topics are missing") as raised:
        streams.start()
    assert "'no-such-topic'" in str(raised.value)
    assert streams.state is State.ERROR


def test_a_broker_that_is_away_at_start_is_waited_for(
    either: Apps, counting: Build, caplog: pytest.LogCaptureFixture
) -> None:
    streams = KafkaStreams(counting("in", "out"), either.config(bootstrap_servers="127.0.0.1:9"))
    starting = threading.Thread(target=streams.start)
    starting.start()
    try:
        wait_until(lambda: "waiting: cannot list topics: no broker answers" in caplog.text, "a word of it")
    finally:
        streams.close()
        starting.join(PATIENCE.total_seconds())
    assert not starting.is_alive()
    assert streams.state is State.NOT_RUNNING


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[DevBroker]:
    """A broker with users."""
    with DevBroker(tmp_path / "broker", users={"ann": "secret"}) as broker:
        yield broker


def test_credentials_are_used_and_wrong_ones_refused(either: Apps, counting: Build, own_broker: DevBroker) -> None:
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
    config = either.config(bootstrap_servers=own_broker.secure_bootstrap_servers, client=security)
    streams = KafkaStreams(counting("in", "out"), config)
    with pytest.raises(AuthenticationFailed, match="the broker refuses it") as raised:
        streams.start()
    assert "wrong" not in str(raised.value)
    assert streams.state is State.ERROR

    right = replace(config, client={**security, "sasl.password": "secret"})
    assert either.run_once(counting("in", "out"), right).metrics()["records-produced-total"] == 1


def test_a_checkpoint_of_another_application_is_refused(
    batches: Apps, counting: Build, make_topic: Make, tmp_path: Path
) -> None:
    topology = counting(make_topic(2, name="in"), make_topic(2, name="out"))
    topics = {topic: 2 for node in topology.nodes.values() if isinstance(node, SourceNode) for topic in node.topics}
    checkpoint = Checkpoint(str(tmp_path))
    checkpoint.remember(checkpoint.compare("before", topology, Plan(topology, topics), 1, "its id"), {})
    config = batches.config(checkpoint_location=tmp_path)
    streams = KafkaStreams(topology, config)
    with pytest.raises(StreamsError, match="belongs to another application") as raised:
        streams.start()
    assert f"is that of 'before', this is '{config.application_id}'" in str(raised.value)
    assert streams.state is State.ERROR


def test_a_checkpoint_of_another_format_is_refused(
    batches: Apps, counting: Build, make_topic: Make, tmp_path: Path
) -> None:
    (tmp_path / "millstream").mkdir()
    (tmp_path / "millstream" / "application.json").write_text('{"format": 99}')
    streams = KafkaStreams(counting(make_topic(2), make_topic(2)), batches.config(checkpoint_location=tmp_path))
    with pytest.raises(StreamsError, match="the format of a newer Millstream"):
        streams.start()
