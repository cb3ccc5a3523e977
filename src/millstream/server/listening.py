"""Listening: a socket that is bound before anything else, so that its port is known and a taken one is told at once."""

from __future__ import annotations

import errno
import ipaddress
import socket

from millstream.errors import ArgumentError
from millstream.server.settings import ServerSettings

_BACKLOG = 1024


class Listener:
    """A bound socket.

    Args:
        settings: where to listen.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._socket = _bound(settings.host, settings.port)
        self.port: int = self._socket.getsockname()[1]
        self.host = settings.advertised_host or _reachable(settings.host)
        self.url = f"{settings.scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def detach(self) -> int:
        """Give the socket away, as its file descriptor."""
        return self._socket.detach()

    def close(self) -> None:
        """Give the port back, unless the socket was given away."""
        self._socket.close()


def _bound(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        bound = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        raise ArgumentError(
            f"port {port} of {host} is taken" if taken else f"cannot listen on {host}, port {port}",
            detail=None if taken else str(error),
            hint="give another port, or 0 for a free one" if taken else "give an address of this machine",
        ) from error
    # Connections have it from here. Without it the second write of an answer waits until the client confirms the first.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    bound.setblocking(False)
    return bound


def _reachable(host: str) -> str:
    """The name under which others reach this machine, if it listens there."""
    try:
        everywhere = ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return host
    return socket.getfqdn() if everywhere else host
