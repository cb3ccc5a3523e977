r"""The character classes of Java's regular expressions: `[a-z&&[^b]]`, `\p{Alpha}`, `\d`."""

from __future__ import annotations

from collections.abc import Callable

import regex

#: Makes the error for what is wrong at the current place.
Fail = Callable[[str], ValueError]

_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_BLANK = r"\ \t\n\x0b\f\r"
_PUNCTUATION = r"\!-\/\:-\@\[-\`\{-\~"

#: What is inside the brackets of a class that stands for a letter, with ASCII only.
_SHORTHANDS = {
    "d": "0-9",
    "w": "a-zA-Z_0-9",
    "s": _BLANK,
    "h": r"\ \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000",
    "v": r"\n\x0b\f\r\x85\u2028\u2029",
}
_UNICODE_SHORTHANDS = {**_SHORTHANDS, "d": r"\p{Nd}", "w": r"\w", "s": r"\s"}

_PROPERTIES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": _PUNCTUATION,
    "Graph": rf"a-zA-Z0-9{_PUNCTUATION}",
    "Print": rf"\ a-zA-Z0-9{_PUNCTUATION}",
    "Blank": r"\ \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": _BLANK,
    "L1": r"\x00-\xff",
    "LD": r"\p{L}\p{Nd}",
    "all": r"\s\S",
    "javaLowerCase": r"\p{Lowercase}",
    "javaUpperCase": r"\p{Uppercase}",
    "javaTitleCase": r"\p{Lt}",
    "javaAlphabetic": r"\p{Alphabetic}",
    "javaIdeographic": r"\p{Ideographic}",
    "javaDigit": r"\p{Nd}",
    "javaLetter": r"\p{L}",
    "javaLetterOrDigit": r"\p{L}\p{Nd}",
    "javaWhitespace": r"\t\n\x0b\f\r\x1c-\x1f\ \u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000",
    "javaSpaceChar": r"\p{Z}",
    "javaISOControl": r"\x00-\x1f\x7f-\x9f",
    "javaMirrored": r"\p{Bidi_Mirrored}",
    "javaDefined": r"\P{Cn}",
}
_PROPERTY = regex.compile(r"\{(\w+(?:=[\w -]+)?)\}|([A-Z])")
_HEXADECIMAL = regex.compile(r"x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})")
_SURROGATES = regex.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_OCTAL = regex.compile(r"0([0-3][0-7]{2}|[0-7]{1,2})")


def literal(character: str) -> str:
    r"""A character that means itself, everywhere in a pattern.

    >>> literal("a"), literal("+")
    ('a', '\\+')
    """
    return character if character.isalnum() or character == "_" or not character.isascii() else "\\" + character


def shorthand(letter: str, unicode: bool) -> str:
    r"""The class that `\d` and the like stand for; the capital letter for all others."""
    inside = (_UNICODE_SHORTHANDS if unicode else _SHORTHANDS)[letter.lower()]
    return f"[^{inside}]" if letter.isupper() else f"[{inside}]"


def property_class(pattern: str, position: int, negated: bool, fail: Fail) -> tuple[str, int]:
    r"""The class after `\p`, and where it ends."""
    match = _PROPERTY.match(pattern, position)
    if match is None:
        raise fail("Unknown character property")
    name = match[1] or match[2]
    inside = _PROPERTIES.get(name) or rf"\p{{{name}}}"
    try:
        regex.compile(f"[{inside}]", regex.V1)
    except regex.error:
        raise fail(f"Unknown character property name {{{name}}}") from None
    return f"[^{inside}]" if negated else f"[{inside}]", match.end()


def read_code(pattern: str, position: int, character: str, fail: Fail) -> tuple[str, int]:
    r"""The character that an escape stands for, and where it ends; `character` is what follows the backslash."""
    if character in _CONTROLS:
        return _CONTROLS[character], position
    if character == "0":
        octal = _OCTAL.match(pattern, position - 1)
        if octal is None:
            raise fail("Illegal octal escape sequence")
        return chr(int(octal[1], 8)), octal.end()
    if character in {"x", "u"}:
        code = _HEXADECIMAL.match(pattern, position - 1)
        if code is None:
            raise fail("Illegal hexadecimal or Unicode escape sequence")
        return _with_low_surrogate(pattern, int(code[1] or code[2] or code[3], 16), code.end(), fail)
    if character == "c" and position < len(pattern):
        return chr(ord(pattern[position]) ^ 64), position + 1
    if character.isascii() and character.isalpha():
        raise fail("Illegal/unsupported escape sequence")
    return character, position


def _with_low_surrogate(pattern: str, code: int, position: int, fail: Fail) -> tuple[str, int]:
    r"""`\ud83d\ude00` is one character."""
    if 0xD800 <= code <= 0xDBFF:
        low = _SURROGATES.match(pattern, position)
        if low is not None:
            return chr(0x10000 + ((code & 0x3FF) << 10) + (int(low[1], 16) & 0x3FF)), low.end()
    if code > 0x10FFFF:
        raise fail("Hexadecimal codepoint is too big")
    return chr(code), position


class ClassReader:
    """Reads a class in brackets, from behind the opening one.

    Args:
        pattern: the pattern it is in.
        position: where it starts; where it ended, once read.
        unicode: whether the flag U is on.
        comments: whether the flag x is on: blanks mean nothing.
        fail: makes errors.
    """

    def __init__(self, pattern: str, position: int, unicode: bool, comments: bool, fail: Fail) -> None:
        self.pattern, self.position, self.unicode, self.comments, self.fail = (
            pattern,
            position,
            unicode,
            comments,
            fail,
        )

    def read(self) -> str:
        """The class, for `regex`."""
        negation = "^" if self._accept("^") else ""
        operands = [self._union(first=True)]
        while self._accept("&&"):
            operands.append(self._union(first=False))
        if not self._accept("]"):
            raise self.fail("Unclosed character class")
        operands = [operand for operand in operands if operand]
        if not operands:
            raise self.fail("Bad class syntax")
        if len(operands) == 1:
            return f"[{negation}{operands[0]}]"
        return f"[{negation}{'&&'.join(f'[{operand}]' for operand in operands)}]"

    def _accept(self, text: str) -> bool:
        if self.pattern.startswith(text, self.position):
            self.position += len(text)
            return True
        return False

    def _union(self, first: bool) -> str:
        parts: list[str] = []
        while self.position < len(self.pattern) and not self.pattern.startswith("&&", self.position):
            character = self.pattern[self.position]
            if character == "]" and (parts or not first):
                break
            if self.comments and character in " \t\n\x0b\f\r":
                self.position += 1
                continue
            parts.append(self._item())
        return "".join(parts)

    def _item(self) -> str:
        character = self.pattern[self.position]
        if self._accept("["):
            inner = ClassReader(self.pattern, self.position, self.unicode, self.comments, self.fail)
            text = inner.read()
            self.position = inner.position
            return text
        low = self._character_or_class()
        if len(low) != 1:
            return low
        following = self.pattern[self.position + 1 : self.position + 2]
        if not self.pattern.startswith("-", self.position) or following in {"]", "[", ""}:
            return literal(low)
        self.position += 1
        high = self._character_or_class()
        if len(high) != 1 or high < low:
            raise self.fail(f"Illegal character range near '{character}'")
        return f"{literal(low)}-{literal(high)}"

    def _character_or_class(self) -> str:
        """One character, or the text of a class, which is longer."""
        character = self.pattern[self.position]
        self.position += 1
        if character != "\\":
            return character
        if self.position == len(self.pattern):
            raise self.fail("Unexpected end of pattern")
        escaped = self.pattern[self.position]
        self.position += 1
        if escaped in "dDwWsShHvV":
            return shorthand(escaped, self.unicode)
        if escaped in "pP":
            text, self.position = property_class(self.pattern, self.position, escaped == "P", self.fail)
            return text
        if escaped == "Q":
            return self._quotation()
        code, self.position = read_code(self.pattern, self.position, escaped, self.fail)
        return code

    def _quotation(self) -> str:
        end = self.pattern.find("\\E", self.position)
        quoted = self.pattern[self.position : end if end >= 0 else len(self.pattern)]
        self.position = len(self.pattern) if end < 0 else end + 2
        return f"[{''.join(map(literal, quoted))}]"
