"""A server beside a real Kafka Connect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .server_process import Refused, ServerProcess, until

FILES = "org.apache.kafka.connect.file.FileStream"
STRINGS = "'value.converter'='org.apache.kafka.connect.storage.StringConverter'"


def one(entities: list[Any]) -> Any:
    (entity,) = entities
    return entity


@pytest.mark.usefixtures("worker")
def test_a_server_beside_kafka_connect(running: ServerProcess, name: str, tmp_path: Path) -> None:
    # One test: parts of it could run in several processes, and each would start a worker.
    check_answers(running, name, tmp_path)
    check_file_to_topic_to_sql_to_topic_to_file(running, name, tmp_path)


def check_file_to_topic_to_sql_to_topic_to_file(running: ServerProcess, name: str, tmp_path: Path) -> None:
    given, taken = tmp_path / "in.csv", tmp_path / "out.csv"
    lines = [f"item {number},{number}" for number in range(500)]
    given.write_text("".join(f"{line}\n" for line in lines[:300]))
    running.ksql(
        f"CREATE STREAM {name} (item VARCHAR, amount INT)"
        f"  WITH (kafka_topic='{name}', partitions=1, value_format='DELIMITED');"
        f"CREATE STREAM {name}_out WITH (kafka_topic='{name}-out') AS"
        f"  SELECT UCASE(item) AS item, amount * 2 AS amount FROM {name} WHERE amount % 3 = 0;"
        f"CREATE SINK CONNECTOR {name}_sink WITH ('connector.class'='{FILES}SinkConnector',"
        f"  'topics'='{name}-out', 'file'='{taken}', {STRINGS});"
        f"CREATE SOURCE CONNECTOR {name}_source WITH ('connector.class'='{FILES}SourceConnector',"
        f"  'topic'='{name}', 'file'='{given}', {STRINGS});"
    )
    with given.open("a") as file:
        file.write("".join(f"{line}\n" for line in lines[300:]))
    expected = [f"ITEM {number},{number * 2}" for number in range(0, 500, 3)]
    until(lambda: taken.exists() and taken.read_text().splitlines() == expected)
    listed = one(running.ksql("SHOW CONNECTORS;"))["connectors"]
    assert {each["name"]: (each["type"], each["state"]) for each in listed} == {
        f"{name}_sink".upper(): ("sink", "RUNNING (1/1 tasks RUNNING)"),
        f"{name}_source".upper(): ("source", "RUNNING (1/1 tasks RUNNING)"),
    }
    dropped = running.ksql(f"DROP CONNECTOR {name}_sink; DROP CONNECTOR {name}_source;")
    assert [each["@type"] for each in dropped] == ["drop_connector"] * 2
    assert one(running.ksql("SHOW CONNECTORS;"))["connectors"] == []


def refusal(running: ServerProcess, sql: str) -> tuple[int, int, str, str]:
    with pytest.raises(Refused) as caught:
        running.ksql(sql)
    body = caught.value.body
    return caught.value.status, body["error_code"], body["@type"], body["message"]


def check_answers(running: ServerProcess, name: str, tmp_path: Path) -> None:
    plugins = one(running.ksql("SHOW CONNECTOR PLUGINS;"))["connectorsPlugins"]
    files = next(each for each in plugins if each["className"] == f"{FILES}SourceConnector")
    assert (files["type"], files["version"].split(".")[0]) == ("source", "4")

    def create(given: str, kind: str = "CONNECTOR") -> str:
        return f"CREATE SOURCE {kind} {name} WITH ({given});"

    well = f"'connector.class'='FileStreamSource', 'topic'='{name}', 'file'='{tmp_path / 'none'}'"
    assert refusal(running, create("'topic'='t'"))[1:3] == (40000, "generic_error")
    status, code, _, message = refusal(running, create("'connector.class'='FileStreamSource'"))
    assert (status, code) == (400, 40000)
    assert message.startswith("Validation error: topic - Missing required configuration")
    status, code, _, message = refusal(running, create("'connector.class'='org.example.None', 'secret'='xyz'"))
    assert (status, code, message.startswith("Validation error: ")) == (400, 40000, True)
    assert "xyz" not in message

    made = one(running.ksql(create(well)))
    assert made["info"]["name"] == made["info"]["config"]["name"] == name.upper()
    assert str(tmp_path) not in made["statementText"]
    assert refusal(running, create(well)) == (409, 40900, "generic_error", f"Connector {name.upper()} already exists")
    there = one(running.ksql(create(well, "CONNECTOR IF NOT EXISTS")))
    assert (there["@type"], there["message"]) == ("warning_entity", f"Connector {name.upper()} already exists")

    def described() -> Any:
        try:
            found = one(running.ksql(f"DESCRIBE CONNECTOR {name};"))
        except Refused:  # it has no status for a moment
            return None
        return found if found["status"]["tasks"] else None

    found = until(described)
    assert found["connectorClass"] == "FileStreamSource"
    assert found["status"]["type"] == "source"
    assert found["status"]["connector"].keys() <= {"state", "worker_id", "trace"}
    assert (found["sources"], found["topics"]) == ([], [])

    assert one(running.ksql(f"DROP CONNECTOR {name};"))["connectorName"] == name.upper()
    status, code, kind, message = refusal(running, f"DROP CONNECTOR {name};")
    assert (status, code, kind) == (404, 40400, "generic_error")
    assert message.startswith("Failed to drop connector: {")
    gone = one(running.ksql(f"DROP CONNECTOR IF EXISTS {name};"))
    assert (gone["@type"], gone["message"]) == ("warning_entity", f"Connector '{name.upper()}' does not exist.")
