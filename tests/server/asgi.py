"""Calling an ASGI application without a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from millstream.server.guard import Application


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines()]


async def call(
    application: Application,
    url: str | bytes,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> Reply:
    """The answer to a request; what is not ASCII in the URL is percent-encoded."""
    raw = url if isinstance(url, bytes) else quote(url, safe="%/?=&:,+{}\"'-._~").encode()
    path, _, query = raw.partition(b"?")
    sent: list[Any] = []
    received = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if received:
            return received.pop()
        await asyncio.Event().wait()  # the client stays

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path.decode("latin-1"), errors="replace"),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in (headers or {}).items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
        "state": {},
    }
    await application(scope, receive, send)
    start, *rest = sent
    return Reply(
        start["status"],
        {name.decode(): value.decode("latin-1") for name, value in start["headers"]},
        b"".join(message.get("body", b"") for message in rest),
    )
