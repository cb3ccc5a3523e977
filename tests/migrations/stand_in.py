"""Answers as a ksqlDB server does, as far as migrations ask; its table is up to date at once."""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from millstream.sql.parser import parse_one
from millstream.sql.tree.expressions import StringLiteral
from millstream.sql.tree.statements import InsertValues

ALREADY = "it is dead"
EVENTS, VERSIONS = "MIGRATION_EVENTS", "MIGRATION_SCHEMA_VERSIONS"


class StandIn(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.sources: dict[str, list[str]] = {"streams": [], "tables": []}
        #: The rows of the table by their keys.
        self.rows: dict[str, list[str]] = {}
        #: The states of migrations, in the order in which they were written.
        self.states: list[tuple[str, str]] = []
        #: Statements that are no business of the metadata, with properties and variables.
        self.executed: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.authorizations: list[str | None] = []
        #: Questions that find the view not ready.
        self.unready = 0
        #: Commands that are queued; asked for again, they are done.
        self.queues = False
        self.asked_for: list[str] = []
        #: From this statement on no request is answered.
        self.dies_at: str | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def execute(self, text: str, body: dict[str, Any]) -> tuple[int, Any]:
        if found := re.match(r"LIST (STREAMS|TABLES);", text):
            kind = found[1].lower()
            return 200, [{"@type": kind, kind: [{"name": name} for name in self.sources[kind]]}]
        if text.startswith(f"INSERT INTO {EVENTS} "):
            statement = parse_one(text).statement
            assert isinstance(statement, InsertValues)
            key, *row = [value.value for value in statement.values if isinstance(value, StringLiteral)]
            self.rows[key] = row
            if key != "CURRENT":
                self.states.append((key, row[2]))
            return 200, []
        if found := re.match(rf"(CREATE|DROP) (STREAM|TABLE) ({EVENTS}|{VERSIONS})\b", text):
            names = self.sources[f"{found[2].lower()}s"]
            (names.append if found[1] == "CREATE" else names.remove)(found[3])
        else:
            if "no_such_stream" in text:
                return 400, {
                    "@type": "statement_error",
                    "error_code": 40001,
                    "message": "NO_SUCH_STREAM does not exist.",
                }
            self.executed.append((text, body["streamsProperties"], body["sessionVariables"]))
            if text.startswith("INSERT"):
                return 200, []
        status = {"status": "QUEUED" if self.queues else "SUCCESS", "message": "", "queryId": None}
        return 200, [{"commandId": "stream/`S`/create", "commandStatus": status, "commandSequenceNumber": 7}]

    def query(self, text: str) -> tuple[int, Any]:
        if self.unready:
            self.unready -= 1
            return 503, {"@type": "generic_error", "error_code": 50000, "message": "not ready"}
        found = re.search(r" IN \((.*)\);", text)
        assert found is not None
        keys = re.findall(r"'(.*?)'", found[1])
        return 200, [{"queryId": "q"}, *(self.rows[key] for key in keys if key in self.rows)]


class _Handler(BaseHTTPRequestHandler):
    server: StandIn

    def do_GET(self) -> None:
        self.server.authorizations.append(self.headers["Authorization"])
        if self.path == "/info":
            self._answer(200, {"KsqlServerInfo": {"ksqlServiceId": "shop_"}})
        else:
            self.server.asked_for.append(self.path)
            self._answer(200, {"status": "SUCCESS", "message": "", "queryId": None})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.dies_at is not None and self.server.dies_at in (body.get("ksql"), ALREADY):
            self.server.dies_at = ALREADY
        elif self.path == "/ksql":
            self._answer(*self.server.execute(body["ksql"], body))
        else:
            self._answer(*self.server.query(body["sql"]))

    def _answer(self, status: int, content: Any) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Tests are quiet."""
