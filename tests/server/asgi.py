"""Calling an ASGI application without a socket, and what it answers at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from millstream.server.guard import Application, AtOnce, Message, Scope


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines()]


def scope_of(url: str | bytes, *, method: str = "GET", headers: Mapping[str, str] | None = None) -> Scope:
    """What a server says of a request; what is not ASCII in the URL is percent-encoded."""
    raw = url if isinstance(url, bytes) else quote(url, safe="%/?=&:,+{}\"'-._~").encode()
    path, _, query = raw.partition(b"?")
    return {
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


async def call(application: Application, url: str | bytes, *, body: bytes = b"", **request: Any) -> Reply:
    """The answer to a request."""
    sent: list[Any] = []
    received = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if received:
            return received.pop()
        await asyncio.Event().wait()  # the client stays

    async def send(message: Any) -> None:
        sent.append(message)

    await application(scope_of(url, **request), receive, send)
    return _reply(sent)


def call_at_once(at_once: AtOnce, url: str | bytes, **request: Any) -> Reply | None:
    """The same, of what is answered without waiting."""
    sent = at_once(scope_of(url, **request))
    return None if sent is None else _reply(sent)


def _reply(messages: Iterable[Message]) -> Reply:
    start, *rest = messages
    return Reply(
        start["status"],
        {name.decode(): value.decode("latin-1") for name, value in start["headers"]},
        b"".join(message.get("body", b"") for message in rest),
    )
