"""A client of ksqlDB's REST protocol."""

from __future__ import annotations

import base64
import http.client
import socket
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from millstream.errors import MillstreamError
from millstream.server.address import ServerAddress
from millstream.shell.errors import NoServer, server_error

#: Statements may wait: for commands before them, or for what they assert.
_STATEMENT_SECONDS = 300.0
_V1 = "application/vnd.ksql.v1+json"


class Header(msgspec.Struct):
    """What is said of an answer before its rows."""

    schema: str = ""


class Row(msgspec.Struct):
    """A row; its values stay JSON, so that numbers are shown as the server wrote them."""

    columns: list[msgspec.Raw]
    tombstone: bool = False


class Element(msgspec.Struct, rename="camel"):
    """A part of an answer: one of these is there."""

    header: Header | None = None
    row: Row | None = None
    final_message: str | None = None
    error_message: dict[str, Any] | None = None


@dataclass(frozen=True)
class Credentials:
    """What is shown to a server, and which servers are trusted.

    Args:
        user: a name and a password.
        token: shown instead of them.
        authorities: certificates that the server's must be signed by; the system's if not given.
    """

    user: tuple[str, str] | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    authorities: Path | None = None

    def headers(self) -> dict[str, str]:
        """What each request says of them."""
        if self.token is not None:
            return {"authorization": f"Bearer {self.token}"}
        if self.user is not None:
            return {"authorization": f"Basic {base64.b64encode(':'.join(self.user).encode()).decode()}"}
        return {}


_ANONYMOUS = Credentials()
_NOTHING: Mapping[str, Any] = {}


class KsqlClient:
    """Asks one server. Each request has a connection of its own: leaving a query is closing its connection.

    Args:
        url: where the server is.
        credentials: what is shown to it.
    """

    def __init__(self, url: str, credentials: Credentials = _ANONYMOUS) -> None:
        self._address = ServerAddress(url, credentials.authorities)
        self.url = self._address.url
        self.credentials = credentials

    def info(self) -> dict[str, Any]:
        """What the server says of itself: version, ksqlServiceId, kafkaClusterId, serverStatus."""
        with self._ask("GET", "/info") as response:
            content = _decode(response.read(), self.url)
        found: dict[str, Any] = content.get("KsqlServerInfo", content) if isinstance(content, dict) else {}
        return found

    def check_property(self, name: str) -> None:
        """See whether a property can be set.

        Raises:
            ServerRefused: it cannot.
        """
        with self._ask("GET", f"/is_valid_property/{quote(name, safe='')}"):
            pass

    def execute(
        self,
        sql: str,
        properties: Mapping[str, Any] = _NOTHING,
        variables: Mapping[str, str] = _NOTHING,
        after: int | None = None,
    ) -> list[dict[str, Any]]:
        """Have statements executed that are no queries.

        Args:
            sql: the statements.
            properties: what the session has SET.
            variables: what it has DEFINEd.
            after: the sequence number of a command that must have been executed before.

        Returns:
            The answers of those statements that have one.

        Raises:
            ServerRefused: a statement cannot be executed.
            NoServer: there is none, or it does not answer.
        """
        body: dict[str, Any] = {"ksql": sql, "streamsProperties": properties, "sessionVariables": variables}
        if after is not None:
            body["commandSequenceNumber"] = after
        with self._ask("POST", "/ksql", body, sql=sql) as response:
            found: list[dict[str, Any]] = _decode(response.read(), self.url)
            return found

    def query(
        self, sql: str, properties: Mapping[str, Any] = _NOTHING, variables: Mapping[str, str] = _NOTHING
    ) -> Generator[tuple[str, Element], None, None]:
        """The parts of the answer to a SELECT, as they come, and how the server wrote each; closing it ends the query.

        Raises:
            ServerRefused: it cannot be answered, or failed.
            NoServer: there is none, or it has gone.
        """
        body = {"sql": sql, "properties": properties, "sessionVariables": variables}
        with self._ask("POST", "/query-stream", body, sql=sql, is_endless=True, accept=_V1) as response:
            line = b""
            for line in _lines(response, self.url):
                text = line.strip().removeprefix(b"[").removesuffix(b"]").rstrip(b",")
                if not text:
                    continue
                element = _decode(text, self.url, Element)
                if element.error_message is not None:
                    raise server_error(element.error_message, sql)
                yield text.decode(), element
            if not line.rstrip().endswith(b"]"):
                raise NoServer(f"{self.url} has gone before the answer was complete")

    def print_topic(
        self, sql: str, properties: Mapping[str, Any] = _NOTHING, variables: Mapping[str, str] = _NOTHING
    ) -> Generator[str, None, None]:
        """The lines of a PRINT, as they come; closing it ends it.

        Raises:
            ServerRefused: it cannot be answered, or failed.
            NoServer: there is none, or it has gone.
        """
        body = {"ksql": sql, "streamsProperties": properties, "sessionVariables": variables}
        with self._ask("POST", "/query", body, sql=sql, is_endless=True, accept=_V1) as response:
            for line in _lines(response, self.url):
                text = line.decode(errors="replace").rstrip("\r\n")
                if text.startswith('{"@type":"generic_error"'):
                    raise server_error(_decode(line, self.url), sql)
                if text:  # an empty one says that the server is still there
                    yield text

    @contextmanager
    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        sql: str | None = None,
        is_endless: bool = False,
        accept: str = "application/json",
    ) -> Iterator[http.client.HTTPResponse]:
        connection = self._address.connection()
        try:
            try:
                connection.connect()
                _set_patience(connection.sock, None if is_endless else _STATEMENT_SECONDS)
                connection.request(
                    method,
                    self._address.prefix + path,
                    None if body is None else msgspec.json.encode(body),
                    {**self.credentials.headers(), "accept": accept, "content-type": _V1},
                )
                response = connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                raise NoServer(
                    f"no server answers at {self.url}",
                    detail=str(error) or type(error).__name__,
                    hint="start one with `millstream server`, or give --server http://host:port",
                ) from error
            if response.status != 200:
                raise _refusal(response, self.url, sql)
            yield response
        finally:
            connection.close()


def _set_patience(sock: socket.socket, seconds: float | None) -> None:
    sock.settimeout(seconds)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # else nobody notices that a quiet server is gone


def _lines(response: http.client.HTTPResponse, url: str) -> Iterator[bytes]:
    try:
        yield from response
    except (OSError, http.client.HTTPException) as error:
        raise NoServer(
            f"{url} has gone before the answer was complete", detail=str(error) or type(error).__name__
        ) from error


def _refusal(response: http.client.HTTPResponse, url: str, sql: str | None) -> MillstreamError:
    try:
        content = msgspec.json.decode(response.read())
    except (msgspec.MsgspecError, OSError, http.client.HTTPException):
        content = None
    if isinstance(content, dict) and "message" in content:
        return server_error(content, sql)
    return NoServer(
        f"{url} answers {response.status} {response.reason}".rstrip(),
        hint="is it a ksqlDB server?" if response.status in (404, 405) else None,
    )


def _decode(text: bytes, url: str, kind: Any = Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError as error:
        raise NoServer(f"{url} answers what a ksqlDB server does not", detail=str(error)) from error
