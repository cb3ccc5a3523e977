"""Asking a server's views over HTTP, for a command."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from millstream.cli.connection import PATIENCE
from millstream.errors import ArgumentError, MillstreamError

#: Where a view server listens if nothing else is said.
PORT = 8090

Pairs = list[tuple[str, str]]


class ViewClient:
    """Asks one server.

    Args:
        url: where it is.
        token: what it wants to be shown, if it wants something.
        authorities: certificates that its own must be signed by; the system's if not given.
    """

    def __init__(self, url: str, token: str | None = None, authorities: Path | None = None) -> None:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ArgumentError(f"{url!r} is no address of a server", hint="write http://host:port")
        self._url = f"{parts.scheme}://{parts.netloc}"
        self._headers = {} if token is None else {"authorization": f"Bearer {token}"}
        timeout = PATIENCE.total_seconds()
        self._connection: http.client.HTTPConnection
        if parts.scheme == "http":
            self._connection = http.client.HTTPConnection(parts.hostname, parts.port or PORT, timeout=timeout)
        else:
            context = ssl.create_default_context(cafile=None if authorities is None else str(authorities))
            self._connection = http.client.HTTPSConnection(
                parts.hostname, parts.port or PORT, timeout=timeout, context=context
            )

    def get(self, path: list[str], parameters: Pairs | None = None) -> Any:
        """What a path answers.

        Args:
            path: its parts, as they are.
            parameters: names and values.
        """
        return msgspec.json.decode(self._ask(path, parameters or [], {}).read())

    def lines(self, path: list[str], parameters: Pairs | None = None) -> Iterator[tuple[str, Any]]:
        """The lines of a stream of rows: ("row", ...), and a last one ("end", ...)."""
        for line in self._ask(path, parameters or [], {"accept": "application/x-ndjson"}):
            ((name, content),) = msgspec.json.decode(line).items()
            if name == "error":
                raise _told(content)
            yield name, content

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _ask(self, path: list[str], parameters: Pairs, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        target = "/" + "/".join(quote(part, safe="") for part in path)
        if parameters:
            target += "?" + urlencode(parameters)
        try:
            self._connection.request("GET", target, headers={**self._headers, **headers})
            response = self._connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise ArgumentError(
                f"no server answers at {self._url}",
                detail=str(error) or type(error).__name__,
                hint="start one: `millstream serve app.py` or `millstream run app.py --port 8090`; or give --server",
            ) from error
        if response.status == 200:
            return response
        try:
            content = msgspec.json.decode(response.read())
        except msgspec.MsgspecError:
            content = {
                "primary": f"{self._url} answers {response.status} {response.reason}",
                "detail": None,
                "hint": None,
            }
        raise _told(content)


def _told(content: Mapping[str, Any]) -> MillstreamError:
    return MillstreamError(content["primary"], detail=content["detail"], hint=content["hint"])
