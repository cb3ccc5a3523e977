"""How a Connect cluster is reached: where it is, credentials, certificates."""

from __future__ import annotations

import base64
import ssl
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from millstream.errors import ArgumentError


@dataclass(frozen=True)
class CredentialsFile:
    """A user's name and password in a file of the lines `username=...` and `password=...`.

    Args:
        path: the file.
        reload: whether to read it again before each request.
    """

    path: Path
    reload: bool = False

    def authorization(self) -> str:
        """What a request says of who asks.

        Raises:
            ArgumentError: the file cannot be read, or lacks something.
        """
        found = {}
        try:
            for line in self.path.read_text(encoding="utf-8").splitlines():
                name, _, value = line.partition("=")
                found[name.strip()] = value.strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ArgumentError(f"cannot read the credentials for Kafka Connect: {error}") from error
        if "username" not in found or "password" not in found:
            raise ArgumentError(
                f"{self.path} has no credentials for Kafka Connect",
                hint="write the lines username=... and password=...",
            )
        pair = f"{found['username']}:{found['password']}"
        return "Basic " + base64.b64encode(pair.encode()).decode()


@dataclass(frozen=True)
class ConnectAccess:
    """Where a Connect cluster is, and what it is shown.

    >>> ConnectAccess("connect:8083")
    Traceback (most recent call last):
        ...
    millstream.errors.ArgumentError: connect:8083 is no address of Kafka Connect
      hint:   give http://host:8083, with https if it has a certificate

    Args:
        url: of any of its workers; a path is kept.
        credentials: a name and a password.
        patience: how long to wait for a connection, and for an answer.
        authorities: certificates, in a PEM file, that the worker's must be signed by; the system's if not given.
        certificate: the own one, in a PEM file, with `key`.
        key: see `certificate`.
        checks_name: whether the worker's certificate must be for the host of the URL.
    """

    url: str = "http://localhost:8083"
    credentials: CredentialsFile | None = None
    patience: timedelta = timedelta(seconds=5)
    authorities: Path | None = None
    certificate: Path | None = None
    key: Path | None = field(default=None, repr=False)
    checks_name: bool = True

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise ArgumentError(
                f"{self.url} is no address of Kafka Connect",
                hint="give http://host:8083, with https if it has a certificate",
            )

    def tls(self) -> ssl.SSLContext | None:
        """How to speak TLS; None if the URL wants none.

        Raises:
            ArgumentError: a certificate cannot be read.
        """
        if not self.url.startswith("https://"):
            return None
        try:
            context = ssl.create_default_context(cafile=self.authorities)
            if self.certificate is not None:
                context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            raise ArgumentError(f"a certificate for Kafka Connect cannot be read: {error}") from error
        context.check_hostname = self.checks_name
        return context
