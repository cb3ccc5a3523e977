"""The statements of a migration."""

from __future__ import annotations

import re
from collections.abc import Mapping

from millstream.migrations.errors import MigrationError
from millstream.sql.parser import parse_one, split, statements
from millstream.sql.tree.statements import Define, SetProperty, Undefine, UnsetProperty

_FIRST_WORDS = re.compile(r"(\w+)(?:\s+(\w+))?")
#: They answer something, and nobody is there to read it.
_UNSUPPORTED = frozenset({"DESCRIBE", "EXPLAIN", "LIST", "PRINT", "SELECT", "SHOW"})
_OF_SESSIONS = frozenset({"DEFINE", "SET", "UNDEFINE", "UNSET"})


def statements_of(text: str) -> list[str]:
    """The statements of a file.

    Raises:
        MigrationError: the last one does not end.
    """
    found = split(text)
    if found and not found[-1].endswith(";"):
        raise MigrationError(f"Unmatched command at end of file; missing semicolon: '{found[-1]}'")
    return found


class Session:
    """What SET and DEFINE say, for the statements that come after them.

    Args:
        variables: what is defined from the beginning.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.properties: dict[str, str] = {}
        self.variables = dict(variables)

    def take(self, statement: str) -> bool:
        """Check a statement, and do what it says if that concerns the session alone.

        Returns:
            Whether the server has to execute it.

        Raises:
            MigrationError: it is none that a migration can have.
            ParseError: it is not written as it must be.
        """
        words = _FIRST_WORDS.match(statement)
        first, second = (word.upper() for word in words.groups("")) if words else ("", "")
        if first in _UNSUPPORTED:
            raise MigrationError(f"'{first}' statements are not supported.")
        if (first, second) == ("RUN", "SCRIPT"):
            raise MigrationError("'RUN SCRIPT' statements are not supported.")
        if first not in _OF_SESSIONS:
            next(statements(statement))
            return True
        match parse_one(statement, variables=self.variables).statement:
            case SetProperty(name, value):
                self.properties[name] = value
            case UnsetProperty(name):
                self.properties.pop(name, None)
            case Define(name, value):
                self.variables[name] = value
            case Undefine(name):
                self.variables.pop(name, None)
        return False
