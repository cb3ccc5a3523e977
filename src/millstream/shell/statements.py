"""What was typed, cut into statements, and what kind they are of."""

from __future__ import annotations

import itertools

from millstream.shell.commands import command_of
from millstream.sql.parser import split
from millstream.sql.parser.syntax import tokens

__all__ = ["first_words", "is_complete", "is_push", "split"]

_OPENING = frozenset("'\"`")


def is_complete(text: str) -> bool:
    """Whether what was typed can be executed: it is a command of the shell, or its last statement has its semicolon.

    >>> is_complete("SELECT 1"), is_complete("SELECT ';"), is_complete("SHOW TABLES; -- x"), is_complete("output json")
    (False, False, True, True)
    """
    if not text.strip() or command_of(text) is not None:
        return True
    last = None
    for last in tokens(text):
        if last.type == "UNRECOGNIZED" and str(last) in _OPENING:
            return False  # a string that goes on in the next line
    return last is None or last.type == "SEMICOLON"


def first_words(statement: str, count: int = 1) -> tuple[str, ...]:
    """The first words of a statement, in upper case.

    >>> first_words("/* all */ list streams;", 2)
    ('LIST', 'STREAMS')
    """
    return tuple(str(token).upper() for token in itertools.islice(tokens(statement), count))


def is_push(statement: str) -> bool:
    """Whether a SELECT goes on until it is ended.

    >>> is_push("SELECT * FROM s EMIT CHANGES;"), is_push("SELECT 'EMIT' FROM s;")
    (True, False)
    """
    return any(token.type == "EMIT" for token in tokens(statement))
