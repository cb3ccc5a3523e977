"""A worker that a server runs for itself, by a file of properties: ksqlDB's `ksql.connect.worker.config`."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from millstream.connect.worker import ConnectWorker
from millstream.errors import ArgumentError

_PORT = 8083


def embedded_worker(file: Path) -> ConnectWorker:
    """The worker that a file describes; it is not started.

    Args:
        file: properties of a distributed worker, in Java's format.

    Raises:
        ArgumentError: the file cannot be read, or lacks something.
    """
    try:
        properties = read_properties(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"ksql.connect.worker.config cannot be read: {error}") from error
    if not properties.get("bootstrap.servers") or not properties.get("group.id"):
        raise ArgumentError(
            f"{file} does not describe a distributed worker", hint="it needs bootstrap.servers and group.id"
        )
    return ConnectWorker(
        properties["bootstrap.servers"],
        name=properties["group.id"],
        port=_port(properties.get("listeners", ""), file),
        properties=properties,
    )


def read_properties(text: str) -> dict[str, str]:
    r"""A file of properties in Java's format.

    >>> read_properties("# worker\nname = a\\\n  b\npath: /x\\\\y\nempty")
    {'name': 'ab', 'path': '/x\\y', 'empty': ''}
    """
    found = {}
    joined = ""
    for line in text.splitlines():
        line = line.lstrip()
        if not joined and line[:1] in ("", "#", "!"):
            continue
        joined += line
        if _goes_on(joined):
            joined = joined[:-1]
            continue
        ends = [place for place in map(joined.find, "=:") if place >= 0]
        at = min(ends, default=len(joined))
        found[_plain(joined[:at].rstrip())] = _plain(joined[at + 1 :].lstrip())
        joined = ""
    return found


def _goes_on(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _plain(text: str) -> str:
    """A text without the backslashes that escape a character."""
    return "\\".join(part.replace("\\", "") for part in text.split("\\\\"))


def _port(listeners: str, file: Path) -> int:
    if not listeners:
        return _PORT
    for listener in listeners.split(","):
        parts = urlsplit(listener.strip())
        if parts.scheme.lower() == "http":
            return parts.port or _PORT
    raise ArgumentError(f"{file} has no listener that the server could ask", hint="add http://localhost:8083")
