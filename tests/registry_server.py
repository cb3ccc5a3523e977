"""A small server that speaks the language of Confluent's Schema Registry."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from millstream.registry import InMemoryRegistry, RegisteredSchema, SchemaReference


class RegistryServer(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.registry = InMemoryRegistry()
        #: Subjects that take no further schema.
        self.closed: set[str] = set()
        #: The `Authorization` of all requests.
        self.authorizations: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: RegistryServer

    def do_GET(self) -> None:
        self.server.authorizations.append(self.headers["Authorization"])
        path = self.path.partition("?")[0].strip("/").split("/")
        if path[:2] == ["schemas", "ids"]:
            self._found(self.server.registry.by_id(int(path[2])), None)
        elif path[0] != "subjects":
            self._answer(404, {"error_code": 404, "message": "not found"})
        elif path[3] == "latest":
            self._found(self.server.registry.latest(path[1]), path[1])
        else:
            self._found(self.server.registry.version(path[1], int(path[3])), path[1])

    def do_POST(self) -> None:
        self.server.authorizations.append(self.headers["Authorization"])
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        subject = self.path.partition("?")[0].strip("/").split("/")[1]
        if body["schema"] == '"bad"':
            self._answer(422, {"error_code": 42201, "message": "Invalid schema"})
            return
        if self.path.count("/") == 2:  # whether the subject has it
            self._lookup(subject, _schema(body))
            return
        if subject in self.server.closed:
            self._answer(409, {"error_code": 409, "message": "the new schema has no default for field 'tax'"})
            return
        self._answer(200, {"id": self.server.registry.register(subject, _schema(body))})

    def _lookup(self, subject: str, schema: RegisteredSchema) -> None:
        number = self.server.registry.lookup(subject, schema)
        self._found(None if number is None else self.server.registry.by_id(number), subject)

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


def _schema(body: dict[str, Any]) -> RegisteredSchema:
    references = tuple(SchemaReference(**part) for part in body.get("references") or ())
    return RegisteredSchema(body.get("schemaType", "AVRO"), body["schema"], references)
