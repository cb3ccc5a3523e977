"""Functions of texts, many of them of bytes too. Positions count from 1, in units of UTF-16 (see `utf16`)."""

from __future__ import annotations

import re

from millstream.sql.errors import FunctionError
from millstream.sql.functions.declare import Declarations
from millstream.sql.functions.java.utf16 import length, text_of, units

FUNCTIONS = Declarations("STRING")

#: What Java's `String.trim` takes away.
_BLANK = "".join(map(chr, range(0x21)))
_WORD = re.compile("[^ \t\n\x0b\f\r]+[ \t\n\x0b\f\r]*")


@FUNCTIONS.scalar("ucase", "(STRING input) -> STRING")
def upper_case(text: str) -> str:
    """The text in capital letters."""
    return text.upper()


@FUNCTIONS.scalar("lcase", "(STRING input) -> STRING")
def lower_case(text: str) -> str:
    """The text in small letters."""
    return text.lower()


@FUNCTIONS.scalar("initcap", "(STRING str) -> STRING")
def initial_capitals(text: str) -> str:
    """The text with a capital at the start of each word; blanks before the first word are left out."""
    return "".join(word[:1].upper() + word[1:] for word in _WORD.findall(text.lower()))


@FUNCTIONS.scalar("trim", "(STRING input) -> STRING")
def trim(text: str) -> str:
    """The text without blanks at its ends."""
    return text.strip(_BLANK)


@FUNCTIONS.scalar("len", "(STRING input) -> INTEGER")
def text_length(text: str) -> int:
    """How long a text is."""
    return length(text)


@FUNCTIONS.scalar("len", "(BYTES input) -> INTEGER")
def bytes_length(value: bytes) -> int:
    """How many bytes there are."""
    return len(value)


@FUNCTIONS.scalar("concat", "(STRING... inputs) -> STRING", pass_null=True)
def concatenate(*texts: str | None) -> str:
    """The texts, one after the other; NULL counts as empty."""
    return "".join(filter(None, texts))


@FUNCTIONS.scalar("concat", "(BYTES... inputs) -> BYTES", pass_null=True)
def concatenate_bytes(*values: bytes | None) -> bytes:
    """The bytes, one after the other; NULL counts as empty."""
    return b"".join(filter(None, values))


@FUNCTIONS.scalar("concat_ws", "(STRING... inputs) -> STRING", pass_null=True)
def concatenate_with_separator(*texts: str | None) -> str | None:
    """The texts with the first of them between the others; those that are NULL are left out."""
    if len(texts) < 2:
        raise FunctionError("Function Concat_WS expects at least two input arguments.")
    separator = texts[0]
    return None if separator is None else separator.join([text for text in texts[1:] if text is not None])


@FUNCTIONS.scalar("concat_ws", "(BYTES... inputs) -> BYTES", pass_null=True)
def concatenate_bytes_with_separator(*values: bytes | None) -> bytes | None:
    """The bytes with the first of them between the others; those that are NULL are left out."""
    if len(values) < 2:
        raise FunctionError("Function Concat_WS expects at least two input arguments.")
    separator = values[0]
    return None if separator is None else separator.join([value for value in values[1:] if value is not None])


def _start(size: int, position: int) -> int:
    return max(size + position, 0) if position < 0 else max(min(position - 1, size), 0)


def _end(size: int, start: int, count: int) -> int:
    return max(min(start + count, size), start)


@FUNCTIONS.scalar("substring", "(STRING str, INTEGER pos) -> STRING")
def substring(text: str, position: int) -> str:
    """The text from a position on; a negative position counts from the end."""
    parts = units(text)
    part = parts[_start(len(parts), position) :]
    return part if parts is text else text_of(part)


@FUNCTIONS.scalar("substring", "(STRING str, INTEGER pos, INTEGER length) -> STRING")
def substring_of_length(text: str, position: int, count: int) -> str:
    """The given number of characters from a position on; a negative position counts from the end."""
    parts = units(text)
    start = _start(len(parts), position)
    part = parts[start : _end(len(parts), start, count)]
    return part if parts is text else text_of(part)


@FUNCTIONS.scalar("substring", "(BYTES bytes, INTEGER pos) -> BYTES")
def subbytes(value: bytes, position: int) -> bytes:
    """The bytes from a position on; a negative position counts from the end."""
    return value[_start(len(value), position) :]


@FUNCTIONS.scalar("substring", "(BYTES bytes, INTEGER pos, INTEGER length) -> BYTES")
def subbytes_of_length(value: bytes, position: int, count: int) -> bytes:
    """The given number of bytes from a position on; a negative position counts from the end."""
    start = _start(len(value), position)
    return value[start : _end(len(value), start, count)]


@FUNCTIONS.scalar("instr", "(STRING str, STRING substring) -> INTEGER", pass_null=True)
def position_of(text: str | None, part: str | None) -> int:
    """The position at which a substring first occurs; 0 if it does not."""
    return nth_position_of(text, part, 1, 1) or 0


@FUNCTIONS.scalar("instr", "(STRING str, STRING substring, INTEGER position) -> INTEGER", pass_null=True)
def position_from(text: str | None, part: str | None, position: int | None) -> int | None:
    """The position at which a substring first occurs, from a position on, or backwards from a negative one."""
    return nth_position_of(text, part, position, 1)


@FUNCTIONS.scalar(
    "instr", "(STRING str, STRING substring, INTEGER position, INTEGER occurrence) -> INTEGER", pass_null=True
)
def nth_position_of(text: str | None, part: str | None, position: int | None, occurrence: int | None) -> int | None:
    """The position of the nth occurrence of a substring, from a position on, or backwards from a negative one."""
    if position is None or occurrence is None:
        return None
    if text is None or part is None:
        return 0
    whole, sought = units(text), units(part)
    if abs(position) > len(whole):
        return 0
    if position >= 0:
        # commons-lang's substring takes what is before the start for a count from the end
        found = _nth_index(whole[position - 1 :], sought, occurrence)
        return 0 if found < 0 else found + position
    found = _nth_index(whole[::-1][-position - 1 :], sought[::-1], occurrence)
    return 0 if found < 0 else len(whole) + position - found - len(sought) + 2


def _nth_index(text: str, part: str, occurrence: int) -> int:
    """Where the part begins for the nth time; -1 when it does not. Occurrences may overlap."""
    if occurrence <= 0:
        return -1
    if not part:
        return 0
    index = -1
    for _ in range(occurrence):
        index = text.find(part, index + 1)
        if index < 0:
            return -1
    return index


@FUNCTIONS.scalar("replace", "(STRING str, STRING oldStr, STRING newStr) -> STRING")
def replace(text: str, old: str, new: str) -> str:
    """The text with every occurrence of a substring replaced."""
    return text.replace(old, new)


@FUNCTIONS.scalar("split", "(STRING string, STRING delimiter) -> ARRAY<STRING>")
def split(text: str, delimiter: str) -> list[str]:
    """The parts of a text between delimiters; its characters when the delimiter is empty."""
    if delimiter:
        return text.split(delimiter)
    return list(text) if text else [""]


@FUNCTIONS.scalar("split", "(BYTES bytes, BYTES delimiter) -> ARRAY<BYTES>")
def split_bytes(value: bytes, delimiter: bytes) -> list[bytes]:
    """The parts between delimiters; the single bytes when the delimiter is empty."""
    if not value:
        return [b""]
    return value.split(delimiter) if delimiter else [bytes((byte,)) for byte in value]


@FUNCTIONS.scalar("split_to_map", "(STRING input, STRING entryDelimiter, STRING kvDelimiter) -> MAP<STRING, STRING>")
def split_to_map(text: str, entry_delimiter: str, key_delimiter: str) -> dict[str, str] | None:
    """A map made from the entries in a text; entries without a key are left out, and the last value of a key counts."""
    if not entry_delimiter or not key_delimiter or entry_delimiter == key_delimiter:
        return None
    parts = (entry.split(key_delimiter) for entry in text.split(entry_delimiter) if key_delimiter in entry)
    return {part[0]: part[1] for part in parts}


@FUNCTIONS.scalar("elt", "(INTEGER n, STRING... args) -> STRING", pass_null=True)
def nth_text(n: int | None, *texts: str | None) -> str | None:
    """The nth of the texts; NULL if there is none."""
    return texts[n - 1] if n is not None and 1 <= n <= len(texts) else None


@FUNCTIONS.scalar("field", "(STRING str, STRING... args) -> INTEGER", pass_null=True)
def index_of_text(text: str | None, *texts: str | None) -> int:
    """The position of the first text among the others; 0 if it is not there."""
    return texts.index(text) + 1 if text is not None and text in texts else 0


_JAVA_ESCAPES = re.compile(
    r"""\\u+(?:\+?)([0-9A-Fa-f]{4})   # unit of UTF-16
    | \\([0-3]?[0-7]{1,2})            # octal
    | \\([btnfr])                     # control character
    | \\(.?)                          # the character itself
    """,
    re.VERBOSE | re.DOTALL,
)
_CONTROLS = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r"}


@FUNCTIONS.scalar("Chr", "(INTEGER decimalCode) -> STRING")
def character(code: int) -> str | None:
    """The character with that number."""
    return chr(code) if 0 <= code <= 0x10FFFF else None


@FUNCTIONS.scalar("Chr", "(STRING utf16Code) -> STRING")
def character_of_escape(escape: str) -> str | None:
    r"""The character that a text like `\u004b` stands for."""
    if len(escape) < 6 or not escape.startswith("\\u"):
        return None
    return text_of(_JAVA_ESCAPES.sub(_unescape, escape))


def _unescape(match: re.Match[str]) -> str:
    unit, octal, control, other = match.groups()
    if unit is not None:
        return chr(int(unit, 16))
    if octal is not None:
        return chr(int(octal, 8))
    if control is not None:
        return _CONTROLS[control]
    if other == "u":
        raise FunctionError(f"Less than 4 hex digits in unicode value: '{match.string[match.start() :]}'")
    return str(other)
