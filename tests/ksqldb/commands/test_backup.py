"""The backup of the command topic."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from millstream.ksqldb import service as service_module
from millstream.ksqldb.api import ServerStatus, ServiceError
from millstream.ksqldb.commands.log.backup import Backup, BackupError, read_backup, restore
from millstream.sql.engine.answers.entities import QueriesList

from .memory import MemoryCommandTopic, make_service, send, shape

STREAM = "CREATE STREAM s (id INT KEY, v STRING) WITH (kafka_topic='s', value_format='JSON', partitions=1);"
COPY = "CREATE STREAM `copy` AS SELECT * FROM s;"


def run(topic: MemoryCommandTopic, location: Path, sql: str = "") -> tuple[object, ...]:
    """Start a service, have statements executed, and close it."""
    service = make_service(topic, settings={"ksql.metastore.backup.location": str(location)}).start()
    try:
        if sql:
            send(service, sql)
        assert service.info().status is ServerStatus.RUNNING
        return shape(service)
    finally:
        service.close()


def backup_file(location: Path) -> Path:
    (found,) = location.iterdir()
    return found


def test_each_command_is_written_once(tmp_path: Path) -> None:
    topic, location = MemoryCommandTopic(), tmp_path / "backups"
    run(topic, location, STREAM)
    run(topic, location, COPY)
    run(topic, location)
    path = backup_file(location)
    assert path.name.startswith(f"backup_{topic.name}_")
    assert read_backup(path) == [(record.key, record.value) for record in topic.records]
    assert path.read_text(encoding="utf-8").startswith('"stream/`S`/create":{"statement":"CREATE STREAM s ')
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(location.stat().st_mode) == 0o700


def test_a_topic_is_restored_with_the_same_ids(tmp_path: Path) -> None:
    topic = MemoryCommandTopic()
    run(topic, tmp_path, STREAM + COPY + "DROP STREAM `copy`;" + COPY)
    before = run(topic, tmp_path)
    restored = MemoryCommandTopic()
    restored.ensure()
    restored.put(b"x", b"y")
    assert restore(restored, backup_file(tmp_path)) == 4
    assert [(record.key, record.value) for record in restored.records] == [
        (record.key, record.value) for record in topic.records
    ]
    after = run(restored, tmp_path)
    assert after[:3] == before[:3]


@pytest.mark.parametrize("damage", ["empty", "shorter", "different"])
def test_a_topic_that_is_not_as_its_backup_degrades_the_server(tmp_path: Path, damage: str) -> None:
    topic = MemoryCommandTopic()
    run(topic, tmp_path, STREAM + COPY + "CREATE TYPE t AS INT;")
    kept = topic.records
    topic.delete()
    if damage != "empty":
        topic.ensure()
        for record in kept[:2]:
            topic.put(record.key, record.value)
    if damage == "different":
        topic.put(b'"type/T/create"', (kept[2].value or b"").replace(b"INT", b"STRING"))
    service = make_service(topic, settings={"ksql.metastore.backup.location": str(tmp_path)}).start()
    assert service.info().status is ServerStatus.DEGRADED
    with pytest.raises(ServiceError) as caught:
        send(service, STREAM.replace("STREAM s", "STREAM other"))
    assert "tell different stories" in caught.value.primary
    (listed,) = send(service, "SHOW QUERIES;")
    assert isinstance(listed, QueriesList)
    assert all(query.state == "ERROR" for query in listed.queries)
    service.close()
    assert len(read_backup(backup_file(tmp_path))) == 3


def test_a_service_that_ended_for_good_can_begin_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "_GRACE_SECONDS", 0)
    topic = MemoryCommandTopic()
    service = make_service(topic, settings={"ksql.metastore.backup.location": str(tmp_path)}).start()
    send(service, STREAM)
    service.terminate([])
    service.close()
    assert backup_file(tmp_path).suffix == ".terminated"
    run(topic, tmp_path, STREAM)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_line_that_was_never_finished_is_cut(tmp_path: Path) -> None:
    topic = MemoryCommandTopic()
    run(topic, tmp_path, STREAM)
    path = backup_file(tmp_path)
    with path.open("ab") as file:
        file.write(b'"stream/`COPY`/create":{"stat')
    run(topic, tmp_path, COPY)
    assert read_backup(path) == [(record.key, record.value) for record in topic.records]


def test_backups_that_cannot_be_used(tmp_path: Path) -> None:
    topic = MemoryCommandTopic()
    topic.ensure()
    topic.put(b"k", b"v")
    path = tmp_path / "backup"
    for content, place in ((b"nothing\n", "backup:1 "), (b'"a/b/c":{"version":99}\n', "backup:1 ")):
        path.write_bytes(content)
        with pytest.raises(BackupError) as caught:
            restore(topic, path)
        assert place in caught.value.primary
    with pytest.raises(BackupError):
        restore(topic, tmp_path / "none")
    assert len(topic.records) == 1
    with pytest.raises(BackupError, match="cannot be written"):
        Backup(path, "topic")
