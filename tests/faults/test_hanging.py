"""A transaction that is open does not hang: its coordinator knows of it."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka import Producer

from millstream.kafka.broker import DevBroker
from millstream.kafka.topics import NewTopic

from .harness import hanging
from .harness.topics import admin


def test_what_the_files_of_a_broker_tell_about_transactions(tmp_path: Path) -> None:
    with DevBroker(tmp_path / "broker") as broker:
        servers, data = broker.bootstrap_servers, broker.directory / "data"
        client = admin(servers)
        client.create_topics([NewTopic("app-pairs", 2)])
        producer = Producer({"bootstrap.servers": servers, "transactional.id": "one"})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce("app-pairs", "value", "key", 1)
        producer.flush(30)
        assert hanging.hanging(broker, "app-") == []
        owner = hanging._undecided(data, "app-pairs", 1, 0)
        assert owner is not None
        assert hanging._open(data)[owner] == {("app-pairs", 1)}

        producer.commit_transaction(30)
        producer.begin_transaction()
        producer.produce("app-pairs", "value", "key", 0)
        producer.flush(30)  # by now the one before has its mark
        assert hanging._undecided(data, "app-pairs", 1, 0) is None
        assert hanging._open(data)[owner] == {("app-pairs", 0)}
        producer.abort_transaction(30)
