"""Rows of an answer as lines of text with columns below each other, also when the next row is not yet there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec
from rich.cells import cell_len, chop_cells, set_cell_size

from millstream.sql.parser import parse_schema

#: What a row shows whose key is gone.
TOMBSTONE = "<TOMBSTONE>"

_BETWEEN = " | "
_NARROWEST = 4
#: How wide values usually are; those of other types may be of any width.
_USUAL = {"BOOLEAN": 5, "INTEGER": 11, "BIGINT": 20, "DOUBLE": 22, "DATE": 10, "TIME": 8, "TIMESTAMP": 23}
_USUAL_OTHER = 24
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_CONTROL_BUT_LINES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class ShownColumn:
    """A column of an answer."""

    name: str
    type: str


def columns_of(schema: str) -> list[ShownColumn]:
    """The columns of an answer, from its header.

    >>> columns_of("`ID` BIGINT KEY, `name` ARRAY<STRING>")
    [ShownColumn(name='ID', type='BIGINT'), ShownColumn(name='name', type='ARRAY<STRING>')]
    """
    return [ShownColumn(element.name, str(element.type)) for element in parse_schema(schema)]


def cell_text(value: msgspec.Raw | bytes) -> str:
    r"""A value, from its JSON: text as it is, all else as JSON has it. What would move the cursor is escaped.

    >>> cell_text(b'"a\\nb"'), cell_text(b"1.50"), cell_text(b'{"A":null}')
    ('a\\nb', '1.50', '{"A":null}')
    """
    raw = bytes(value)
    if not raw.startswith(b'"'):
        return raw.decode()
    return harmless(msgspec.json.decode(raw, type=str))


def harmless(text: str, *, lines: bool = False) -> str:
    r"""Text of others without what a terminal would take for orders.

    Args:
        text: from anywhere.
        lines: whether it may have several lines.

    >>> harmless("\x1b[31mred")
    '\\x1b[31mred'
    """
    return (_CONTROL_BUT_LINES if lines else _CONTROL).sub(
        lambda found: found[0].encode("unicode_escape").decode(), text
    )


class RowTable:
    """Makes lines of rows.

    Args:
        columns: of the answer.
        sample: the cells of some rows, so that columns are no wider than they need be; none if none is there yet.
        width: of the screen, to which columns are made to fit; None: a row is one line, however long.
    """

    def __init__(self, columns: Sequence[ShownColumn], sample: Sequence[Sequence[str]], width: int | None) -> None:
        self._names = [harmless(column.name) for column in columns]
        self._fits = width is not None
        wanted = [_wanted(number, column, sample) for number, column in enumerate(columns)]
        self._widths = wanted if width is None else _fitted(wanted, width - len(_BETWEEN) * (len(columns) - 1))

    def head(self) -> list[str]:
        """The names of the columns, and a line below them."""
        return [*self.row(self._names), "-+-".join("-" * width for width in self._widths)]

    def row(self, cells: Sequence[str]) -> list[str]:
        """The lines of a row: more than one if a cell is wider than its column."""
        if not self._fits:
            return [self._line(cells)]
        pieces = [chop_cells(cell, width) or [""] for cell, width in zip(cells, self._widths, strict=True)]
        height = max((len(cell) for cell in pieces), default=1)
        return [self._line([cell[n] if n < len(cell) else "" for cell in pieces]) for n in range(height)]

    def _line(self, cells: Iterable[str]) -> str:
        padded = [
            cell if cell_len(cell) >= width else set_cell_size(cell, width)
            for cell, width in zip(cells, self._widths, strict=True)
        ]
        return _BETWEEN.join(padded).rstrip()


def _wanted(number: int, column: ShownColumn, sample: Sequence[Sequence[str]]) -> int:
    values = [cell_len(row[number]) for row in sample]
    return max(cell_len(column.name), _NARROWEST, *(values or [_USUAL.get(column.type, _USUAL_OTHER)]))


def _fitted(wanted: Sequence[int], width: int) -> list[int]:
    """Widths that fit: the widest columns give way first.

    >>> _fitted([4, 100, 20], 60)
    [4, 36, 20]
    """
    widths = list(wanted)
    while sum(widths) > width and max(widths) > _NARROWEST:
        widest = max(widths)
        second = max((other for other in widths if other < widest), default=_NARROWEST)
        each = max(1, (sum(widths) - width) // widths.count(widest))
        least = max(_NARROWEST, second, widest - each)
        widths = [least if other == widest else other for other in widths]
        if least == widest:
            break
    return widths
