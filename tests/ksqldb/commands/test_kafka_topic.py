"""Services on one command topic of a real broker."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import Message

from millstream.config import StreamsConfig
from millstream.kafka.admin import Admin
from millstream.kafka.detached import DetachedBroker
from millstream.ksqldb.api import Request, ServerStatus, ServiceError
from millstream.ksqldb.commands.execution.executor import command_id
from millstream.ksqldb.commands.inserting import KafkaRecords
from millstream.ksqldb.commands.log.kafka_topic import KafkaCommandReader, KafkaCommandTopic
from millstream.ksqldb.commands.log.topic import TopicDamaged, WriterFenced
from millstream.ksqldb.commands.names import command_topic
from millstream.ksqldb.service import KsqlService
from millstream.sql.engine.runners.kafka_topics import KafkaTopics
from millstream.sql.engine.topics import InMemoryTopics, TopicDescription, TopicRecord

from .memory import WAIT_SECONDS, FakeQueries, make_context, send, shape, status

STREAM = "CREATE STREAM {0} (id INT KEY, v INT) WITH (kafka_topic='{0}', value_format='JSON', partitions=1);"


@pytest.fixture
def config(broker: DetachedBroker) -> StreamsConfig:
    return StreamsConfig(application_id="ksqldb-tests", bootstrap_servers=broker.bootstrap_servers)


@pytest.fixture
def service_id() -> str:
    return f"t{uuid.uuid4().hex[:10]}_"


@pytest.fixture
def topic(config: StreamsConfig, service_id: str) -> Iterator[KafkaCommandTopic]:
    found = KafkaCommandTopic(config, service_id, command_topic(service_id))
    yield found
    found.close()


@pytest.fixture
def start(config: StreamsConfig, service_id: str) -> Iterator[Callable[[], KsqlService]]:
    topics, started = InMemoryTopics(TopicDescription), []

    def make() -> KsqlService:
        context = make_context(
            topics, settings={"ksql.service.id": service_id, "ksql.server.command.response.timeout.ms": 30_000}
        )
        service = KsqlService.connect(config, context, FakeQueries())
        started.append(service)
        return service.start()

    yield make
    for service in started:
        service.close()


def catch_up(service: KsqlService, topic: KafkaCommandTopic) -> None:
    assert service._executor.wait_for(topic.end(), WAIT_SECONDS)


def ids(messages: list[Message]) -> list[str]:
    return [json.loads(message.key() or b"") for message in messages]


def test_a_statement_is_in_the_topic_once_and_known_to_all(
    start: Callable[[], KsqlService],
    topic: KafkaCommandTopic,
    admin: Admin,
    consume: Callable[..., list[Message]],
) -> None:
    one, two = start(), start()
    assert one.info().kafka_cluster_id
    began = time.monotonic()
    number = status(one, STREAM.format("s")).command_sequence_number
    first = time.monotonic() - began
    (answer,) = two.execute(Request("CREATE STREAM copy AS SELECT * FROM s;", after=number))
    assert answer.to_json()["commandStatus"]["queryId"] == "CSAS_COPY_1"
    catch_up(one, topic)
    assert shape(one) == shape(two)
    assert ids(consume(topic.name)) == ["stream/`S`/create", "stream/`COPY`/create"]
    settings = admin.topic_settings(topic.name)
    assert (settings["cleanup.policy"], settings["retention.ms"]) == ("delete", "-1")
    assert first < WAIT_SECONDS / 2
    # One goes without a word; a statement of another, and a server that joins later, do not notice.
    one._following._closing.set()
    status(two, "DROP STREAM copy;")
    three = start()
    assert shape(two) == shape(three)
    assert two.statuses() == three.statuses()


def test_servers_that_write_at_the_same_time(
    start: Callable[[], KsqlService], topic: KafkaCommandTopic, consume: Callable[..., list[Message]]
) -> None:
    services = [start(), start()]
    together = threading.Barrier(20)

    def create(number: int) -> int | None:
        together.wait()
        name = f"same{number // 4}" if number < 8 else f"own{number}"
        try:
            return status(services[number % 2], STREAM.format(name)).command_sequence_number
        except ServiceError as error:
            assert "already exists" in error.primary, error  # noqa: PT017
            return None

    with ThreadPoolExecutor(20) as pool:
        numbers = list(pool.map(create, range(20)))
    written = [number for number in numbers if number is not None]
    assert len(written) == len(set(written)) == 14
    messages = consume(topic.name)
    assert sorted(message.offset() or 0 for message in messages) == sorted(written)
    assert len(set(ids(messages))) == 14
    for service in services:
        catch_up(service, topic)
    assert shape(services[0]) == shape(services[1])
    assert set(services[0].statuses().values()) == {"SUCCESS"}


#: A server that creates streams until somebody kills it.
_BUSY_SERVER = """
import itertools, sys
from millstream.config import StreamsConfig
from millstream.ksqldb.api import Request
from millstream.ksqldb.commands.execution.sandbox import RememberingRunner
from millstream.ksqldb.service import KsqlService
from millstream.sql.engine.context import Context
from millstream.sql.engine.queries import Queries
from millstream.sql.engine.topics import InMemoryTopics
from millstream.sql.functions.registry import default_registry
from millstream.sql.settings import Settings

class NoQueries:
    def close(self, query_id): return False
    def stop(self): pass

servers, service_id = sys.argv[1:]
context = Context(
    default_registry(), InMemoryTopics(), Queries(RememberingRunner()), Settings({"ksql.service.id": service_id})
)
config = StreamsConfig(application_id="killed", bootstrap_servers=servers)
service = KsqlService.connect(config, context, NoQueries()).start()
for number in itertools.count():
    sql = f"CREATE STREAM k{number} (a INT) WITH (kafka_topic='k', value_format='JSON', partitions=1);"
    service.execute(Request(sql))
    print(f"K{number}", flush=True)
"""


def test_a_server_that_is_killed(
    start: Callable[[], KsqlService],
    broker: DetachedBroker,
    service_id: str,
    topic: KafkaCommandTopic,
    consume: Callable[..., list[Message]],
) -> None:
    two = start()
    command = [sys.executable, "-c", _BUSY_SERVER, broker.bootstrap_servers, service_id]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as killed:  # noqa: S603 - it is ours
        assert killed.stdout is not None
        answered = [killed.stdout.readline().strip() for _ in range(10)]
        killed.kill()
        answered += killed.stdout.read().split()
    status(two, STREAM.format("after"))
    three = start()
    assert shape(two) == shape(three)
    written = ids(consume(topic.name))
    assert len(written) == len(set(written))
    assert written[-1] == "stream/`AFTER`/create"
    assert {f"stream/`{name}`/create" for name in answered} <= set(written)
    assert {source.name for source in two.context.catalogue} == {command_id(text).entity[1:-1] for text in written}


def read_to(reader: KafkaCommandReader, position: int) -> list[tuple[bytes | None, int]]:
    found: list[tuple[bytes | None, int]] = []
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        batch = reader.read(1.0)
        found += [(record.value, record.offset) for record in batch.records]
        if batch.position >= position:
            return found
    raise AssertionError(f"only {found} before {position}")


def test_the_last_writer_that_began_wins(topic: KafkaCommandTopic) -> None:
    topic.ensure()
    one, two = topic.writer(), topic.writer()
    one.begin()
    assert one.append(b"1", b"1") == 0
    two.begin()
    with pytest.raises(WriterFenced):
        one.commit()
    offset = two.append(b"2", b"2")
    two.commit()
    reader = topic.reader()
    assert read_to(reader, offset + 2) == [(b"2", offset)]
    two.begin()
    aborted = two.append(b"3", b"3")
    two.abort()
    assert read_to(reader, aborted + 2) == []
    one.begin()
    assert one.append(b"4", b"4") == aborted + 2
    one.commit()
    assert read_to(reader, aborted + 4) == [(b"4", aborted + 2)]
    for client in (reader, one, two):
        client.close()


def test_a_topic_that_is_made_again_is_noticed(start: Callable[[], KsqlService], topic: KafkaCommandTopic) -> None:
    service = start()
    send(service, STREAM.format("s"))
    topic.ensure()
    topic.check()
    topic.delete()
    with pytest.raises(TopicDamaged, match="gone"):
        topic.check()
    again = KafkaCommandTopic(topic._config, topic._service_id, topic.name)
    again.ensure()
    with pytest.raises(TopicDamaged, match="made again"):
        topic.check()
    with pytest.raises(ServiceError) as caught:
        send(service, STREAM.format("t"))
    assert caught.value.code == 50000
    assert service.info().status is ServerStatus.DEGRADED
    again.close()


def test_topics_of_statements_are_made_and_deleted_once(
    config: StreamsConfig, service_id: str, admin: Admin, consume: Callable[..., list[Message]]
) -> None:
    name = f"rows-{service_id}"
    context = make_context(KafkaTopics(config), settings={"ksql.service.id": service_id})
    service = KsqlService.connect(config, context, FakeQueries()).start()
    create = STREAM.format("s").replace("='s'", f"='{name}'").replace("partitions=1", "partitions=2")
    send(service, create)
    assert admin.partition_counts([name]) == {name: 2}
    inserting = service.insert_into("S", {})
    done = threading.Event()
    inserting.insert({"id": 1, "v": 2}, lambda error: done.set() if error is None else None)
    assert done.wait(WAIT_SECONDS)
    assert [message.value() for message in consume(name, 1)] == [b'{"V":2}']
    send(service, "DROP STREAM s DELETE TOPIC;")
    assert admin.partition_counts([name]) == {}
    assert service.health().is_healthy
    service.terminate([])
    assert admin.partition_counts([command_topic(service_id)]) == {}
    service.close()


def test_rows_are_acknowledged_when_they_are_in_the_topic(
    config: StreamsConfig, make_topic: Callable[..., str], consume: Callable[..., list[Message]]
) -> None:
    name = make_topic()
    records = KafkaRecords(config)
    done: list[Any] = []
    all_done = threading.Event()

    def acknowledged(error: Any) -> None:
        done.append(error)
        if len(done) == 100:
            all_done.set()

    for number in range(100):
        records.write(TopicRecord(name, b"k", str(number).encode(), number), acknowledged)
    assert all_done.wait(WAIT_SECONDS)
    assert done == [None] * 100
    assert [message.value() for message in consume(name, 100)] == [str(number).encode() for number in range(100)]
    records.close()
