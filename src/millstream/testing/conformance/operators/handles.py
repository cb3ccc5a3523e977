"""The named results of a case's operators, with what their keys and values are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import Enum
from typing import Any

from millstream import Materialized, Stores, StreamsBuilder
from millstream.testing.conformance.case import Json
from millstream.testing.conformance.operators.types import PLAIN_KEY, KeyType, ValueType


class Kind(Enum):
    """What an operator gave."""

    STREAM = "stream"
    TABLE = "table"
    GLOBAL_TABLE = "global table"
    GROUPED_STREAM = "grouped stream"
    GROUPED_TABLE = "grouped table"
    COGROUPED = "cogrouped"
    TIME_WINDOWED = "time-windowed"
    SESSION_WINDOWED = "session-windowed"


@dataclass(frozen=True)
class Handle:
    """One result: the DSL object and its types. `window_key` is the key type of an aggregation of it."""

    kind: Kind
    dsl: Any
    key: KeyType = PLAIN_KEY
    value: ValueType = ValueType.STRING
    window_key: KeyType | None = None
    cogrouped: bool = False

    def to(self, dsl: Any, **changes: Any) -> Handle:
        """A result of this one: like it but for the changes."""
        return replace(self, dsl=dsl, **changes)


@dataclass
class Scope:
    """A topology in the making."""

    builder: StreamsBuilder
    handles: dict[str, Handle] = field(default_factory=dict)
    #: What sinks write, by the topic's name, and by the prefix of dynamic names.
    written: dict[str, list[tuple[KeyType, ValueType]]] = field(default_factory=dict)
    written_dynamically: dict[str, list[tuple[KeyType, ValueType]]] = field(default_factory=dict)

    def written_to(self, topic: str) -> list[tuple[KeyType, ValueType]]:
        """The types of the records that sinks write to a topic."""
        dynamic = self.written_dynamically.items()
        return self.written.get(topic, []) + [
            types for prefix, found in dynamic if topic.startswith(prefix) for types in found
        ]


OperatorBuilder = Callable[[Scope, Json], None]


def materialized(op: Json, key: KeyType, value: ValueType) -> Materialized | None:
    """The `Materialized` of an operator, or None where the case has none."""
    if "store" not in op and not op.get("anon_store"):
        return None
    options: dict[str, Any] = {
        "key": key.serde(),
        "value": value.serde(),
        "caching": op.get("caching", True),
        "logging": op.get("logging", True),
    }
    if "retention_ms" in op:
        options["retention"] = timedelta(milliseconds=op["retention_ms"])
    if "versioned_ms" in op:
        history = timedelta(milliseconds=op["versioned_ms"])
        return Materialized(store=Stores.persistent_versioned_key_value(op["store"], history), **options)
    return Materialized(op.get("store"), **options)
