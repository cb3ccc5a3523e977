"""The console of a server elsewhere: its pages come from here, everything else is asked of the server.

So that a browser needs no more than this machine, whatever stands between it and the server. Nobody's credentials are
kept here: a page sends those of its login with each request, and they are passed on.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
from collections.abc import Iterable
from pathlib import Path

from millstream.console.files import page_response, static_files
from millstream.server.address import ServerAddress
from millstream.server.guard import Receive, Scope, Send
from millstream.server.listening import Listener
from millstream.server.problems import Problem
from millstream.server.running import HttpServer
from millstream.server.settings import ServerSettings
from millstream.server.threads import Threads

_CHUNK = 64 * 1024
#: What a page says that matters to the server.
_PASSED_ON = frozenset({b"accept", b"authorization", b"content-type"})
_PASSED_BACK = frozenset({"cache-control", "content-type", "retry-after", "www-authenticate"})


class Upstream:
    """Asks the server. Each request has a connection of its own: leaving a query is closing its connection.

    Args:
        url: where the server is.
        authorities: certificates that the server's must be signed by; the system's if not given.
    """

    def __init__(self, url: str, authorities: Path | None = None) -> None:
        self._address = ServerAddress(url, authorities)

    def ask(self, method: str, target: str, headers: dict[str, str], body: bytes) -> UpstreamAnswer:
        """Begin to have an answer.

        Raises:
            Problem: there is none.
        """
        connection = self._address.connection()
        try:
            connection.connect()
            connection.sock.settimeout(None)  # rows may take their time
            connection.request(method, self._address.prefix + target, body, headers)
            return UpstreamAnswer(connection, connection.sock, connection.getresponse())
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection.close()
            raise Problem(
                502, "NoServer", f"no server answers at {self._address.url}", detail=str(error) or type(error).__name__
            ) from error


class UpstreamAnswer:
    """An answer that is under way."""

    def __init__(
        self, connection: http.client.HTTPConnection, sock: socket.socket, response: http.client.HTTPResponse
    ) -> None:
        self._connection = connection
        self._socket = sock
        self._response = response
        self.status = response.status
        self.headers = [
            (name.lower().encode(), value.encode("latin-1"))
            for name, value in response.getheaders()
            if name.lower() in _PASSED_BACK
        ]

    def read(self) -> bytes:
        """The next bytes, as soon as there are some; none at the end."""
        try:
            return self._response.read1(_CHUNK)
        except (OSError, http.client.HTTPException, ValueError):
            return b""

    def close(self) -> None:
        """Leave, also while `read` waits."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._response.close()
        self._connection.close()


class RemoteConsoleApp:
    """An ASGI application: the console's pages, and everything else from the server.

    Args:
        upstream: the server.
        settings: limits.
    """

    def __init__(self, upstream: Upstream, settings: ServerSettings) -> None:
        self._upstream = upstream
        self._threads = Threads("millstream-console", settings)
        self._files = static_files()

    @property
    def open_paths(self) -> Iterable[str]:
        """The pages."""
        return self._files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            raise Problem(404, "NotFound", "the console asks over HTTP alone")
        file = self._files.get(scope["path"])
        if file is not None:
            await page_response(scope, file)(scope, receive, send)
        else:
            await self._pass_on(scope, receive, send)

    def close(self) -> None:
        """Take no more requests."""
        self._threads.close()

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body") or b""
            if not message.get("more_body"):
                break
        query = scope["query_string"].decode("latin-1")
        target = scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in _PASSED_ON}
        answer = await self._threads.run(
            lambda: self._upstream.ask(scope["method"], target, headers, body), UpstreamAnswer.close
        )
        gone = asyncio.create_task(_gone(receive))
        try:
            await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
            while True:
                reading = asyncio.ensure_future(self._threads.run(answer.read))
                await asyncio.wait((reading, gone), return_when=asyncio.FIRST_COMPLETED)
                if gone.done():
                    answer.close()
                chunk = await reading
                await send({"type": "http.response.body", "body": chunk, "more_body": bool(chunk)})
                if not chunk:
                    return
        finally:
            gone.cancel()
            answer.close()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class RemoteConsole:
    """Serves the console of a server elsewhere, from `start` to `close`.

    Args:
        url: where the server is.
        settings: where and how to listen.
        authorities: see `Upstream`.
    """

    def __init__(self, url: str, settings: ServerSettings, authorities: Path | None = None) -> None:
        self._app = RemoteConsoleApp(Upstream(url, authorities), settings)
        self._listener = Listener(settings)
        self._server = HttpServer(self._app, self._listener, settings, self._app.open_paths)

    @property
    def url(self) -> str:
        """Where the console is."""
        return f"{self._listener.url}/console"

    def start(self) -> None:
        """Begin to answer."""
        self._server.start()

    def close(self) -> None:
        """Stop. Safe to call again."""
        self._server.close()
        self._app.close()
