"""Variables: ${name} in statements."""

from __future__ import annotations

import re
from collections.abc import Mapping

from millstream.sql.errors import Location
from millstream.sql.parser.names import PrepareError, Source, place
from millstream.sql.parser.syntax import tokens

_REFERENCE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_@]*)\}")
_NAME = re.compile(r"([`\"]?)[A-Za-z_][A-Za-z0-9_@]*\1")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def substitute(source: Source, variables: Mapping[str, str]) -> Source:
    """A statement with the values of variables in place of the variables.

    In a string, a value is a part of the string. Elsewhere a value is a name, a number, a boolean, or a string that
    has its quotes in the value; it can be nothing more. $${name} in a string stands for ${name}. A variable that is not
    defined stays as it is in a string.

    Args:
        source: the statement.
        variables: values by names; the names are the same in any case.

    Raises:
        PrepareError: a variable is not defined, or its value cannot stand where it is used.

    >>> substitute(Source("SELECT * FROM ${from} WHERE a = 'is ${a}';"), {"FROM": "s", "A": "it's"}).text
    "SELECT * FROM s WHERE a = 'is it''s';"
    """
    if "${" not in source.text:
        return source
    values = {name.upper(): value for name, value in variables.items()}
    pieces: list[str] = []
    position = 0
    for token in tokens(source.text):
        if token.type == "STRING":
            replaced = _in_string(str(token), values)
        elif token.type == "VARIABLE":
            replaced = _alone(str(token), values, source.at(token))
        else:
            continue
        pieces += [source.text[position : token.start_pos], replaced]
        position = token.end_pos or 0
    pieces.append(source.text[position:])
    return Source("".join(pieces), source.origin)


def _in_string(text: str, values: Mapping[str, str]) -> str:
    def replace(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return "${"
        value = values.get(name.upper())
        return found[0] if value is None else value.replace("'", "''")

    return _REFERENCE.sub(replace, text)


def _alone(text: str, values: Mapping[str, str], at: Location) -> str:
    value = values.get(text[2:-1].upper(), text)
    if len(value) > 1 and value[0] == value[-1] == "'":
        return "'" + value[1:-1].replace("''", "'").replace("'", "''") + "'"
    if _NAME.fullmatch(value) or _NUMBER.fullmatch(value):
        return value
    raise PrepareError(
        f"Illegal argument at {place(at)}. Identifier names cannot start with '@' and may only contain "
        f"alphanumeric values and '_'. Got: '{value}'",
        at,
        plain=True,
    )
