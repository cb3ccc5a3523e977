"""Where a server is, as people write it, and connections to it."""

from __future__ import annotations

import http.client
import ssl
from pathlib import Path
from urllib.parse import urlsplit

from millstream.errors import ArgumentError

#: Where a server listens if nothing else is said.
PORT = 8088

_CONNECT_SECONDS = 10.0


class ServerAddress:
    """A server's address.

    Args:
        url: as somebody wrote it.
        authorities: certificates that the server's must be signed by; the system's if not given.

    Raises:
        ArgumentError: it is none, or there are no certificates.

    >>> ServerAddress("somewhere").url, ServerAddress("https://[::1]:443/ksql/").url
    ('http://somewhere:8088', 'https://[::1]:443/ksql')
    """

    def __init__(self, url: str, authorities: Path | None = None) -> None:
        try:
            parts = urlsplit(url if "//" in url else f"http://{url}")
            port = parts.port or PORT
        except ValueError:
            parts, port = urlsplit(""), PORT
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise ArgumentError(
                f"{url!r} is no address of a server", hint="write http://host:port or https://host:port"
            )
        #: What is before every path.
        self.prefix = parts.path.rstrip("/")
        self._host, self._port = parts.hostname, port
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        self.url = f"{parts.scheme}://{host}:{port}{self.prefix}"
        self._ssl = None
        if parts.scheme == "https":
            try:
                self._ssl = ssl.create_default_context(cafile=None if authorities is None else str(authorities))
            except OSError as error:
                raise ArgumentError(f"the certificates cannot be read from {authorities}", detail=str(error)) from error

    def connection(self) -> http.client.HTTPConnection:
        """A connection that is to be made."""
        if self._ssl is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=_CONNECT_SECONDS)
        return http.client.HTTPSConnection(self._host, self._port, timeout=_CONNECT_SECONDS, context=self._ssl)
