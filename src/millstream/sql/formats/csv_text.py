"""A line of separated values, by the rules of the library that ksqlDB uses (Apache Commons CSV, its default format)."""

from __future__ import annotations

from typing import Any

_ENDS = "\r\n"


def split_line(text: str, delimiter: str) -> list[str]:
    """The fields of the first line; blank lines before it are skipped.

    Raises:
        ValueError: quotes that are not closed, or that something follows; or there is no line.

    >>> split_line('1,"a ""b"", c",', ",")
    ['1', 'a "b", c', '']
    """
    if '"' not in text and "\n" not in text and "\r" not in text:
        if not text:
            raise ValueError("No fields in record")
        return text.split(delimiter)
    place, size = 0, len(text)
    while place < size and text[place] in _ENDS:
        place += 1
    if place == size:
        raise ValueError("No fields in record")
    fields: list[str] = []
    while True:
        if place < size and text[place] == '"':
            field, place = _quoted(text, place + 1, delimiter)
        else:
            end = place
            while end < size and text[end] != delimiter and text[end] not in _ENDS:
                end += 1
            field, place = text[place:end], end
        fields.append(field)
        if place >= size or text[place] in _ENDS:
            return fields
        place += 1


def _quoted(text: str, place: int, delimiter: str) -> tuple[str, int]:
    """A field from behind its opening quote, and where what follows it begins."""
    parts = []
    while True:
        end = text.find('"', place)
        if end < 0:
            raise ValueError("(startline 1) EOF reached before encapsulated token finished")
        parts.append(text[place:end])
        place = end + 1
        if text[place : place + 1] != '"':
            break
        parts.append('"')
        place += 1
    while place < len(text) and text[place] != delimiter and text[place] not in _ENDS:
        if not text[place].isspace():
            raise ValueError("(line 1) invalid char between encapsulated token and delimiter")
        place += 1
    return "".join(parts), place


def join_line(fields: list[Any], delimiter: str) -> str:
    """A line of fields; None is an empty field, and only what would be misread is put in quotes.

    >>> join_line(["-1", None, "a,b", ""], ",")
    '"-1",,"a,b",'
    """
    shown = []
    first = True
    for field in fields:
        if field is None:
            shown.append("")
        elif _needs_quotes(field, delimiter, first=first):
            shown.append('"' + field.replace('"', '""') + '"')
        else:
            shown.append(field)
        first = False
    return delimiter.join(shown)


def _needs_quotes(field: str, delimiter: str, *, first: bool) -> bool:
    if not field:
        return first  # else a line of one empty field would be no line
    start = field[0]
    if first and not (start.isascii() and start.isalnum()):
        return True
    return start <= "#" or field[-1] <= " " or '"' in field or delimiter in field or "\n" in field or "\r" in field
