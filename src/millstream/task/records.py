"""Records as they enter and leave a task: plain tuples of bytes."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeAlias

from millstream.errors import ProductionError
from millstream.handlers import Response
from millstream.records import Headers

#: Header pairs in order; None when there are none.
RawHeaders: TypeAlias = list[tuple[str, bytes | None]] | None

#: An input record: key, value, timestamp, headers, offset.
RawRecord: TypeAlias = tuple[bytes | None, bytes | None, int, RawHeaders, int]

#: An output record: topic, partition (None: the key decides), key, value, timestamp, headers.
OutputRecord: TypeAlias = tuple[str, int | None, bytes | None, bytes | None, int, RawHeaders]

#: The head of a queue: key, value, timestamp, headers, and the record as it was read.
HeadRecord: TypeAlias = tuple[Any, Any, int, Headers | None, RawRecord]


class AsksHandlers(Protocol):
    """Asks the production handler of a task."""

    def refused(self, record: TracedRecord, error: ProductionError) -> Response:
        """An output record could not be sent: what the handler wants."""


class Origin(NamedTuple):
    """Where an output came from: the task's handlers, the sink, and the input record in process."""

    errors: AsksHandlers
    node: str
    topic: str | None
    partition: int
    offset: int
    source_record: RawRecord | None


class TracedRecord(tuple[str, int | None, bytes | None, bytes | None, int, RawHeaders]):
    """An output record that knows its origin. Made only where a handler may ask for it."""

    origin: Origin
