"""What the parts of a tree are built of: places in the text, and names."""

from __future__ import annotations

from dataclasses import dataclass

from lark import Token
from lark.tree import Meta

from millstream.sql.errors import Location

_BEGIN = Location(1, 1)


@dataclass(frozen=True, slots=True)
class Source:
    """Text, and where in a script it begins.

    Attributes:
        text: a statement, or whatever else is parsed.
        origin: where its first character is.
    """

    text: str
    origin: Location = _BEGIN

    def locate(self, line: int, column: int) -> Location:
        """A place in the text, as a place in the script."""
        if line == 1:
            return Location(self.origin.line, self.origin.column + column - 1)
        return Location(self.origin.line + line - 1, column)

    def at(self, place: Token | Meta) -> Location:
        """Where a token or a tree begins."""
        return self.locate(place.line or 1, place.column or 1)


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier.

    Attributes:
        text: the name it stands for: in upper case, unless it was in quotes.
        written: how it was written.
        at: where.
    """

    text: str
    written: str
    at: Location

    @property
    def quoted(self) -> bool:
        return self.written[0] in '`"'


class PrepareError(Exception):
    """What is wrong with a statement that follows the grammar.

    Args:
        message: what is wrong.
        at: where, if that is known.
        plain: whether the message is the whole message; else it is about preparing the statement.
    """

    def __init__(self, message: str, at: Location | None = None, *, plain: bool = False) -> None:
        super().__init__(message)
        self.message = message if plain else f"Failed to prepare statement: {message}"
        self.at = at


def place(at: Location) -> str:
    """A place as ksqlDB's messages show it when they do not begin with it."""
    return f"Line: {at.line}, Col: {at.column}"


def unquote(written: str) -> str:
    """What is between quotes, where two quotes stand for one.

    >>> unquote("'it''s'")
    "it's"
    """
    quote = written[0]
    return written[1:-1].replace(quote * 2, quote)
