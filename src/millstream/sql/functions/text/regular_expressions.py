"""Functions of regular expressions, which are Java's."""

from __future__ import annotations

import re
from functools import lru_cache

import regex

from millstream.sql.errors import FunctionError
from millstream.sql.functions.declare import Declarations
from millstream.sql.functions.java.regex import PatternError, compile_java

FUNCTIONS = Declarations("REGULAR EXPRESSION")


def _compiled(pattern: str) -> regex.Pattern[str]:
    try:
        return compile_java(pattern)
    except PatternError as error:
        raise FunctionError(f"Invalid regular expression pattern: {pattern}", detail=str(error)) from None


@FUNCTIONS.scalar("regexp_extract", "(STRING pattern, STRING input) -> STRING")
def extract(pattern: str, text: str) -> str | None:
    """The first part of a text that a pattern matches."""
    return extract_group(pattern, text, 0)


@FUNCTIONS.scalar("regexp_extract", "(STRING pattern, STRING input, INTEGER group) -> STRING")
def extract_group(pattern: str, text: str, group: int) -> str | None:
    """A group of the first part of a text that a pattern matches."""
    compiled = _compiled(pattern)
    if group > compiled.groups:
        return None
    match = compiled.search(text)
    return None if match is None else _group(match, group)


@FUNCTIONS.scalar("regexp_extract_all", "(STRING pattern, STRING input) -> ARRAY<STRING>")
def extract_all(pattern: str, text: str) -> list[str | None] | None:
    """All parts of a text that a pattern matches."""
    return extract_all_groups(pattern, text, 0)


@FUNCTIONS.scalar("regexp_extract_all", "(STRING pattern, STRING input, INTEGER group) -> ARRAY<STRING>")
def extract_all_groups(pattern: str, text: str, group: int) -> list[str | None] | None:
    """A group of all parts of a text that a pattern matches."""
    compiled = _compiled(pattern)
    if group > compiled.groups:
        return None
    return [_group(match, group) for match in compiled.finditer(text)]


def _group(match: regex.Match[str], group: int) -> str | None:
    if group < 0:
        raise FunctionError(f"No group {group}")
    found: str | None = match.group(group)
    return found


@FUNCTIONS.scalar("regexp_replace", "(STRING str, STRING regexp, STRING newStr) -> STRING")
def replace_all(text: str, pattern: str, replacement: str) -> str:
    """The text with every part that a pattern matches replaced; `$1` and `${name}` are its groups."""
    compiled = _compiled(pattern)
    pieces: list[str] = []
    position = 0
    for match in compiled.finditer(text):
        pieces.append(text[position : match.start()])
        for part in _replacement(compiled, replacement):
            pieces.append(part if isinstance(part, str) else match.group(part[0]) or "")
        position = match.end()
    pieces.append(text[position:])
    return "".join(pieces)


_REPLACEMENT = re.compile(r"\\(.)|\$(?:(\d)|\{([a-zA-Z][a-zA-Z0-9]*)\})|([^\\$]+)", re.DOTALL)


@lru_cache(maxsize=1024)
def _replacement(pattern: regex.Pattern[str], text: str) -> tuple[str | tuple[int], ...]:
    """What to put in place of a match: texts, and numbers of groups in tuples."""
    parts: list[str | tuple[int]] = []
    position = 0
    while position < len(text):
        match = _REPLACEMENT.match(text, position)
        if match is None:
            raise FunctionError(
                "Illegal group reference" if text[position] == "$" else "character to be escaped is missing"
            )
        position = match.end()
        escaped, digit, name, plain = match.groups()
        if digit is not None:
            number = int(digit)
            while position < len(text) and text[position] in "0123456789":
                longer = number * 10 + int(text[position])
                if longer > pattern.groups:
                    break
                number, position = longer, position + 1
            if number > pattern.groups:
                raise FunctionError(f"No group {number}")
            parts.append((number,))
        elif name is not None:
            if name not in pattern.groupindex:
                raise FunctionError(f"No group with name {{{name}}}")
            parts.append((pattern.groupindex[name],))
        else:
            parts.append(plain if escaped is None else escaped)
    return tuple(parts)


@FUNCTIONS.scalar("regexp_split_to_array", "(STRING string, STRING regexp) -> ARRAY<STRING>")
def split_to_array(text: str, pattern: str) -> list[str]:
    """The parts of a text between what a pattern matches; its characters when the pattern matches nothing at all."""
    compiled = _compiled(pattern)
    parts: list[str] = []
    position = 0
    between_characters = compiled.fullmatch("") is not None
    for match in compiled.finditer(text):
        if between_characters and match.end() == 0:
            continue
        parts.append(text[position : match.start()])
        position = match.end()
    parts.append(text[position:])
    if between_characters and position > 0:
        while parts and not parts[-1]:
            parts.pop()
    return parts
