"""Clients get what the configuration says, and secrets stay secret."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import TopicPartition

from millstream.config import StreamsConfig
from millstream.errors import ArgumentError
from millstream.kafka import embedded
from millstream.kafka.clients import (
    ErrorWatch,
    admin_properties,
    consumer_properties,
    make_admin,
    make_consumer,
    make_producer,
    producer_properties,
)
from millstream.kafka.detached import DetachedBroker
from millstream.kafka.errors import AuthenticationFailed, BrokerUnavailable, KafkaError, TopicMissing, translate

_SECURITY = {"security.protocol": "sasl_ssl", "sasl.username": "ann", "sasl.password": "hush"}


def _config(**options: Any) -> StreamsConfig:
    return StreamsConfig(application_id="orders", bootstrap_servers="a:1,b:2", **options)


def test_prefixes() -> None:
    client = {
        **_SECURITY,
        "consumer.fetch.min.bytes": 1,
        "main.consumer.fetch.min.bytes": 2,
        "producer.linger.ms": 3,
        "admin.socket.timeout.ms": 4,
        "topic.segment.ms": 5,
    }
    config = _config(client=client)
    common = {"bootstrap.servers": "a:1,b:2", "client.id": "orders", **_SECURITY}
    for properties in (consumer_properties(config), producer_properties(config), admin_properties(config)):
        assert common.items() <= properties.items()
        assert "segment.ms" not in properties
    assert consumer_properties(config)["fetch.min.bytes"] == "2"
    assert consumer_properties(config, "global.consumer")["fetch.min.bytes"] == "1"
    assert producer_properties(config)["linger.ms"] == "3"
    assert admin_properties(config)["socket.timeout.ms"] == "4"
    assert "linger.ms" not in consumer_properties(config)


def test_guarantees() -> None:
    assert consumer_properties(_config())["isolation.level"] == "read_uncommitted"
    exact = _config(processing_guarantee="exactly_once_v2")
    assert consumer_properties(exact)["isolation.level"] == "read_committed"
    assert producer_properties(exact, "orders-1")["transactional.id"] == "orders-1"
    assert consumer_properties(exact)["group.id"] == "orders"
    assert producer_properties(exact)["partitioner"] == "murmur2_random"


@pytest.mark.parametrize(("given", "expected"), [(None, "earliest"), ("latest", "latest"), ("none", "error")])
def test_offset_reset(given: str | None, expected: str) -> None:
    config = _config(client={} if given is None else {"consumer.auto.offset.reset": given})
    assert consumer_properties(config)["auto.offset.reset"] == expected


def test_secrets_are_not_shown() -> None:
    config = _config(client=_SECURITY, spark={"spark.hadoop.fs.s3a.secret.key": "hush"})
    shown = [repr(config), str(config), repr(config.client), f"{producer_properties(config)}", str(config.spark)]
    assert not any("hush" in text for text in shown)
    assert config.client["sasl.password"] == "hush"
    assert producer_properties(config)["sasl.password"] == "hush"


@pytest.mark.parametrize("make", [make_consumer, make_producer, make_admin])
def test_an_unknown_property(make: Callable[[StreamsConfig], object]) -> None:
    with pytest.raises(ArgumentError, match=r"^the client properties cannot be used") as caught:
        make(_config(client={"fetch.min.bites": "1"}))
    assert "fetch.min.bites" in str(caught.value.detail)


def test_a_wrong_value() -> None:
    with pytest.raises(ArgumentError) as caught:
        make_consumer(_config(client={"consumer.fetch.min.bytes": "few"}))
    assert "fetch.min.bytes" in str(caught.value.detail)


def test_without_servers() -> None:
    with pytest.raises(ArgumentError, match=r"^bootstrap_servers is not set"):
        make_admin(StreamsConfig())
    with pytest.raises(ArgumentError, match=r"^the embedded broker was not started"):
        make_admin(StreamsConfig(bootstrap_servers="embedded"))


def test_an_embedded_broker(broker: DetachedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_broker", broker)
    assert embedded.with_broker(_config()) == _config()
    found = embedded.with_broker(StreamsConfig(bootstrap_servers="embedded"))
    assert found.bootstrap_servers == broker.bootstrap_servers


def test_records_there_and_back(
    broker: DetachedBroker, make_topic: Callable[..., str], consume: Callable[..., Any]
) -> None:
    topic = make_topic()
    config = StreamsConfig(
        application_id=topic, bootstrap_servers=broker.bootstrap_servers, processing_guarantee="exactly_once_v2"
    )
    producer = make_producer(config, f"{topic}-0")
    producer.init_transactions(30)
    for value, keep in ((b"aborted", False), (b"kept", True)):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush(30)
        if keep:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)
    consumer = make_consumer(config, overrides={"fetch.wait.max.ms": "50"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    message = consumer.poll(30)
    consumer.close()
    assert message is not None
    assert message.value() == b"kept"
    assert [record.value() for record in consume(topic)] == [b"kept"]


def test_the_watch_says_things_once(caplog: pytest.LogCaptureFixture) -> None:
    watch = ErrorWatch()
    with caplog.at_level(logging.WARNING, logger="millstream.kafka"):
        for code in (ClientError._TRANSPORT, ClientError._TRANSPORT, ClientError._AUTHENTICATION):
            watch(ClientError(code))
    assert len(caplog.records) == 2
    assert watch.last is watch.refused
    assert watch.refused is not None


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ClientError._ALL_BROKERS_DOWN, BrokerUnavailable),
        (ClientError.SASL_AUTHENTICATION_FAILED, AuthenticationFailed),
        (ClientError.UNKNOWN_TOPIC_OR_PART, TopicMissing),
        (ClientError.POLICY_VIOLATION, KafkaError),
    ],
)
def test_errors(code: int, kind: type[KafkaError]) -> None:
    error = translate(ClientError(code, "why"), "do it", "a:1")
    assert type(error) is kind
    assert error.primary.startswith("cannot do it")
    assert str(error.detail).endswith("why (bootstrap servers a:1)")
