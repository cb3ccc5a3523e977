"""Names of columns that nobody wrote down."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.sql.schema.columns import Schema
from millstream.sql.tree.expressions import Dereference, Expression

_GENERATED = "KSQL_COL"
_SYNTHETIC_KEY = "ROWKEY"


def joined_name(source: str, column: str) -> str:
    """A column of a source inside a join: `S` and `ID` give `S_ID`."""
    return f"{source}_{column}"


def aggregate_name(index: int) -> str:
    """The column that holds the result of an aggregate."""
    return f"KSQL_AGG_VARIABLE_{index}"


def exploded_name(index: int) -> str:
    """The column that holds the result of a table function."""
    return f"KSQL_SYNTH_{index}"


def argument_name(index: int) -> str:
    """The column that holds an argument of an aggregate, when that is no plain column."""
    return f"KSQL_INTERNAL_COL_{index}"


def may_be_synthetic_key(name: str) -> bool:
    """Whether a join could have made a key column of that name."""
    return name.startswith(_SYNTHETIC_KEY)


class Aliases:
    """Gives names that no column of the schemas has.

    >>> aliases = Aliases([])
    >>> aliases.next(), aliases.next()
    ('KSQL_COL_0', 'KSQL_COL_1')
    """

    def __init__(self, schemas: Iterable[Schema]) -> None:
        self._used: dict[str, set[int]] = {}
        self._next: dict[str, int] = {}
        for schema in schemas:
            for column in schema:
                name, number = _split(column.name)
                self._used.setdefault(name, set()).add(number)

    def next(self) -> str:
        """The next KSQL_COL_n."""
        return f"{_GENERATED}_{self._number(_GENERATED)}"

    def for_expression(self, expression: Expression) -> str:
        """A name for the column that an expression makes: that of the field for `struct -> field`."""
        if not isinstance(expression, Dereference):
            return self.next()
        return self._named(_split(expression.field)[0])

    def synthetic_key(self) -> str:
        """A name for the key column of a join that none of the joined columns equals."""
        return self._named(_SYNTHETIC_KEY)

    def _named(self, prefix: str) -> str:
        number = self._number(prefix)
        return prefix if number == 0 and prefix != _GENERATED else f"{prefix}_{number}"

    def _number(self, prefix: str) -> int:
        used = self._used.get(prefix, set())
        number = self._next.get(prefix, 0)
        while number in used:
            number += 1
        self._next[prefix] = number + 1
        return number


def _split(name: str) -> tuple[str, int]:
    """`NAME_12` is the twelfth NAME; a name without a number is the zeroth."""
    prefix, underscore, number = name.rpartition("_")
    if underscore and number.isascii() and number.isdigit():
        return prefix, int(number)
    return name, 0
