"""Web pages from elsewhere."""

from __future__ import annotations

import pytest

from millstream.server.origins import check_origin
from millstream.server.problems import Problem
from millstream.server.settings import ServerSettings

KNOWN = ServerSettings(users=(("a", "b"),))
ANYONE = ServerSettings()


@pytest.mark.parametrize(
    ("origin", "host", "settings"),
    [
        (None, "here:8088", KNOWN),  # no browser
        ("https://here:8088", "here:8088", KNOWN),  # TLS may end before the server
        ("http://[::1]:8088", "[::1]:8088", ANYONE),
        ("http://localhost:8088", "localhost:8088", ANYONE),
        ("https://there", "here:8088", ServerSettings(allowed_origins=("https://there",))),
        ("https://there", "here:8088", ServerSettings(allowed_origins=("*",))),
        ("http://mill.example:8088", "mill.example:8088", ServerSettings(advertised_host="mill.example")),
    ],
)
def test_the_servers_own_pages_may_ask(origin: str | None, host: str, settings: ServerSettings) -> None:
    check_origin(_headers(origin, host), settings)


@pytest.mark.parametrize(
    ("origin", "host", "settings"),
    [
        ("https://there", "here:8088", KNOWN),
        ("http://here:9000", "here:8088", KNOWN),  # another server of this machine
        ("null", "here:8088", KNOWN),  # a page from a file, or in a sandbox
        ("null", "", KNOWN),
        ("http://rebound.example:8088", "rebound.example:8088", ANYONE),
        ("https://elsewhere", "here:8088", ServerSettings(allowed_origins=("https://there",))),
    ],
)
def test_others_may_not(origin: str, host: str, settings: ServerSettings) -> None:
    with pytest.raises(Problem) as refused:
        check_origin(_headers(origin, host), settings)
    assert refused.value.status == 403


def _headers(origin: str | None, host: str) -> list[tuple[bytes, bytes]]:
    found = [(b"host", host.encode())]
    return found if origin is None else [*found, (b"origin", origin.encode())]
