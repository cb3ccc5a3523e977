"""A transaction that does not end is told, whether the application reads, writes or keeps the topic."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from millstream import Consumed, Produced, Serdes, StreamsBuilder, StreamsConfig
from millstream.hosting import hanging
from millstream.hosting.hanging import HangingTransactions
from millstream.kafka.admin import Admin
from millstream.kafka.detached import DetachedBroker
from millstream.kafka.topics import NewTopic

Make = Callable[..., str]


def test_topics_of_an_application(
    broker: DetachedBroker,
    admin: Admin,
    make_topic: Make,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(hanging, "_PATIENCE_SECONDS", 0.0)
    application = f"app-{uuid.uuid4().hex[:8]}"
    read, written, unknown, kept = make_topic(2), make_topic(1), make_topic(1), f"{application}-counts-changelog"
    matched = make_topic(1, name="matched")
    admin.create_topics([NewTopic(kept, 1)])
    builder = StreamsBuilder()
    strings = Consumed(Serdes.string, Serdes.string)
    builder.stream(read, strings).to(written, Produced(Serdes.string, Serdes.string))
    builder.stream(re.compile(re.escape(matched)), strings).foreach(lambda key, value: None)
    config = StreamsConfig(application_id=application, bootstrap_servers=broker.bootstrap_servers)
    looking = HangingTransactions(builder.build(), config)

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": uuid.uuid4().hex})
    producer.init_transactions(30)
    producer.begin_transaction()
    for topic in (read, written, unknown, kept, matched):
        producer.produce(topic, "value", "key", 0)
    producer.flush(30)
    looking.look()
    told = {record.getMessage().split(":")[0] for record in caplog.records if "does not end" in record.getMessage()}
    assert told == {f"{topic}-0" for topic in (read, written, kept, matched)}

    caplog.clear()
    looking.look()
    producer.commit_transaction(30)
    looking.look()
    assert "does not end" not in caplog.text
