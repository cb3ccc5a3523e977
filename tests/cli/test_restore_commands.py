"""The command topic of a service is made anew from a backup."""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message

from millstream.config import StreamsConfig
from millstream.kafka.admin import Admin
from millstream.kafka.detached import DetachedBroker
from millstream.ksqldb.commands.log.command import Command
from millstream.ksqldb.commands.log.kafka_topic import KafkaCommandTopic

Run = Callable[..., tuple[int, str, str]]

COMMANDS = [Command("stream/`S`/create", "CREATE STREAM s ...;"), Command("stream/S/drop", "DROP STREAM s;")]


@pytest.fixture
def service_id(broker: DetachedBroker, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MILLSTREAM_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    monkeypatch.setenv("COLUMNS", "200")
    return f"t{uuid.uuid4().hex[:10]}_"


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    path = tmp_path / "backup"
    path.write_bytes(b"".join(command.key + b":" + command.value + b"\n" for command in COMMANDS))
    return path


def test_a_topic_is_made_anew(
    run: Run,
    service_id: str,
    backup: Path,
    broker: DetachedBroker,
    consume: Callable[..., list[Message]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = f"_confluent-ksql-{service_id}_command_topic"
    config = StreamsConfig(application_id="tests", bootstrap_servers=broker.bootstrap_servers)
    topic = KafkaCommandTopic(config, service_id, name)
    topic.ensure()
    writer = topic.writer()
    writer.begin()
    writer.append(b'"type/T/create"', b"{}")
    writer.commit()
    writer.close()
    topic.close()

    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    code, output, _ = run("restore-commands", str(backup), "--service-id", service_id)
    assert code == 1
    assert output.splitlines()[:4] == [
        f"restore the commands of service {service_id}:",
        f"  delete topic {name} and all commands that it has",
        f"  make topic {name} with 2 commands of {backup}",
        "  leave alone: all other topics, and how far queries have come",
    ]
    assert [message.key() for message in consume(name)] == [b'"type/T/create"']
    code, output, _ = run("restore-commands", str(backup), "--service-id", service_id, "--yes")
    assert code == 0
    assert output.splitlines()[-1] == f"restored 2 commands; servers of service {service_id} can be started"
    assert [(message.key(), message.value()) for message in consume(name)] == [
        (command.key, command.value) for command in COMMANDS
    ]


def test_a_file_that_is_no_backup_changes_nothing(run: Run, service_id: str, backup: Path, admin: Admin) -> None:
    with backup.open("ab") as file:
        file.write(b"nothing\n")
    code, _, errors = run("restore-commands", str(backup), "--service-id", service_id, "--yes")
    assert code == 1
    assert errors.startswith(f"error: {backup}:3 is no line of a backup\n")
    assert admin.partition_counts([f"_confluent-ksql-{service_id}_command_topic"]) == {}


def test_not_while_a_server_runs(
    run: Run, service_id: str, backup: Path, broker: DetachedBroker, make_topic: Callable[..., str]
) -> None:
    lane = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": f"_confluent-ksql-{service_id}-lanes"})
    lane.subscribe([make_topic()])
    while not lane.assignment():
        lane.poll(0.1)
    code, output, errors = run("restore-commands", str(backup), "--service-id", service_id, "--yes")
    lane.close()
    assert (code, output) == (1, "")
    assert errors.startswith(f"error: a server of service {service_id} is running\n")
