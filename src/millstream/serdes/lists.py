"""Lists, in the layout of Kafka's `ListSerde`.

    fixed size entries:  00 | number of Nones (4) | their indexes (4 each) | length (4) | entries, Nones left out
    other entries:       01 | length (4) | for each entry: its size (4), -1 for None | entry

Which one it is follows from the serde of the entries.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TypeVar

from millstream.errors import SerdeError
from millstream.serdes.primitives import FixedSizeSerde
from millstream.serdes.serde import Serde, shorten

T = TypeVar("T")

_INT = struct.Struct(">i")
_FIXED, _VARIABLE = 0, 1
_NONE = -1


class ListSerde(Serde[list[T]]):
    """Lists of what the inner serde takes, and of None."""

    def __init__(self, inner: Serde[T]) -> None:
        self.inner = inner
        fixed = isinstance(inner, FixedSizeSerde)
        super().__init__(
            self._serialize_fixed if fixed else self._serialize_variable,
            self._deserialize,
            name=f"list_of({inner.name})",
        )

    def for_topic(self, topic: str, is_key: bool) -> Serde[list[T]]:
        """The list of the inner serde for that topic."""
        inner = self.inner.for_topic(topic, is_key)
        return self if inner is self.inner else ListSerde(inner)

    def configured(self, settings: Mapping[str, object]) -> Serde[list[T]]:
        """The same with the inner serde as it is under these settings."""
        inner = self.inner.configured(settings)
        return self if inner is self.inner else ListSerde(inner)

    def _serialize_fixed(self, entries: list[T]) -> bytes:
        nones = [index for index, entry in enumerate(entries) if entry is None]
        head = struct.pack(f">bi{len(nones)}ii", _FIXED, len(nones), *nones, len(entries))
        serialize = self.inner.serialize
        return head + b"".join([serialize(entry) for entry in entries if entry is not None])

    def _serialize_variable(self, entries: list[T]) -> bytes:
        parts = [struct.pack(">bi", _VARIABLE, len(entries))]
        for entry in entries:
            if entry is None:
                parts.append(_INT.pack(_NONE))
            else:
                data = self.inner.serialize(entry)
                parts += (_INT.pack(len(data)), data)
        return b"".join(parts)

    def _deserialize(self, data: bytes) -> list[T]:
        try:
            if data[0] == _FIXED and isinstance(self.inner, FixedSizeSerde):
                return self._deserialize_fixed(data, self.inner.size)
            if data[0] == _VARIABLE:
                return self._deserialize_variable(data)
        except (IndexError, struct.error):
            raise self._damaged(data) from None
        raise self._damaged(data)

    def _deserialize_fixed(self, data: bytes, size: int) -> list[T]:
        (count,) = _INT.unpack_from(data, 1)
        nones = set(struct.unpack_from(f">{count}i", data, 5))
        at = 5 + 4 * count
        (length,) = _INT.unpack_from(data, at)
        at += 4
        if len(data) != at + size * (length - len(nones)):
            raise self._damaged(data)
        entries: list[T] = []
        for index in range(length):
            if index in nones:
                entries.append(None)  # type: ignore[arg-type]  # Kafka's lists may hold nulls
            else:
                entries.append(self.inner.deserialize(data[at : at + size]))
                at += size
        return entries

    def _deserialize_variable(self, data: bytes) -> list[T]:
        (length,) = _INT.unpack_from(data, 1)
        at = 5
        entries: list[T] = []
        for _ in range(length):
            (size,) = _INT.unpack_from(data, at)
            at += 4
            if size == _NONE:
                entries.append(None)  # type: ignore[arg-type]
                continue
            if size < 0 or at + size > len(data):
                raise self._damaged(data)
            entries.append(self.inner.deserialize(data[at : at + size]))
            at += size
        return entries

    def _damaged(self, data: bytes) -> SerdeError:
        return SerdeError(f"the {self.name} serde cannot read these bytes", detail=f"no such list: {shorten(data)}")
