"""`java.net.URI`: what is one, and what its parts are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

_PARTS = re.compile(r"(?:([^:/?#]*):)?(.*?)(?:#(.*))?", re.DOTALL)
_HIERARCHY = re.compile(r"(?://([^/?]*))?([^?]*)(?:\?(.*))?", re.DOTALL)
_SCHEME = re.compile("[a-zA-Z][a-zA-Z0-9+.-]*")

# Beyond ASCII everything goes, except control characters and blanks.
_OTHER = "\u00a1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff\u3001-\U0010ffff"
_ESCAPED = "%[0-9a-fA-F]{2}"
_UNRESERVED = f"a-zA-Z0-9_.!~*'(){_OTHER}-"


def _repeated(characters: str) -> re.Pattern[str]:
    return re.compile(f"(?:[{characters}{_UNRESERVED}]|{_ESCAPED})*")


_PATH = _repeated(":@&=+$,;/")
_ANYTHING = _repeated(";/?:@&=+$,[\\]")
_REGISTRY = _repeated("$,;:@&=+")
_USER = _repeated(";:&=+$,")
_SERVER = re.compile(r"(?:([^@]*)@)?(\[[0-9a-fA-F:.]+(?:%[a-zA-Z0-9_]+)?\]|[^:@\[\]]*)(?::([0-9]*))?")
_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)*[a-zA-Z](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?\.?")
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[0-9]?[0-9])"
_ADDRESS = re.compile(rf"{_BYTE}(?:\.{_BYTE}){{3}}")


class UriError(ValueError):
    """A text that is no URI."""


@dataclass(frozen=True)
class Uri:
    """The parts of a URI, decoded; None for what it has not."""

    scheme: str | None
    host: str | None
    port: int | None
    path: str | None
    query: str | None
    fragment: str | None


@lru_cache(maxsize=256)
def parse_uri(text: str) -> Uri:
    """Takes a URI apart.

    >>> parse_uri("http://me@example.com:8080/a%20b?c=d#e").path
    '/a b'

    Raises:
        UriError: it is none.
    """
    scheme, rest, fragment = _split(text)
    if scheme is not None and _SCHEME.fullmatch(scheme) is None:
        raise UriError("Illegal character in scheme name" if scheme else "Expected scheme name")
    if fragment is not None:
        _check(_ANYTHING, fragment, "fragment")
    if scheme is not None and not rest.startswith("/"):
        if not rest:
            raise UriError("Expected scheme-specific part")
        _check(_ANYTHING, rest, "opaque part")
        return Uri(scheme, None, None, None, None, _decoded(fragment))
    authority, path, query = _HIERARCHY.fullmatch(rest).groups()  # type: ignore[union-attr]  # it matches all
    if authority == "" and not path and query is None and fragment is None:
        raise UriError("Expected authority")
    _check(_PATH, path, "path")
    if query is not None:
        _check(_ANYTHING, query, "query")
    host, port = _host_and_port(authority) if authority else (None, None)
    return Uri(scheme, host, port, _decoded(path), _decoded(query), _decoded(fragment))


def _split(text: str) -> tuple[str | None, str, str | None]:
    scheme, rest, fragment = _PARTS.fullmatch(text).groups()  # type: ignore[union-attr]  # it matches all
    return scheme, rest, fragment


def _check(allowed: re.Pattern[str], text: str, what: str) -> None:
    if allowed.fullmatch(text) is None:
        raise UriError(f"Illegal character in {what}")


def _decoded(text: str | None) -> str | None:
    return text if text is None or "%" not in text else unquote(text, errors="replace")


def _host_and_port(authority: str) -> tuple[str | None, int | None]:
    """Those of a server; an authority that names none is a registry's, which has neither."""
    server = _SERVER.fullmatch(authority)
    if server is not None:
        user, host, port = server.groups()
        known = host.startswith("[") or _ADDRESS.fullmatch(host) or _NAME.fullmatch(host)
        if known and (user is None or _USER.fullmatch(user)) and int(port or 0) < 2**31:
            return host, int(port) if port else None
    _check(_REGISTRY, authority, "authority")
    return None, None
