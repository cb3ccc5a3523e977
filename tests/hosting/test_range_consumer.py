"""Exactly the records between two offsets."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from millstream import StreamsConfig, StreamsError
from millstream.hosting import range_consumer
from millstream.hosting.range_consumer import RangeConsumer
from millstream.kafka.admin import Admin
from millstream.kafka.detached import DetachedBroker
from millstream.kafka.topics import NewTopic

Make = Callable[..., str]


@pytest.fixture
def inputs(broker: DetachedBroker) -> Iterator[RangeConsumer]:
    config = StreamsConfig(bootstrap_servers=broker.bootstrap_servers, processing_guarantee="exactly_once_v2")
    made = RangeConsumer(config)
    yield made
    made.close()


@pytest.fixture
def transact(broker: DetachedBroker) -> Callable[..., None]:
    """`transact(topic, values, commit=True)`: records in a transaction, which leaves an offset without a record."""

    def write(topic: str, values: list[str], *, commit: bool = True) -> None:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": uuid.uuid4().hex})
        producer.init_transactions(30)
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, "k", 0)
        producer.flush(30)
        if commit:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)

    return write


def read(inputs: RangeConsumer, topic: str, start: int, end: int) -> list[str]:
    """The values, unless it takes for ever."""
    found: list[str] = []

    def run() -> None:
        for _, records in inputs.read({(topic, 0): (start, end)}):
            found.extend(value.decode() for _, value, *_ in records if value is not None)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive(), "it still waits"
    return found


def test_ranges_end_where_they_should(inputs: RangeConsumer, make_topic: Make, transact: Callable[..., None]) -> None:
    topic = make_topic(1)
    transact(topic, list("abcdefgh"))
    assert read(inputs, topic, 0, 4) == list("abcd")
    assert read(inputs, topic, 4, 9) == list("efgh")  # the last offset has no record, and nothing comes after it
    transact(topic, list("ij"))
    assert read(inputs, topic, 9, 10) == ["i"]
    assert read(inputs, topic, 10, 12) == ["j"]


def test_a_range_may_have_no_record(inputs: RangeConsumer, make_topic: Make, transact: Callable[..., None]) -> None:
    topic = make_topic(1)
    transact(topic, ["a"])
    transact(topic, ["b", "c"], commit=False)
    transact(topic, ["d"])
    assert read(inputs, topic, 0, 2) == ["a"]
    assert read(inputs, topic, 2, 4) == []
    assert read(inputs, topic, 4, 7) == ["d"]


def test_a_range_can_be_read_again(inputs: RangeConsumer, make_topic: Make, transact: Callable[..., None]) -> None:
    topic = make_topic(1)
    transact(topic, list("abcdefgh"))
    for _ in range(2):
        assert read(inputs, topic, 2, 9) == list("cdefgh")
        assert read(inputs, topic, 0, 9) == list("abcdefgh")


def test_records_of_a_transaction_that_is_not_decided_are_waited_for(
    inputs: RangeConsumer,
    make_topic: Make,
    broker: DetachedBroker,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """They are there, and may count: whoever leaves them out has wrong state."""
    monkeypatch.setattr(range_consumer, "_QUIET_SECONDS", 0.1)
    monkeypatch.setattr(range_consumer, "_SAY_SECONDS", 0.2)
    topic = make_topic(1)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": uuid.uuid4().hex})
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in "ab":
        producer.produce(topic, value, "k", 0)
    producer.flush(30)

    def said() -> bool:
        return f"{topic}-0 from offset 0 on" in caplog.text

    def commit_when_said() -> None:
        deadline = time.monotonic() + 20
        while not said() and time.monotonic() < deadline:
            time.sleep(0.02)
        producer.commit_transaction(30)

    committing = threading.Thread(target=commit_when_said)
    committing.start()
    assert read(inputs, topic, 0, 2) == ["a", "b"]
    committing.join()
    assert said()
    assert "are gone" not in caplog.text


@pytest.fixture
def with_reset(broker: DetachedBroker) -> Iterator[Callable[[str | timedelta], RangeConsumer]]:
    """`with_reset(policy)`: a consumer that goes on so when records are gone."""
    made = []

    def make(reset: str | timedelta) -> RangeConsumer:
        config = StreamsConfig(bootstrap_servers=broker.bootstrap_servers, processing_guarantee="exactly_once_v2")
        made.append(RangeConsumer(config, reset=lambda topic: reset))
        return made[-1]

    yield make
    for inputs in made:
        inputs.close()


@pytest.fixture
def delete_records(broker: DetachedBroker) -> Callable[[str, int], None]:
    """`delete_records(topic, offset)`: all before an offset, as retention would."""

    def delete(topic: str, offset: int) -> None:
        client = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        for future in client.delete_records([TopicPartition(topic, 0, offset)]).values():
            future.result(30)

    return delete


@pytest.mark.parametrize(
    ("reset", "found", "goes_on"),
    [("earliest", "efgh", 4), (timedelta(days=1), "efgh", 4), ("latest", "", 8), (timedelta(0), "", 8)],
)
def test_records_that_are_gone_are_left_out(
    with_reset: Callable[[str | timedelta], RangeConsumer],
    make_topic: Make,
    produce: Callable[..., None],
    delete_records: Callable[[str, int], None],
    caplog: pytest.LogCaptureFixture,
    reset: str | timedelta,
    found: str,
    goes_on: int,
) -> None:
    topic = make_topic(1)
    produce(topic, [("k", letter) for letter in "abcdefgh"])
    delete_records(topic, 4)
    inputs = with_reset(reset)
    assert read(inputs, topic, 1, 8) == list(found)
    assert f"{topic}-0: offsets 1 to 3 (3) are gone" in caplog.text
    assert f"going on at {goes_on} (offset reset: {reset})" in caplog.text
    produce(topic, [("k", "i")])
    assert read(inputs, topic, 8, 9) == ["i"]


def test_a_range_that_is_gone_as_a_whole_is_left_out(
    inputs: RangeConsumer, make_topic: Make, produce: Callable[..., None], delete_records: Callable[[str, int], None]
) -> None:
    topic = make_topic(1)
    produce(topic, [("k", letter) for letter in "abcdefgh"])
    delete_records(topic, 6)
    assert read(inputs, topic, 1, 5) == []
    assert read(inputs, topic, 5, 8) == ["g", "h"]
    delete_records(topic, 8)
    assert read(inputs, topic, 3, 8) == []


def test_records_that_are_gone_are_an_error_without_a_reset_policy(
    with_reset: Callable[[str | timedelta], RangeConsumer],
    make_topic: Make,
    produce: Callable[..., None],
    delete_records: Callable[[str, int], None],
) -> None:
    topic = make_topic(1)
    produce(topic, [("k", letter) for letter in "abcdefgh"])
    delete_records(topic, 4)
    for start, why in (
        (1, "offset 1 comes next, but the topic begins at offset 4"),
        (50, "the topic ends at offset 8"),
    ):
        with pytest.raises(StreamsError, match="that were not yet processed are gone") as raised:
            list(with_reset("none").read({(topic, 0): (start, 60)}))
        assert why in str(raised.value)
        assert "checkpoint" not in str(raised.value)


@pytest.mark.parametrize("count", [3, 6])
def test_a_topic_that_was_made_again_does_not_keep_a_batch_waiting(
    inputs: RangeConsumer,
    make_topic: Make,
    produce: Callable[..., None],
    admin: Admin,
    caplog: pytest.LogCaptureFixture,
    count: int,
) -> None:
    """The batch was to read up to offset 8; offset 4, where it is, the new topic may have or not."""
    topic = make_topic(1)
    produce(topic, [("k", letter) for letter in "abcd"])
    assert read(inputs, topic, 0, 4) == list("abcd")
    admin.delete_topics([topic])
    admin.create_topics([NewTopic(topic, 1)])
    produce(topic, [("k", letter) for letter in "ABCDEF"[:count]])
    read(inputs, topic, 4, 8)
    assert "are gone, the topic ends at offset" in caplog.text
    # Nothing that the consumer has of the new topic is taken for another part of it.
    produce(topic, [("k", letter) for letter in "GHIJKLMN"])
    assert inputs.take((topic, 0), 8, 9, 10) == []
    assert read(inputs, topic, 8, 9) == [("ABCDEF"[:count] + "GHIJKLMN")[8]]
    assert read(inputs, topic, 0, 3) == list("ABC")


@pytest.mark.parametrize("offset", [3, 100])
def test_word_of_a_place_that_was_left_is_not_taken_for_one_of_the_range(
    inputs: RangeConsumer,
    make_topic: Make,
    produce: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    offset: int,
) -> None:
    """The client tells that it did not find an offset when it is already told to go elsewhere."""
    topic = make_topic(1)
    produce(topic, [("k", letter) for letter in "abcdefgh"])
    stale = Message(topic, 0, offset, error=KafkaError(KafkaError._AUTO_OFFSET_RESET))
    consumer, told = inputs._consumer, [stale]

    class Stale:
        def __getattr__(self, name: str) -> Any:
            return getattr(consumer, name)

        def consume(self, count: int, seconds: float) -> list[Message]:
            return [told.pop()] if told else consumer.consume(count, seconds)

    monkeypatch.setattr(inputs, "_consumer", Stale())
    assert read(inputs, topic, 0, 8) == list("abcdefgh")
    assert not told
