"""How a server listens, whom it answers, and how much one request may cost."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from millstream.errors import ArgumentError

#: Shorter ones can be guessed.
_SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class Tls:
    """A server's certificate, and whom it trusts as a client of other servers.

    Args:
        certificate: the file of the certificate and those that signed it, PEM.
        key: the file of its private key, PEM.
        key_password: the key's password, if it has one.
        authorities: the file of the certificates that other servers' must be signed by, PEM; the system's if not given.
    """

    certificate: Path
    key: Path
    key_password: str | None = field(default=None, repr=False)
    authorities: Path | None = None

    def __post_init__(self) -> None:
        for what, path in (("certificate", self.certificate), ("key", self.key), ("authorities", self.authorities)):
            if path is not None and not path.is_file():
                raise ArgumentError(f"there is no file {path}", detail=f"it is to be the TLS {what}")


@dataclass(frozen=True)
class ServerSettings:
    """How a server listens.

    Args:
        host: the address to listen on; "0.0.0.0" and "::" are all of this machine.
        port: the port; 0 takes a free one.
        advertised_host: the name under which others reach this machine; `host` if not given, or the machine's own name
            if that is all addresses.
        tokens: a request must bring one of them, as `Authorization: Bearer <token>`; no tokens and no users: anyone is
            answered. The
            first is the one that is sent to other instances, which must know it.
        users: names and passwords; a request may bring one of them instead, as `Authorization: Basic`.
        readers: the names of users who may only look: what changes something is refused to them.
        allowed_origins: web pages from there may ask ("*": from anywhere); none: browsers keep answers from all pages.
        tls: serve over TLS.
        allow_anyone: listen also on other addresses than loopback without tokens.
        max_url: how many bytes the path and the query of a request may have.
        max_body: how many bytes the body of a request may have.
        max_rows: how many rows an answer may have that is not streamed.
        max_waiting: how many requests may be worked on or wait at a time, beside those that are answered at once.
        threads: how many of these are worked on at a time.
        patience: how long another instance, or a client that does not read on, is waited for.
        drain: how long `close` waits for requests under way.
    """

    host: str = "127.0.0.1"
    port: int = 0
    advertised_host: str | None = None
    tokens: tuple[str, ...] = field(default=(), repr=False)
    users: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    readers: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    tls: Tls | None = None
    allow_anyone: bool = False
    max_url: int = 8192
    max_body: int = 1024 * 1024
    max_rows: int = 10_000
    max_waiting: int = 256
    threads: int = 8
    patience: timedelta = timedelta(seconds=10)
    drain: timedelta = timedelta(seconds=5)

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ArgumentError("a port is a number from 0 to 65535", detail=f"it is {self.port}")
        for token in self.tokens:
            if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
                raise ArgumentError(
                    f"a token must have at least {_SHORTEST_TOKEN} characters, printable ASCII without spaces",
                    detail=f"one of them has {len(token)}",
                    hint="make one with `openssl rand -hex 32`",
                )
        for name, password in self.users:
            if not name or ":" in name or not password:
                raise ArgumentError("a user has a name without colons and a password", detail=f"one is called {name!r}")
        if unknown := set(self.readers) - {name for name, _ in self.users}:
            raise ArgumentError("readers are users", detail=f"there is no user {', '.join(sorted(unknown))}")
        if not self.tokens and not self.users and not self.allow_anyone and not is_loopback(self.host):
            raise ArgumentError(
                f"listening on {self.host} without a token would answer everyone who reaches this machine",
                hint="give a token or a user, or listen on 127.0.0.1, or say that anyone may ask (allow_anyone)",
            )
        for name in ("max_url", "max_body", "max_rows", "max_waiting", "threads"):
            if getattr(self, name) < 1:
                raise ArgumentError(f"{name} must be at least 1", detail=f"it is {getattr(self, name)}")
        for name in ("patience", "drain"):
            if getattr(self, name) < timedelta(0):
                raise ArgumentError(f"{name} must not be negative", detail=f"it is {getattr(self, name)}")

    @property
    def scheme(self) -> str:
        """Of the server's addresses."""
        return "http" if self.tls is None else "https"


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return False
