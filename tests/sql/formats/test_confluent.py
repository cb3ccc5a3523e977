"""The registry of Confluent, against a small server that speaks its language."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import cloudpickle
import pytest

from millstream.sql.errors import SqlError
from millstream.sql.formats import InMemoryRegistry, Reference, RegisteredSchema
from millstream.sql.formats.confluent import ConfluentRegistry


class _Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.registry = InMemoryRegistry()


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].strip("/").split("/")
        if path[:2] == ["schemas", "ids"]:
            self._found(self.server.registry.by_id(int(path[2])), None)
        elif path[3] == "latest":
            self._found(self.server.registry.latest(path[1]), path[1])
        else:
            self._found(self.server.registry.version(path[1], int(path[3])), path[1])

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        subject = self.path.partition("?")[0].strip("/").split("/")[1]
        if body["schema"] == '"bad"':
            self._answer(422, {"error_code": 42201, "message": "Invalid schema"})
            return
        references = tuple(Reference(**part) for part in body.get("references") or ())
        schema = RegisteredSchema(body.get("schemaType", "AVRO"), body["schema"], references)
        self._answer(200, {"id": self.server.registry.register(subject, schema)})

    def do_DELETE(self) -> None:
        _, subject, _, _ = self.path.partition("?")[0].strip("/").split("/")
        newest = self.server.registry.latest(subject)
        assert newest is not None
        assert newest.id is not None
        self.server.registry.withdraw(subject, newest.id)
        self._answer(200, 1)

    def _found(self, schema: RegisteredSchema | None, subject: str | None) -> None:
        if schema is None:
            self._answer(404, {"error_code": 40401, "message": "not found"})
            return
        references = [{"name": r.name, "subject": r.subject, "version": r.version} for r in schema.references]
        answer = {"schema": schema.text, "schemaType": schema.kind, "references": references}
        self._answer(200, answer | ({"id": schema.id, "subject": subject, "version": 1} if subject else {}))

    def _answer(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Be quiet."""


@pytest.fixture
def server() -> Iterator[_Server]:
    running = _Server()
    thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join()


@pytest.fixture
def confluent(server: _Server) -> ConfluentRegistry:
    return ConfluentRegistry(f"http://127.0.0.1:{server.server_port}", {"max.retries": 0})


def test_schemas_go_in_and_come_out(confluent: ConfluentRegistry) -> None:
    assert confluent.latest("t-value") is None
    assert confluent.by_id(1) is None
    references = (Reference("a.proto", "a", 1),)
    schema = RegisteredSchema("PROTOBUF", 'syntax = "proto3";', references)
    assert confluent.register("t-value", schema) == 1
    registered = RegisteredSchema("PROTOBUF", 'syntax = "proto3";', references, 1)
    assert confluent.latest("t-value") == registered
    assert confluent.by_id(1) == registered
    assert confluent.version("t-value", 1) == registered
    assert confluent.version("t-value", 2) is None


def test_the_newest_schema_is_not_remembered(confluent: ConfluentRegistry, server: _Server) -> None:
    server.registry.register("t", RegisteredSchema("AVRO", '"int"'))
    assert confluent.latest("t") == RegisteredSchema("AVRO", '"int"', (), 1)
    server.registry.register("t", RegisteredSchema("AVRO", '"long"'))
    assert confluent.latest("t") == RegisteredSchema("AVRO", '"long"', (), 2)


def test_a_refused_schema(confluent: ConfluentRegistry) -> None:
    with pytest.raises(SqlError, match="Could not register schema for subject t: Invalid schema"):
        confluent.register("t", RegisteredSchema("AVRO", '"bad"'))


def test_a_schema_is_taken_back_and_can_come_again(confluent: ConfluentRegistry, server: _Server) -> None:
    schema = RegisteredSchema("AVRO", '"int"')
    number = confluent.register("t", schema)
    confluent.withdraw("t", number + 1)
    assert server.registry.latest("t") is not None
    confluent.withdraw("t", number)
    assert server.registry.latest("t") is None
    confluent.withdraw("t", number)
    assert confluent.register("t", schema) == number
    assert server.registry.latest("t") is not None


def test_it_can_be_sent_to_other_processes(confluent: ConfluentRegistry) -> None:
    confluent.register("t", RegisteredSchema("AVRO", '"int"'))
    copy = cloudpickle.loads(cloudpickle.dumps(confluent))
    assert copy.latest("t") == confluent.latest("t")


def test_a_registry_that_is_not_there() -> None:
    nowhere = ConfluentRegistry("http://127.0.0.1:1", {"max.retries": 0})
    with pytest.raises(SqlError, match="Schema registry request failed for schema 1"):
        nowhere.by_id(1)
