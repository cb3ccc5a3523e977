"""Exactly the records between two offsets."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from millstream import StreamsConfig, StreamsError
from millstream.kafka.admin import Admin
from millstream.kafka.detached import DetachedBroker
from millstream.spark.inputs import Inputs

Make = Callable[..., str]


@pytest.fixture
def inputs(broker: DetachedBroker) -> Iterator[Inputs]:
    config = StreamsConfig(bootstrap_servers=broker.bootstrap_servers, processing_guarantee="exactly_once_v2")
    made = Inputs(config)
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


def read(inputs: Inputs, topic: str, start: int, end: int) -> list[str]:
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


def test_ranges_end_where_they_should(inputs: Inputs, make_topic: Make, transact: Callable[..., None]) -> None:
    topic = make_topic(1)
    transact(topic, list("abcdefgh"))
    assert read(inputs, topic, 0, 4) == list("abcd")
    assert read(inputs, topic, 4, 9) == list("efgh")  # the last offset has no record, and nothing comes after it
    transact(topic, list("ij"))
    assert read(inputs, topic, 9, 10) == ["i"]
    assert read(inputs, topic, 10, 12) == ["j"]


def test_a_range_may_have_no_record(inputs: Inputs, make_topic: Make, transact: Callable[..., None]) -> None:
    topic = make_topic(1)
    transact(topic, ["a"])
    transact(topic, ["b", "c"], commit=False)
    transact(topic, ["d"])
    assert read(inputs, topic, 0, 2) == ["a"]
    assert read(inputs, topic, 2, 4) == []
    assert read(inputs, topic, 4, 7) == ["d"]


def test_a_range_can_be_read_again(inputs: Inputs, make_topic: Make, transact: Callable[..., None]) -> None:
    topic = make_topic(1)
    transact(topic, list("abcdefgh"))
    for _ in range(2):
        assert read(inputs, topic, 2, 9) == list("cdefgh")
        assert read(inputs, topic, 0, 9) == list("abcdefgh")


def test_records_that_are_gone_are_an_error(
    inputs: Inputs, make_topic: Make, transact: Callable[..., None], admin: Admin
) -> None:
    topic = make_topic(1)
    transact(topic, ["a"])
    with pytest.raises(StreamsError, match="that were not yet processed are gone"):
        list(inputs.read({(topic, 0): (50, 60)}))
