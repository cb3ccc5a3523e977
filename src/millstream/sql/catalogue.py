"""What the engine knows: streams, tables and types by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    """Streams and tables, types, and which of them were derived from which.

    Attributes:
        parents: for each derived source, the sources it was derived from.
    """

    sources: dict[str, Source] = field(default_factory=dict)
    types: dict[str, SqlType] = field(default_factory=dict)
    parents: dict[str, frozenset[str]] = field(default_factory=dict)

    def copy(self) -> Catalogue:
        """The same in dictionaries of its own."""
        return Catalogue(dict(self.sources), dict(self.types), dict(self.parents))

    def get(self, name: str) -> Source | None:
        """A stream or table."""
        return self.sources.get(name)

    def __iter__(self) -> Iterator[Source]:
        return iter(self.sources.values())

    def put(self, source: Source, parents: Iterable[str] = ()) -> None:
        """Add or replace a stream or table; what it was derived from before stays noted."""
        self.sources[source.name] = source
        self.parents[source.name] = self.parents.get(source.name, frozenset()) | frozenset(parents)

    def remove(self, name: str) -> None:
        """Forget a stream or table."""
        del self.sources[name]
        self.parents.pop(name, None)

    def derived_from(self, name: str) -> list[str]:
        """The sources that were derived from one, by name."""
        return sorted(child for child, parents in self.parents.items() if name in parents)

    def sharing_topic(self, topic: str) -> list[str]:
        """The sources of a topic, by name."""
        return sorted(source.name for source in self if source.topic == topic)
