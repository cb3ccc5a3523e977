"""Columns as CREATE lists them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from millstream.sql.errors import Location
from millstream.sql.parser.names import PrepareError, place
from millstream.sql.schema.types import BYTES, STRING, Field, SqlArray, SqlStruct, quote
from millstream.sql.tree.statements import Constraint, Element, SourceKind

_HEADERS = SqlArray(SqlStruct((Field("KEY", STRING), Field("VALUE", BYTES))))


@dataclass(frozen=True, slots=True)
class Column:
    """A column, and where it was written."""

    element: Element
    at: Location


def elements_of(columns: Iterable[Column]) -> tuple[Element, ...]:
    """The columns as the tree holds them.

    Raises:
        PrepareError: two have the same name, or a header column has another type than headers have.
    """
    columns = tuple(columns)
    for column in columns:
        _check_header(column)
    names = [column.element.name for column in columns]
    twice = dict.fromkeys(name for name in names if names.count(name) > 1)
    if twice:
        raise PrepareError(f"Duplicate column names: {', '.join(map(quote, twice))}")
    return tuple(column.element for column in columns)


def check_keys(kind: SourceKind, columns: Iterable[Column]) -> None:
    """Streams have keys, tables have primary keys.

    Raises:
        PrepareError: a column has the wrong one.
    """
    stream = kind is SourceKind.STREAM
    wrong, right = ("PRIMARY KEY", "KEY") if stream else ("KEY", "PRIMARY KEY")
    for column in columns:
        if column.element.constraint is Constraint(wrong):
            raise PrepareError(
                f"{place(column.at)}: Column {quote(column.element.name)} is a '{wrong}' column: "
                f"please use '{right}' for {kind.name.lower()}s.\n"
                "Tables have PRIMARY KEYs, which are unique and NON NULL.\n"
                "Streams have KEYs, which have no uniqueness or NON NULL constraints.",
                column.at,
                plain=True,
            )


def _check_header(column: Column) -> None:
    element = column.element
    if element.constraint is Constraint.HEADER and element.type != BYTES:
        raise PrepareError(
            f"Invalid type for HEADER('{element.header}') column: expected BYTES, got {element.type}", column.at
        )
    if element.constraint is Constraint.HEADERS and element.type != _HEADERS:
        raise PrepareError(f"Invalid type for HEADERS column: expected {_HEADERS}, got {element.type}", column.at)
