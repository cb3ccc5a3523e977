"""What to say about a statement that does not follow the grammar.

The words are ksqlDB's, and so is the choice between them. Its parser, made by ANTLR, tells apart: a token too many, a
token too few, a token other than expected, and no way to go on while it still looks ahead to find out what it reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lark import Token

from millstream.sql.errors import Location, ParseError
from millstream.sql.parser.decisions import is_undecided
from millstream.sql.parser.names import Source
from millstream.sql.parser.starts import STATEMENT, TEST_STATEMENT
from millstream.sql.parser.tables import Stack

_COMMANDS = (
    *("SELECT", "CREATE", "INSERT", "DESCRIBE", "PRINT", "EXPLAIN", "SHOW", "LIST", "TERMINATE", "PAUSE", "RESUME"),
    *("DROP", "SET", "DEFINE", "UNDEFINE", "UNSET", "ASSERT", "ALTER"),
)

_SYMBOLS = {
    "SEMICOLON": ";",
    "COMMA": ",",
    "LPAREN": "(",
    "RPAREN": ")",
    "DOT": ".",
    "LBRACKET": "[",
    "RBRACKET": "]",
    "STRING_TYPE": "STRING",
    "EQ": "=",
    "LT": "<",
    "LTE": "<=",
    "GT": ">",
    "GTE": ">=",
    "PLUS": "+",
    "MINUS": "-",
    "ASTERISK": "*",
    "SLASH": "/",
    "PERCENT": "%",
    "CONCAT": "||",
    "ASSIGN": ":=",
    "STRUCT_FIELD_REF": "->",
    "LAMBDA_EXPRESSION": "=>",
}

#: What the terminals that are no words are called in the part of a message that is ours.
_DESCRIPTIONS = {
    "IDENTIFIER": "a name",
    "STRING": "a string",
    "INTEGER_VALUE": "a number",
    "DECIMAL_VALUE": "a number",
    "FLOATING_POINT_VALUE": "a number",
    "VARIABLE": "a variable",
    "NEQ": "'<>'",
    "$END": "the end",
}
_MOST_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The terminals of the grammar.

    Attributes:
        order: all, in the order in which messages list them.
        words: those that are words.
        names: those that can be a name; the other words are reserved.
    """

    order: tuple[str, ...]
    words: frozenset[str]
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Mistake:
    """Where a parser stopped.

    Attributes:
        source: what places are counted in.
        text: what was parsed: a statement, or an expression.
        tokens: its tokens, the end among them.
        index: the token that the parser could not take.
        stack: the parser's states.
        vocabulary: the terminals there are.
        start: the rule that parsing began with.
    """

    source: Source
    text: str
    tokens: list[Token]
    index: int
    stack: Stack
    vocabulary: Vocabulary
    start: str

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    @property
    def following(self) -> Token | None:
        return self.tokens[self.index + 1] if self.index + 1 < len(self.tokens) else None


def syntax_error(mistake: Mistake) -> ParseError:
    """The error for a mistake."""
    at = mistake.source.at(mistake.token)
    detail = f"{excerpt(mistake.source, at)}\n    expected: {_describe(mistake)}"
    primary = f"{at}: Syntax Error\n{_explain(mistake, at)}"
    return ParseError(primary, statement=mistake.text, location=at, detail=detail)


def excerpt(source: Source, at: Location) -> str:
    """The line of a place, with a mark under the place."""
    lines = source.text.split("\n")
    index = at.line - source.origin.line
    line = lines[index].rstrip("\r") if 0 <= index < len(lines) else ""
    column = at.column - (source.origin.column if index == 0 else 1)
    shown, begin = line, 0
    if len(line) > 200:
        begin = max(0, column - 100)
        shown = line[begin : begin + 200]
    blanks = "".join("\t" if character == "\t" else " " for character in shown[: column - begin])
    return f"here:\n    {shown}\n    {blanks}^"


def _explain(mistake: Mistake, at: Location) -> str:
    token = mistake.token
    if mistake.start in (STATEMENT, TEST_STATEMENT) and mistake.index == 0:
        return f"Unknown statement '{token}'\nDid you mean '{_most_similar(str(token))}'?"
    if is_undecided(mistake.tokens[: mistake.index]) and not mistake.stack.accepts("SEMICOLON"):
        return f"Syntax error at or near '{token}' at line {at.line}:{at.column}"
    settled = mistake.stack.settle()
    expected = settled.expected()
    if mistake.following is not None and mistake.following.type in expected:
        if token.type in mistake.vocabulary.words - mistake.vocabulary.names:
            return (
                f'"{token}" is a reserved keyword and it can\'t be used as an identifier. '
                f"You can use it as an identifier by escaping it as '{token}' "
            )
        return _expecting(mistake, expected)
    if len(expected) == 1:
        (only,) = expected
        after = settled.shift(only)
        if after is not None and after.accepts(token.type):
            return f"missing {_list(mistake, expected)} at '{token}'"
        if settled.states != mistake.stack.states:
            expected = mistake.stack.expected()
    return _expecting(mistake, expected)


def _expecting(mistake: Mistake, expected: frozenset[str]) -> str:
    if mistake.token.type == "$END":
        return "Syntax error at or near \";\"\n'}', ']', or ')' is missing"
    listed = _list(mistake, expected)
    return f"Expecting {listed}" if listed.count(",") <= 2 else ""


def _list(mistake: Mistake, terminals: frozenset[str]) -> str:
    shown = [_show(mistake, name) for name in mistake.vocabulary.order if name in terminals]
    if "$END" in terminals:
        shown.insert(0, "<EOF>")
    return shown[0] if len(shown) == 1 else f"{{{', '.join(shown)}}}"


def _show(mistake: Mistake, terminal: str) -> str:
    if terminal in _SYMBOLS:
        return f"'{_SYMBOLS[terminal]}'"
    return f"'{terminal}'" if terminal in mistake.vocabulary.words else terminal


def _describe(mistake: Mistake) -> str:
    """What could have come, for people: a name stands for all the keywords that are names as well."""
    expected = mistake.stack.expected()
    if "IDENTIFIER" in expected:
        expected = (expected - mistake.vocabulary.names) | {"IDENTIFIER"}
    kinds = [text for name, text in _DESCRIPTIONS.items() if name in expected]
    exact = [_show(mistake, name) for name in mistake.vocabulary.order if name in expected - _DESCRIPTIONS.keys()]
    shown = list(dict.fromkeys([*kinds, *exact]))
    if len(shown) > _MOST_SHOWN:
        shown = [*shown[:_MOST_SHOWN], "..."]
    return ", ".join(shown) or "nothing"


def _most_similar(text: str) -> str:
    return min(_COMMANDS, key=lambda command: _distance(command, text.upper()[:64]))


def _distance(left: str, right: str) -> int:
    """How many letters must be added, removed or changed to make one text the other."""
    row: Iterable[int] = range(len(right) + 1)
    for count, letter in enumerate(left, 1):
        previous = list(row)
        current = [count]
        for index, other in enumerate(right):
            current.append(min(previous[index + 1] + 1, current[index] + 1, previous[index] + (letter != other)))
        row = current
    return list(row)[-1]
