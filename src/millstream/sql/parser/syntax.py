"""From text to trees of the grammar."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from millstream.sql.errors import Location
from millstream.sql.parser.messages import Mistake, Vocabulary, syntax_error
from millstream.sql.parser.names import Source
from millstream.sql.parser.starts import EXPRESSION, SCHEMA, STATEMENT, TEST_STATEMENT, TYPE
from millstream.sql.parser.tables import Stack


@dataclass(frozen=True, slots=True)
class SyntaxTree:
    """A tree of the grammar.

    Attributes:
        source: the text that its places are counted in.
        text: the part of the text that it was made from.
        origin: where that begins.
        start: the rule that it was parsed with.
        tree: the tree.
    """

    source: Source
    text: str
    origin: Location
    start: str
    tree: Any


@cache
def grammar() -> Lark:
    """The parser; it takes about a second to make."""
    return Lark(
        Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8"),
        parser="lalr",
        lexer="basic",
        start=[STATEMENT, TEST_STATEMENT, EXPRESSION, TYPE, SCHEMA],
        propagate_positions=True,
        maybe_placeholders=True,
        # Letters are those of ASCII, even where their case does not matter.
        g_regex_flags=re.ASCII,
    )


@cache
def vocabulary() -> Vocabulary:
    """The words of the grammar."""
    order = tuple(terminal.name for terminal in grammar().terminals)
    words = (terminal.name for terminal in grammar().terminals if re.fullmatch(r"\w+", terminal.pattern.value))
    names = (rule.expansion[0].name for rule in grammar().rules if rule.origin.name in ("_word", "identifier"))
    return Vocabulary(order, frozenset(words), frozenset(names))


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a text, without comments and blanks; a character that begins none is UNRECOGNIZED."""
    interactive = grammar().parse_interactive(text, start=STATEMENT)
    lexer = interactive.lexer_thread
    state: Any = lexer.state
    while True:
        try:
            yield from lexer.lex(interactive.parser_state)  # type: ignore[no-untyped-call]
            return
        except UnexpectedCharacters as error:
            begin, line, column = error.pos_in_stream or 0, error.line, error.column
            yield Token("UNRECOGNIZED", text[begin], begin, line, column, line, column + 1, begin + 1)
            state.line_ctr.feed(text[begin])


def split_tokens(text: str) -> Iterator[list[Token]]:
    """The tokens of a text, a statement at a time; only the last can lack its semicolon."""
    statement: list[Token] = []
    for token in tokens(text):
        statement.append(token)
        if token.type == "SEMICOLON":
            yield statement
            statement = []
    if statement:
        yield statement


def parse_statement(source: Source, statement: list[Token], start: str) -> SyntaxTree:
    """A statement's tree.

    Args:
        source: the text that its tokens come from.
        statement: its tokens.
        start: STATEMENT or TEST_STATEMENT.

    Raises:
        ParseError: the statement does not follow the grammar.
    """
    text = source.text[statement[0].start_pos : statement[-1].end_pos]
    return SyntaxTree(source, text, source.at(statement[0]), start, _parse(source, text, statement, start))


def parse_whole(source: Source, start: str) -> SyntaxTree:
    """The tree of a text that is one thing, such as an expression.

    Raises:
        ParseError: it does not follow the grammar.
    """
    tree = _parse(source, source.text, list(tokens(source.text)), start)
    return SyntaxTree(source, source.text, source.origin, start, tree)


def _parse(source: Source, text: str, statement: list[Token], start: str) -> Any:
    interactive = grammar().parse_interactive(start=start)
    end = _end_of(statement)
    try:
        for token in statement:
            interactive.feed_token(token)
        return interactive.feed_token(end)
    except UnexpectedToken as error:
        state = interactive.parser_state
        stack = Stack(state.parse_conf.states, tuple(state.state_stack))
        index = next((n for n, token in enumerate(statement) if token is error.token), len(statement))
        mistake = Mistake(source, text, [*statement, end], index, stack, vocabulary(), start)
        raise syntax_error(mistake) from None


def _end_of(statement: list[Token]) -> Token:
    """What comes after the last token."""
    if not statement:
        return Token("$END", "<EOF>", 0, 1, 1)
    last = statement[-1]
    return Token("$END", "<EOF>", last.end_pos, last.end_line, last.end_column)
