"""Which names nodes, stores and topics may have."""

from __future__ import annotations

import re

from millstream.errors import TopologyError

#: Names end up in topic names, so Kafka's rules for topics hold for all of them.
MAX_NAME_LENGTH = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def check_name(name: str, what: str = "name") -> str:
    """Give back a legal name, refuse any other.

    Args:
        name: what the user wrote.
        what: what is named, for the message: "source", "topic", "state store".

    >>> check_name("orders-by-region")
    'orders-by-region'
    """
    if not isinstance(name, str):
        raise TopologyError(
            f"the name of a {what} must be a string" if what != "name" else "a name must be a string",
            detail=f"got {name!r}, of type {type(name).__name__}",
        )
    hint = "use ASCII letters, digits, '.', '_' and '-'"
    detail = f"it names a {what}" if what != "name" else None
    if not name:
        raise TopologyError("name is illegal, it can't be empty", detail=detail, hint=hint)
    if name in (".", ".."):
        raise TopologyError(f'name cannot be "{name}"', detail=detail, hint=hint)
    if len(name) > MAX_NAME_LENGTH:
        raise TopologyError(
            f"name is illegal, it can't be longer than {MAX_NAME_LENGTH} characters",
            detail=f"it has {len(name)}: {name}",
            hint="give a shorter one",
        )
    if not _LEGAL.fullmatch(name):
        raise TopologyError(
            f"name \"{name}\" is illegal, it contains a character other than ASCII alphanumerics, '.', '_' and '-'",
            detail=detail,
            hint=hint,
        )
    return name
