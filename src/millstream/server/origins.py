"""Which web pages may have a browser change something here.

A browser sends requests for any page it shows, with the credentials it knows. What it sends for a page of another
server it marks with that page's origin; other clients send none.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from millstream.server.problems import Problem
from millstream.server.settings import ServerSettings


def check_origin(headers: Iterable[tuple[bytes, bytes]], settings: ServerSettings) -> None:
    """See that a request does not come from a web page of somebody else.

    Raises:
        Problem: it does.
    """
    found = dict(headers)
    given = found.get(b"origin")
    if given is None or "*" in settings.allowed_origins:
        return
    origin = given.decode("latin-1")
    if origin in settings.allowed_origins:
        return
    host = found.get(b"host", b"").decode("latin-1")
    if host and urlsplit(origin).netloc == host and _is_ours(host, settings):
        return
    raise Problem(
        403,
        "WrongOrigin",
        "web pages from elsewhere may not ask this",
        detail=f"the page is from {origin}",
        hint="open the console at the server's own address, or allow the page's origin (--allowed-origin)",
    )


def _is_ours(host: str, settings: ServerSettings) -> bool:
    """Whether a name is one of this server's.

    Where anyone is answered, a page could come from a name that its owner makes point here later (DNS rebinding); so
    the name must be known. Addresses cannot be made to point elsewhere.
    """
    if settings.tokens or settings.users:
        return True
    name = urlsplit(f"//{host}").hostname or ""
    if name in ("localhost", settings.host.lower(), (settings.advertised_host or "").lower()):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
