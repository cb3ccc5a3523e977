"""The streams and tables a query reads, under the names it gives them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from millstream.sql.analysis.schemas import row_schema
from millstream.sql.catalogue import Catalogue, Source
from millstream.sql.errors import SqlError
from millstream.sql.schema.columns import PSEUDO_COLUMNS, WINDOW_BOUNDS, Schema
from millstream.sql.tree.queries import Query


@dataclass(frozen=True)
class AliasedSource:
    """A source and the name it has in the query."""

    alias: str
    source: Source

    def has(self, column: str) -> bool:
        """Whether expressions may use a column of that name."""
        if column in PSEUDO_COLUMNS or (column in WINDOW_BOUNDS and self.source.window is not None):
            return True
        return self.source.schema.find(column) is not None

    def rows(self, *, windowed: bool = False) -> Schema:
        """The schema of the rows read from it.

        Args:
            windowed: the rows have window bounds even though the source has none.
        """
        return row_schema(self.source.schema, windowed=windowed or self.source.window is not None)


@dataclass(frozen=True)
class QuerySources:
    """All sources of a query, the one of FROM first."""

    all: tuple[AliasedSource, ...]

    @classmethod
    def of(cls, query: Query, catalogue: Catalogue) -> QuerySources:
        """Looks up the sources that the query names.

        Raises:
            SqlError: one does not exist.
        """
        found = []
        for table in (query.source, *(join.right for join in query.joins)):
            source = catalogue.get(table.name)
            if source is None:
                raise SqlError(f"{table.name} does not exist.")
            found.append(AliasedSource(table.alias, source))
        return cls(tuple(found))

    @property
    def is_join(self) -> bool:
        return len(self.all) > 1

    def with_column(self, column: str) -> list[AliasedSource]:
        """The sources that have a column of that name."""
        return [source for source in self.all if source.has(column)]

    def clash(self, column: str) -> bool:
        """Whether a column's name does not tell which source it belongs to."""
        if not self.is_join:
            return False
        return column in PSEUDO_COLUMNS or sum(source.source.schema.find(column) is not None for source in self) > 1

    def by_alias(self, alias: str) -> AliasedSource | None:
        """The source of that name in the query."""
        return next((source for source in self.all if source.alias == alias), None)

    def __iter__(self) -> Iterator[AliasedSource]:
        return iter(self.all)
