"""What the engine knows: streams, tables and types by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from millstream.sql.schema.columns import Schema
from millstream.sql.schema.formats import Formats, TimestampColumn, WindowInfo
from millstream.sql.schema.types import SqlType
from millstream.sql.tree.statements import SourceKind


@dataclass(frozen=True, slots=True)
class Source:
    """A registered stream or table.

    Attributes:
        window: the window of its keys, if they have one.
        timestamp: the column that holds the records' time, if it is not the record's own.
        sql: the statement that made it.
        from_query: a query writes it (CREATE .. AS SELECT).
        read_only: CREATE SOURCE ...
    """

    kind: SourceKind
    name: str
    schema: Schema
    topic: str
    formats: Formats
    window: WindowInfo | None = None
    timestamp: TimestampColumn | None = None
    sql: str = ""
    from_query: bool = False
    read_only: bool = False


@dataclass
class Catalogue:
    """Streams and tables, types, and who reads and writes what."""

    sources: dict[str, Source] = field(default_factory=dict)
    types: dict[str, SqlType] = field(default_factory=dict)

    def get(self, name: str) -> Source | None:
        """A stream or table."""
        return self.sources.get(name)

    def __iter__(self) -> Iterator[Source]:
        return iter(self.sources.values())
