"""A stand-in for Kafka Connect's REST API: it says what a test wants, also what a real worker says rarely."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    """A request that came."""

    what: str
    authorization: str | None
    content: Any


class ConnectServer(ThreadingHTTPServer):
    """Answers as it was told by `say`; anything else is not found."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._answers: dict[str, list[tuple[int, Any]]] = {}
        self.asked: list[Asked] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def say(self, what: str, *answers: tuple[int, Any]) -> None:
        """What "GET /path" is answered with, one after the other; the last one stays."""
        self._answers[what] = list(answers)

    def has(self, name: str, config: dict[str, str], kind: str, state: str, tasks: Sequence[str]) -> None:
        """It has one connector, and no other."""
        self.say("GET /connectors", (200, [name]))
        ids = [{"connector": name, "task": number} for number in range(len(tasks))]
        self.say(f"GET /connectors/{name}", (200, {"name": name, "config": config, "tasks": ids, "type": kind}))
        found = [{"id": number, "state": one, "worker_id": "w:1"} for number, one in enumerate(tasks)]
        status = {"name": name, "connector": {"state": state, "worker_id": "w:1", "version": "1"}, "tasks": found}
        self.say(f"GET /connectors/{name}/status", (200, {**status, "type": kind}))

    def answer(self, asked: Asked) -> tuple[int, Any]:
        self.asked.append(asked)
        answers = self._answers.get(asked.what)
        if answers is None:
            return 404, {"error_code": 404, "message": f"{asked.what} not found"}
        return answers.pop(0) if len(answers) > 1 else answers[0]


class _Handler(BaseHTTPRequestHandler):
    server: ConnectServer

    def _any(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        asked = Asked(f"{self.command} {self.path}", self.headers["Authorization"], json.loads(body) if body else None)
        status, content = self.server.answer(asked)
        encoded = b"" if content is None else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    do_GET = do_POST = do_PUT = do_DELETE = _any

    def log_message(self, format: str, *args: Any) -> None:
        pass
