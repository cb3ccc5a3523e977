"""Asking a server, one request at a time."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any
from urllib.parse import quote, urlsplit

from millstream.migrations.errors import MigrationError, ServerRefused
from millstream.migrations.project import Project

_PORT = 8088
_CONNECT_SECONDS = 10.0
#: ASSERT may wait for long.
_ANSWER_SECONDS = 600.0
#: How long the server may take until its view of a table answers, or a command is executed.
_PATIENCE_SECONDS = 120.0
_PAUSE_SECONDS = 1.0
_FINAL = frozenset({"SUCCESS", "ERROR", "TERMINATED"})


class Client:
    """Asks a server.

    Args:
        project: says where the server is and who asks.
        pause: waits so many seconds before something is tried again.
    """

    def __init__(self, project: Project, pause: Callable[[float], None] = time.sleep) -> None:
        self._project = project
        self._pause = pause
        parts = urlsplit(project.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise MigrationError(f"Invalid ksql server URL: {project.url}", hint="write http://host:8088")
        self._host, self._port, self._is_secure = parts.hostname, parts.port or _PORT, parts.scheme == "https"
        self._headers = {"accept": "application/json", "content-type": "application/json"}
        if project.username is not None:
            credentials = f"{project.username}:{project.password}".encode()
            self._headers["authorization"] = f"Basic {base64.b64encode(credentials).decode()}"
        #: What has been executed so far; any server of the service has to know it before it goes on.
        self._sequence_number = -1

    def service_id(self) -> str:
        """The id of the server's service."""
        found: str = self._ask("GET", "/info")["KsqlServerInfo"]["ksqlServiceId"]
        return found

    def execute(
        self, statement: str, properties: Mapping[str, Any] | None = None, variables: Mapping[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """Have statements executed; when it returns, they are.

        Args:
            statement: their text.
            properties: what SET has set.
            variables: what DEFINE has defined.

        Returns:
            What the server says of them.

        Raises:
            MigrationError: the server does not take one, or it failed.
        """
        body = {
            "ksql": statement,
            "streamsProperties": dict(properties or {}),
            "sessionVariables": dict(variables or {}),
            "commandSequenceNumber": self._sequence_number,
        }
        entities: list[dict[str, Any]] = self._ask("POST", "/ksql", body)
        for entity in entities:
            if "commandStatus" in entity:
                self._sequence_number = max(self._sequence_number, entity.get("commandSequenceNumber", -1))
                status = self._final(entity["commandId"], entity["commandStatus"])
                if status["status"] == "ERROR":
                    raise MigrationError(status["message"])
        return entities

    def _final(self, command: str, status: dict[str, Any]) -> dict[str, Any]:
        """The status of a command once it has been executed."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while status["status"] not in _FINAL:
            if time.monotonic() > end:
                raise MigrationError(
                    f"the server has not executed {command} within {_PATIENCE_SECONDS:g} seconds",
                    detail=f"its status is {status['status']}",
                )
            self._pause(_PAUSE_SECONDS)
            status = self._ask("GET", f"/status/{quote(command)}")
        return status

    def rows(self, query: str) -> list[list[Any]]:
        """What a pull query answers. A view that is not there yet is waited for.

        Raises:
            MigrationError: it cannot be answered.
        """
        end = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                answer: list[Any] = self._ask("POST", "/query-stream", {"sql": query})
            except ServerRefused as error:
                if error.status != http.HTTPStatus.SERVICE_UNAVAILABLE or time.monotonic() > end:
                    raise
                self._pause(_PAUSE_SECONDS)
                continue
            _, *rows = answer
            for row in rows:
                if isinstance(row, dict):  # it began well
                    raise MigrationError(row.get("message", str(row)))
            return rows

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        try:
            with closing(self._connection()) as connection:
                connection.connect()
                connection.sock.settimeout(_ANSWER_SECONDS)
                connection.request(method, path, content, self._headers)
                response = connection.getresponse()
                answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise MigrationError(
                f"no server answers at {self._project.url}", detail=str(error) or type(error).__name__
            ) from error
        if response.status == http.HTTPStatus.OK:
            try:
                return json.loads(answer)
            except ValueError as error:
                raise MigrationError(f"what answers at {self._project.url} is no ksqlDB server") from error
        raise ServerRefused(_message(answer) or f"{response.status} {response.reason}", response.status)

    def _connection(self) -> http.client.HTTPConnection:
        if not self._is_secure:
            return http.client.HTTPConnection(self._host, self._port, timeout=_CONNECT_SECONDS)
        authorities = self._project.authorities
        try:
            context = ssl.create_default_context(cafile=None if authorities is None else str(authorities))
        except ssl.SSLError as error:
            raise MigrationError(
                f"{authorities} has no certificates", detail=str(error), hint="ssl.truststore.location is a PEM file"
            ) from error
        context.check_hostname = self._project.verify_host
        return http.client.HTTPSConnection(self._host, self._port, timeout=_CONNECT_SECONDS, context=context)


def _message(answer: bytes) -> str | None:
    try:
        found = json.loads(answer)
        return str(found["message"])
    except (ValueError, KeyError, TypeError):
        return None
