"""Records as they enter and leave a task: plain tuples of bytes."""

from __future__ import annotations

from typing import Any, TypeAlias

from millstream.records import Headers

#: Header pairs in order; None when there are none.
RawHeaders: TypeAlias = list[tuple[str, bytes | None]] | None

#: An input record: key, value, timestamp, headers, offset.
RawRecord: TypeAlias = tuple[bytes | None, bytes | None, int, RawHeaders, int]

#: An output record: topic, partition (None: the key decides), key, value, timestamp, headers.
OutputRecord: TypeAlias = tuple[str, int | None, bytes | None, bytes | None, int, RawHeaders]

#: The head of a queue: key, value, timestamp, headers, and the record as it was read.
HeadRecord: TypeAlias = tuple[Any, Any, int, Headers | None, RawRecord]
