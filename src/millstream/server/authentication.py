"""Whether a request comes from somebody the server knows."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Iterable
from dataclasses import dataclass

from millstream.server.problems import Problem
from millstream.server.settings import ServerSettings


@dataclass(frozen=True)
class Asker:
    """Who asks.

    Args:
        name: the user; None for one with a token, or where anyone is answered.
        may_change: whether what changes something is not refused.
    """

    name: str | None = None
    may_change: bool = True


#: Where anyone is answered.
ANYONE = Asker()


class Authentication:
    """Knows tokens and users.

    Args:
        settings: which.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._tokens = tuple(token.encode() for token in settings.tokens)
        self._readers = frozenset(settings.readers)
        self._users = tuple(f"{name}:{password}".encode() for name, password in settings.users)

    def check(self, headers: Iterable[tuple[bytes, bytes]]) -> Asker:
        """See that a request may be answered, and who asks.

        Raises:
            Problem: it brings no token and no user that the server knows.
        """
        if not self._tokens and not self._users:
            return ANYONE
        given = next((value for name, value in headers if name == b"authorization"), None)
        scheme, _, credentials = (given or b"").partition(b" ")
        credentials = credentials.strip()
        if scheme.lower() == b"bearer" and _is_one_of(credentials, self._tokens):
            return Asker()
        if scheme.lower() == b"basic" and _is_one_of(user := _decoded(credentials), self._users):
            name = user.partition(b":")[0].decode()
            return Asker(name, may_change=name not in self._readers)
        raise Problem(
            401,
            "Unauthorized",
            f"{self._what()} is needed" if given is None else f"{self._what('the')} is wrong",
            hint=f"send the header {self._hint()} that the server knows",
            headers={"www-authenticate": self._challenge()},
        )

    def _what(self, article: str = "a") -> str:
        return " or ".join(
            f"{article} {what}" for what, known in (("token", self._tokens), ("user", self._users)) if known
        )

    def _hint(self) -> str:
        ways = []
        if self._tokens:
            ways.append("`Authorization: Bearer <token>` with a token")
        if self._users:
            ways.append("`Authorization: Basic <name and password>` with a user")
        return ", or ".join(ways)

    def _challenge(self) -> str:
        ways = []
        if self._users:
            ways.append('Basic realm="millstream"')
        if self._tokens:
            ways.append("Bearer")
        return ", ".join(ways)


def _is_one_of(given: bytes, known: tuple[bytes, ...]) -> bool:
    # All are compared, always in the same time: how long it takes must not tell how much of a secret was right.
    return any([hmac.compare_digest(given, mine) for mine in known])


def _decoded(credentials: bytes) -> bytes:
    try:
        return base64.b64decode(credentials, validate=True)
    except binascii.Error:
        return b""
