r"""Java's regular expressions, in terms of the `regex` module.

`compile_java` translates a pattern of `java.util.regex`: classes are ASCII where Java's are (`\d`, `\w`, `\s`,
`\p{Alpha}`), line ends are Java's (`.`, `$`, `\Z`, `\R`), and what Java refuses is an error here.
"""

from __future__ import annotations

from functools import lru_cache

import regex

from millstream.sql.functions.java.regex_classes import ClassReader, literal, property_class, read_code, shorthand

_TERMINATORS = r"\n\r\x85\u2028\u2029"
_ANY = rf"[^{_TERMINATORS}]"
_ANY_UNIX = r"[^\n]"
_FINAL_END = r"(?=(?:\r\n|(?<!\r)\n|[\r\x85\u2028\u2029])?\Z)"
_FINAL_END_UNIX = r"(?=\n?\Z)"
_LINE_START = r"(?:\A|(?<=\n|\r(?!\n)|[\x85\u2028\u2029])(?=[\s\S]))"
_LINE_START_UNIX = r"(?:\A|(?<=\n)(?=[\s\S]))"
_LINE_END = r"(?=\r\n|(?<!\r)\n|[\r\x85\u2028\u2029]|\Z)"
_LINE_END_UNIX = r"(?=\n|\Z)"

_FLAGS = "idmsuxU"


class PatternError(ValueError):
    """A pattern that Java does not take."""


@lru_cache(maxsize=1024)
def compile_java(pattern: str) -> regex.Pattern[str]:
    r"""A compiled pattern.

    >>> compile_java(r"\Qa.b\E(\d+)").search("xa.b42").group(1)
    '42'

    Raises:
        PatternError: it is none.
    """
    try:
        return regex.compile(_Translator(pattern).translate(), regex.V1)
    except regex.error as error:
        raise PatternError(str(error)) from None


class _Translator:
    """Reads a Java pattern from left to right and writes it anew."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0
        self.flags: frozenset[str] = frozenset()
        self.groups = 0

    def error(self, what: str) -> PatternError:
        return PatternError(f"{what} near index {self.position}\n{self.pattern}")

    def translate(self) -> str:
        text = self.alternatives()
        if self.position < len(self.pattern):
            raise self.error("Unmatched closing ')'")
        return text

    def peek(self) -> str:
        return self.pattern[self.position : self.position + 1]

    def take(self) -> str:
        character = self.peek()
        if not character:
            raise self.error("Unexpected end of pattern")
        self.position += 1
        return character

    def accept(self, text: str) -> bool:
        if self.pattern.startswith(text, self.position):
            self.position += len(text)
            return True
        return False

    def alternatives(self) -> str:
        """All up to the end of the group; flags set inside end with it."""
        flags = self.flags
        parts: list[str] = []
        while (character := self.peek()) and character != ")":
            if character == "|":
                self.position += 1
                parts.append("|")
            else:
                parts.append(self.quantified())
        self.flags = flags
        return "".join(parts)

    def quantified(self) -> str:
        atom = self.atom()
        if not atom:
            return ""
        self.skip_comments()
        return atom + self.quantifier()

    def quantifier(self) -> str:
        character = self.peek()
        if character in {"*", "+", "?"}:
            self.position += 1
            text = character
        elif character == "{":
            text = self.repetition()
        else:
            return ""
        if self.peek() in {"?", "+"}:
            text += self.take()
        return text

    def repetition(self) -> str:
        match = regex.compile(r"\{(\d+)(,?)(\d*)\}").match(self.pattern, self.position)
        if match is None:
            raise self.error("Illegal repetition")
        low, comma, high = match.groups()
        if (high and not comma) or (high and int(high) < int(low)):
            raise self.error("Illegal repetition range")
        self.position = match.end()
        return str(match[0])

    def skip_comments(self) -> None:
        """White space and comments, with the flag x."""
        while "x" in self.flags and self.peek():
            if self.peek() in " \t\n\x0b\f\r":
                self.position += 1
            elif self.peek() == "#":
                end = self.pattern.find("\n", self.position)
                self.position = len(self.pattern) if end < 0 else end + 1
            else:
                return

    def atom(self) -> str:
        before = self.position
        self.skip_comments()
        if self.position != before:
            return ""
        character = self.take()
        match character:
            case ".":
                return self.dot()
            case "^":
                return self.line_start()
            case "$":
                return self.line_end()
            case "[":
                reader = ClassReader(self.pattern, self.position, "U" in self.flags, "x" in self.flags, self.error)
                text = reader.read()
                self.position = reader.position
                return self.in_any_case(text)
            case "(":
                return self.group()
            case "\\":
                return self.escape()
            case "*" | "+" | "?":
                raise self.error(f"Dangling meta character '{character}'")
            case "{":
                raise self.error("Illegal repetition")
        return self.character(character)

    def character(self, character: str) -> str:
        """A character that means itself; with the flag i in both cases, those of ASCII unless the flag u is on."""
        if "i" not in self.flags:
            return literal(character)
        if character.isascii():
            return f"[{character.lower()}{character.upper()}]" if character.isalpha() else literal(character)
        return self.in_any_case(literal(character)) if "u" in self.flags else character

    def in_any_case(self, text: str) -> str:
        return f"(?i:{text})" if "i" in self.flags else text

    def dot(self) -> str:
        if "s" in self.flags:
            return r"[\s\S]"
        return _ANY_UNIX if "d" in self.flags else _ANY

    def line_start(self) -> str:
        if "m" not in self.flags:
            return r"\A"
        return _LINE_START_UNIX if "d" in self.flags else _LINE_START

    def line_end(self) -> str:
        unix = "d" in self.flags
        if "m" in self.flags:
            return _LINE_END_UNIX if unix else _LINE_END
        return _FINAL_END_UNIX if unix else _FINAL_END

    def group(self) -> str:
        if not self.accept("?"):
            self.groups += 1
            return self.rest_of_group("(")
        for opening in ("?:", "?=", "?!", "?>", "?<=", "?<!"):
            if self.accept(opening[1:]):
                return self.rest_of_group("(" + opening)
        if self.accept("<"):
            match = regex.compile(r"([a-zA-Z][a-zA-Z0-9]*)>").match(self.pattern, self.position)
            if match is None:
                raise self.error("capturing group name does not start with a Latin letter")
            self.position = match.end()
            self.groups += 1
            return self.rest_of_group(f"(?P<{match[1]}>")
        return self.flag_group()

    def rest_of_group(self, opening: str) -> str:
        inside = self.alternatives()
        if not self.accept(")"):
            raise self.error("Unclosed group")
        return f"{opening}{inside})"

    def flag_group(self) -> str:
        match = regex.compile(rf"([{_FLAGS}]*)(?:-([{_FLAGS}]*))?([:)])").match(self.pattern, self.position)
        if match is None:
            raise self.error("Unknown inline modifier")
        on, off, end = match[1], match[2] or "", match[3]
        self.position = match.end()
        before = self.flags
        self.flags = (before | frozenset(on)) - frozenset(off)
        if "U" in on:
            self.flags |= {"u"}
        if end == ")":
            return ""  # The flags hold until the group around them ends, which `alternatives` sees to.
        text = self.rest_of_group("(?:")
        self.flags = before
        return text

    def escape(self) -> str:
        character = self.take()
        if character in "dDwWsShHvV":
            return shorthand(character, "U" in self.flags)
        if character.isdigit() and character != "0":
            return self.backreference(character)
        match character:
            case "Q":
                end = self.pattern.find("\\E", self.position)
                quoted = self.pattern[self.position : end if end >= 0 else len(self.pattern)]
                self.position = len(self.pattern) if end < 0 else end + 2
                # A quantifier after the quotation is for its last character only.
                return "".join(map(self.character, quoted))
            case "E":
                return ""
            case "A":
                return r"\A"
            case "z":
                return r"\Z"
            case "Z":
                return _FINAL_END_UNIX if "d" in self.flags else _FINAL_END
            case "b" | "B" | "G" | "X":
                return "\\" + character
            case "R":
                return r"(?:\r\n|[\n\x0b\f\r\x85\u2028\u2029])"
            case "k":
                return self.named_backreference()
            case "p" | "P":
                text, self.position = property_class(self.pattern, self.position, character == "P", self.error)
                return self.in_any_case(text)
        code, self.position = read_code(self.pattern, self.position, character, self.error)
        return self.character(code)

    def backreference(self, first: str) -> str:
        number = int(first)
        while self.peek().isdigit() and number * 10 + int(self.peek()) <= self.groups:
            number = number * 10 + int(self.take())
        # A group that does not exist never matches.
        return self.in_any_case(f"(?:\\{number})") if number <= self.groups else "(?!)"

    def named_backreference(self) -> str:
        match = regex.compile(r"<([a-zA-Z][a-zA-Z0-9]*)>").match(self.pattern, self.position)
        if match is None:
            raise self.error("\\k is not followed by '<' for named capturing group")
        self.position = match.end()
        return self.in_any_case(f"(?P={match[1]})")
