"""What of a table is kept, and how the table's rows come of it: what a pull query looks things up in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from millstream.sql.schema.formats import Encoding

Row = tuple[Any, ...]

#: From a key and what was made of its row so far to what comes next; None when the table has no such row.
KeptStep = Callable[[Any, Row], Row | None]


@dataclass(frozen=True)
class Kept:
    """The store behind a table.

    Attributes:
        store: its name.
        key: how its keys are encoded.
        steps: what the query does to rows after the store, up to the table.
    """

    store: str
    key: Encoding
    steps: tuple[KeptStep, ...] = ()

    def then(self, step: KeptStep) -> Kept:
        """The same store, with one more step after it."""
        return replace(self, steps=(*self.steps, step))

    def filtered(self, accepts: Callable[[Any, Row | None], bool]) -> Kept:
        """The same store, some rows left out."""
        return self.then(lambda key, row: row if accepts(key, row) else None)

    def mapped(self, project: Callable[[Row], Row]) -> Kept:
        """The same store, its rows made into others."""
        return self.then(lambda key, row: project(row))

    def row(self, key: Any, stored: Row) -> Row | None:
        """The table's row for what the store holds; None when the table has none."""
        row: Row | None = stored
        for step in self.steps:
            if row is None:
                return None
            row = step(key, row)
        return row
