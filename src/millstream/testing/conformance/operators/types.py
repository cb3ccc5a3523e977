"""What keys and values are in a case: texts, windowed texts, 64-bit integers. Their serdes, and how bytes are read."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

from millstream import Serde, Serdes
from millstream.records import MAX_TIMESTAMP

_LONG = struct.Struct(">q")


class KeyKind(Enum):
    """How a key is laid out in bytes."""

    PLAIN = "plain"
    TIME_WINDOWED = "time-windowed"
    SESSION_WINDOWED = "session-windowed"


@dataclass(frozen=True)
class KeyType:
    """A text, or a text with a window. `size_ms` is the length of time windows."""

    kind: KeyKind
    size_ms: int = 0

    def serde(self) -> Serde[Any]:
        """The exact serde of such keys."""
        if self.kind is KeyKind.SESSION_WINDOWED:
            return Serdes.session_windowed(Serdes.string)
        if self.kind is KeyKind.TIME_WINDOWED:
            if self.size_ms in (0, MAX_TIMESTAMP):  # a size no serde takes; written, windows look the same
                return Serdes.windowed_string
            return Serdes.time_windowed(Serdes.string, timedelta(milliseconds=self.size_ms))
        return Serdes.string

    def fits(self, data: bytes) -> bool:
        """Whether the bytes can be such a key. Texts of a case hold no NUL; times stay far below 2**56."""
        if self.kind is KeyKind.SESSION_WINDOWED:
            return len(data) >= 16 and data[-16] == 0 and data[-8] == 0
        if self.kind is KeyKind.TIME_WINDOWED:
            return len(data) >= 8 and data[-8] == 0 and 0 not in data[:-8]
        return 0 not in data

    def read(self, data: bytes) -> Any:
        """The key as a case writes it: a text, or `{"key", "start", "end"}`."""
        if self.kind is KeyKind.SESSION_WINDOWED:
            end, start = _LONG.unpack(data[-16:-8])[0], _LONG.unpack(data[-8:])[0]
            return {"key": data[:-16].decode(), "start": start, "end": end}
        if self.kind is KeyKind.TIME_WINDOWED:
            start = _LONG.unpack(data[-8:])[0]
            return {"key": data[:-8].decode(), "start": start, "end": min(start + self.size_ms, MAX_TIMESTAMP)}
        return data.decode()


class ValueType(Enum):
    """A text or a 64-bit integer."""

    STRING = "string"
    LONG = "long"

    def serde(self) -> Serde[Any]:
        """The exact serde of such values."""
        return Serdes.long if self is ValueType.LONG else Serdes.string

    def fits(self, data: bytes) -> bool:
        """Whether the bytes can be such a value. Counts of a case are small, its texts hold no NUL."""
        if self is ValueType.LONG:
            return len(data) == 8 and data[0] == 0
        return 0 not in data

    def read(self, data: bytes) -> Any:
        """The value as a case writes it."""
        return _LONG.unpack(data)[0] if self is ValueType.LONG else data.decode()


PLAIN_KEY = KeyType(KeyKind.PLAIN)
SESSION_KEY = KeyType(KeyKind.SESSION_WINDOWED)


def time_key(size_ms: int) -> KeyType:
    """Keys of time windows of this length."""
    return KeyType(KeyKind.TIME_WINDOWED, size_ms)


def read_as(types: list[Any], data: bytes | None) -> Any:
    """Read bytes by the first of the types they fit; where none fits, show the bytes."""
    if data is None:
        return None
    for each in types:
        if each.fits(data):
            return each.read(data)
    return {"unreadable": data.hex()}
