"""How the columns of a topic are encoded."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class WindowType(enum.Enum):
    """The windows that keys can have."""

    TUMBLING = "TUMBLING"
    HOPPING = "HOPPING"
    SESSION = "SESSION"


@dataclass(frozen=True, slots=True)
class WindowInfo:
    """The window of a windowed key; sessions have no size."""

    type: WindowType
    size_ms: int | None = None


class Feature(enum.Enum):
    """Whether a single column is written bare or inside a record."""

    WRAP_SINGLES = "WRAP_SINGLES"
    UNWRAP_SINGLES = "UNWRAP_SINGLES"


@dataclass(frozen=True, slots=True)
class FormatInfo:
    """A format and its settings.

    Attributes:
        name: JSON, AVRO ..., in upper case.
        properties: what the format itself needs to know (`delimiter`, `fullSchemaName`, `schemaId`,
            `nullableRepresentation`), sorted by name.
    """

    name: str
    properties: tuple[tuple[str, str], ...] = ()

    def get(self, name: str) -> str | None:
        """A setting."""
        return dict(self.properties).get(name)


@dataclass(frozen=True, slots=True)
class Encoding:
    """A format with the features chosen for one topic's keys or values."""

    format: FormatInfo
    features: frozenset[Feature] = frozenset()


@dataclass(frozen=True, slots=True)
class Formats:
    """How a topic's keys and values are encoded."""

    key: Encoding
    value: Encoding


@dataclass(frozen=True, slots=True)
class TimestampColumn:
    """The column that holds a record's time: BIGINT or TIMESTAMP, or STRING with a format."""

    name: str
    format: str | None = None
