"""The console's pages: files that come with the package, and the headers that keep a browser from doing more."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.responses import Response

from millstream.server.guard import Scope
from millstream.server.problems import Problem

PAGE = "/console"
STATIC = f"{PAGE}/static/"

_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
#: Scripts, styles and answers come from this server alone; nobody may put the console into a frame.
SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


@dataclass(frozen=True)
class StaticFile:
    """A file of the console."""

    content: bytes
    media_type: str
    etag: str


def static_files() -> dict[str, StaticFile]:
    """The files by the paths they are asked for; the page itself has two."""
    found = {}
    for name, file in _walk(files("millstream.console") / "static", ""):
        content = file.read_bytes()
        etag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
        found[STATIC + name] = StaticFile(content, _TYPES[name.rpartition(".")[2]], etag)
    page = found[f"{STATIC}index.html"]
    return {**found, PAGE: page, f"{PAGE}/": page}


def page_response(scope: Scope, file: StaticFile) -> Response:
    """A file as it is asked for."""
    if scope["method"] not in ("GET", "HEAD"):
        raise Problem(405, "MethodNotAllowed", "pages are only looked at", headers={"allow": "GET, HEAD"})
    headers = {**SECURITY_HEADERS, "cache-control": "no-cache", "etag": file.etag}
    if dict(scope["headers"]).get(b"if-none-match", b"").decode("latin-1") == file.etag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers={**headers, "content-type": file.media_type})


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        elif entry.name.rpartition(".")[2] in _TYPES:
            yield prefix + entry.name, entry
