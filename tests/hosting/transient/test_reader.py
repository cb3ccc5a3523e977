"""What a reader makes of what its client says."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import Message, TopicPartition

from millstream.config import StreamsConfig
from millstream.hosting.transient import reader as module
from millstream.hosting.transient.places import Places
from millstream.hosting.transient.reader import TopicReader
from millstream.kafka.errors import AuthenticationFailed, TopicMissing

A, B = ("t", 0), ("t", 1)


class Client:
    """A consumer that says what it is told to."""

    def __init__(self) -> None:
        self.said: list[Message] = []
        self.topics: dict[str, Any] = {"t": SimpleNamespace(error=None)}
        self.high = 0
        self.paused: set[int] = set()

    def poll(self, seconds: float) -> Message | None:
        return self.said.pop(0) if self.said else None

    def consume(self, most: int, seconds: float) -> list[Message]:
        said, self.said = self.said[:most], self.said[most:]
        return said

    def list_topics(self, topic: str, seconds: float) -> Any:
        return SimpleNamespace(topics=self.topics)

    def get_watermark_offsets(self, partition: TopicPartition, *, cached: bool) -> tuple[int, int]:
        return 0, self.high

    def assign(self, partitions: list[TopicPartition]) -> None:
        self.assigned = {(at.topic, at.partition): at.offset for at in partitions}

    def pause(self, partitions: list[TopicPartition]) -> None:
        self.paused |= {at.partition for at in partitions}

    def resume(self, partitions: list[TopicPartition]) -> None:
        self.paused -= {at.partition for at in partitions}

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    client = Client()
    monkeypatch.setattr(module, "make_consumer", lambda config, overrides: client)
    return client


@pytest.fixture
def reader(client: Client) -> Iterator[TopicReader]:
    places = Places({A: 0, B: 4}, {A: 3, B: 4})
    reader = TopicReader(StreamsConfig(application_id="x", bootstrap_servers="x:1"), places, waiting=10)
    yield reader
    reader.close()


def record(at: tuple[str, int], offset: int) -> Message:
    return Message(topic=at[0], partition=at[1], offset=offset, key=b"k", value=b"v", timestamp=(1, 7))


def news(at: tuple[str, int], code: int, offset: int = 0) -> Message:
    return Message(topic=at[0], partition=at[1], offset=offset, error=ClientError(code))


def test_it_begins_where_it_should(client: Client, reader: TopicReader) -> None:
    assert client.assigned == {A: 0, B: 4}
    assert reader.is_behind(A)
    assert not reader.is_behind(B)
    assert reader.read(0) == {}


def test_records_are_sorted_by_partition(client: Client, reader: TopicReader) -> None:
    client.said = [record(A, 0), record(B, 4), record(A, 1)]
    assert reader.read(0) == {
        A: [(b"k", b"v", 7, None, 0), (b"k", b"v", 7, None, 1)],
        B: [(b"k", b"v", 7, None, 4)],
    }
    assert (reader.position(A), reader.position(B)) == (2, 5)
    assert reader.is_behind(A)
    assert not reader.is_behind(B)


def test_a_partition_may_have_got_more_meanwhile(client: Client, reader: TopicReader) -> None:
    client.high = 7
    client.said = [record(B, 4)]
    reader.read(0)
    assert reader.is_behind(B)


def test_marks_of_transactions_are_no_records(client: Client, reader: TopicReader) -> None:
    client.said = [record(A, 1), news(A, ClientError._PARTITION_EOF, 3)]
    assert list(reader.read(0)) == [A]
    assert reader.position(A) == 3
    assert not reader.is_behind(A)


def test_a_partition_that_is_silent_for_long_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, reader: TopicReader
) -> None:
    monkeypatch.setattr(module, "_QUIET_SECONDS", -1.0)
    assert not reader.is_behind(A)


def test_a_broker_that_is_away_is_waited_for(client: Client, reader: TopicReader) -> None:
    client.said = [news(A, ClientError._ALL_BROKERS_DOWN), news(A, ClientError.UNKNOWN_TOPIC_OR_PART), record(A, 0)]
    assert list(reader.read(0)) == [A]


def test_a_refusal_ends_it(client: Client, reader: TopicReader) -> None:
    client.said = [news(A, ClientError.TOPIC_AUTHORIZATION_FAILED)]
    with pytest.raises(AuthenticationFailed):
        reader.read(0)


def test_a_topic_that_is_gone_ends_it(monkeypatch: pytest.MonkeyPatch, client: Client, reader: TopicReader) -> None:
    client.topics["t"].error = ClientError(ClientError.UNKNOWN_TOPIC_OR_PART)
    assert reader.read(0) == {}  # it is not asked every time
    monkeypatch.setattr(module, "_LOOKING_SECONDS", 0.0)
    with pytest.raises(TopicMissing, match="was deleted"):
        reader.read(0)


def test_partitions_are_held_and_go_on(client: Client, reader: TopicReader) -> None:
    reader.hold({A})
    assert client.paused == {0}
    reader.hold({B})
    assert client.paused == {1}
