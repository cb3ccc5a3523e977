"""Columns, and the schemas they make."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from millstream.sql.schema.types import BIGINT, INTEGER, SqlType, quote

ROWTIME = "ROWTIME"
ROWPARTITION = "ROWPARTITION"
ROWOFFSET = "ROWOFFSET"
WINDOWSTART = "WINDOWSTART"
WINDOWEND = "WINDOWEND"

#: What every record has beside its columns, in the order in which sources add them to the row.
PSEUDO_COLUMNS = {ROWTIME: BIGINT, ROWPARTITION: INTEGER, ROWOFFSET: BIGINT}
#: What records with a window have more.
WINDOW_BOUNDS = {WINDOWSTART: BIGINT, WINDOWEND: BIGINT}
#: Names no column may have.
SYSTEM_COLUMNS = {**PSEUDO_COLUMNS, **WINDOW_BOUNDS}


class Namespace(enum.Enum):
    """Which part of the record holds a column."""

    KEY = "KEY"
    VALUE = "VALUE"
    HEADERS = "HEADERS"


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        header: for a HEADER('k') column, k; None for HEADERS, and for all other columns.
    """

    name: str
    type: SqlType
    namespace: Namespace = Namespace.VALUE
    header: str | None = None

    def __str__(self) -> str:
        if self.namespace is Namespace.KEY:
            return f"{quote(self.name)} {self.type} KEY"
        if self.namespace is Namespace.HEADERS:
            suffix = "HEADERS" if self.header is None else f"HEADER('{self.header}')"
            return f"{quote(self.name)} {self.type} {suffix}"
        return f"{quote(self.name)} {self.type}"


@dataclass(frozen=True, slots=True)
class Schema:
    """Columns in order. Key, value and header columns may be mixed, as the user wrote them."""

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, keys: Iterable[tuple[str, SqlType]], values: Iterable[tuple[str, SqlType]]) -> Schema:
        """A schema of key columns and value columns."""
        key = (Column(name, kind, Namespace.KEY) for name, kind in keys)
        return cls((*key, *(Column(name, kind) for name, kind in values)))

    @property
    def key(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.namespace is Namespace.KEY)

    @property
    def value(self) -> tuple[Column, ...]:
        """What the record's value holds: no headers."""
        return tuple(column for column in self.columns if column.namespace is Namespace.VALUE)

    @property
    def headers(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.namespace is Namespace.HEADERS)

    def find(self, name: str) -> Column | None:
        """The column of that name; a value column rather than a key column, when both have it."""
        found = None
        for column in self.columns:
            if column.name == name and (found is None or column.namespace is not Namespace.KEY):
                found = column
        return found

    def value_index(self, name: str) -> int:
        """Where in the row (the tuple of value columns) a column is; -1 when it is not."""
        for index, column in enumerate(self.value):
            if column.name == name:
                return index
        return -1

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __str__(self) -> str:
        return ", ".join(map(str, self.columns))
