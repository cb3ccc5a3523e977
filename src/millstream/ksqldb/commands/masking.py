"""Secrets in statements, hidden before they are shown, logged or stored."""

from __future__ import annotations

import dataclasses
import re

from millstream.config import is_secret
from millstream.sql.engine.answers.entities import Entity

_MASK = "'[string]'"
_CONNECTOR = re.compile(r"\bCREATE\s+(?:OR\s+REPLACE\s+)?(?:SOURCE|SINK)\s+CONNECTOR\b", re.IGNORECASE)
_PAIR = re.compile(r"""(?P<name>'(?:[^']|'')*'|"[^"]*"|`[^`]*`|[A-Za-z_][\w.-]*)(?P<is>\s*=\s*)'(?:[^']|'')*(?:'|\Z)""")
#: Of connectors everything is hidden but this: any plug-in has names of its own for its secrets.
_SHOWN = frozenset(
    {
        "connector.class",
        "header.converter",
        "key.converter",
        "key.converter.schemas.enable",
        "name",
        "predicates",
        "tasks.max",
        "topics",
        "topics.regex",
        "transforms",
        "value.converter",
        "value.converter.schemas.enable",
    }
)


def masked(text: str) -> str:
    """Statements without their secrets; they need not be correct.

    >>> masked("SET 'sasl.password' = 'xyz'; SET 'auto.offset.reset' = 'earliest';")
    "SET 'sasl.password' = '[string]'; SET 'auto.offset.reset' = 'earliest';"
    """
    if "=" not in text:
        return text
    is_connector = _CONNECTOR.search(text) is not None

    def hide(found: re.Match[str]) -> str:
        name = found["name"].strip("'\"`")
        if is_secret(name) or (is_connector and name.lower() not in _SHOWN):
            return f"{found['name']}{found['is']}{_MASK}"
        return found[0]

    return _PAIR.sub(hide, text)


def masked_entity(entity: Entity) -> Entity:
    """An answer without the secrets of its statement."""
    text = masked(entity.statement_text)
    return entity if text == entity.statement_text else dataclasses.replace(entity, statement_text=text)
