"""What the parser offers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from millstream.sql.errors import Location, ParseError
from millstream.sql.parser.builders.statements import StatementBuilder
from millstream.sql.parser.messages import excerpt
from millstream.sql.parser.names import PrepareError, Source
from millstream.sql.parser.starts import EXPRESSION, SCHEMA, STATEMENT, TEST_STATEMENT, TYPE
from millstream.sql.parser.syntax import SyntaxTree, parse_statement, parse_whole, split_tokens
from millstream.sql.parser.variables import substitute
from millstream.sql.schema.types import SqlType
from millstream.sql.tree.expressions import Expression
from millstream.sql.tree.statements import (
    AssertSource,
    AssertTombstone,
    AssertValues,
    CreateType,
    Define,
    DropType,
    Element,
    Statement,
    Undefine,
)

_NO_TYPES: Mapping[str, SqlType] = {}


class StatementText(str):
    """The text of one statement of a longer text: it knows where it was, so that messages can tell.

    It has been checked already: its syntax tree comes with it.
    """

    __slots__ = ("syntax",)
    syntax: SyntaxTree


@dataclass(frozen=True, slots=True)
class Parsed:
    """A statement.

    Attributes:
        text: how it was written, up to and with its semicolon; variables have been replaced by their values.
        statement: what it means.
    """

    text: str
    statement: Statement


def parse(
    text: str,
    *,
    types: Mapping[str, SqlType] = _NO_TYPES,
    variables: Mapping[str, str] | None = None,
    tests: bool = False,
) -> list[Parsed]:
    """All statements of a text. Types and variables that one defines are known to those after it.

    Args:
        text: statements, each with a semicolon at its end.
        types: the types users have given names.
        variables: what ${name} stands for; None when variables are not replaced.
        tests: whether the statements of the test tool are allowed: ASSERT VALUES, RUN SCRIPT and so on.

    Raises:
        ParseError: the text is not what it should be.
    """
    known = dict(types)
    values = None if variables is None else {name.upper(): value for name, value in variables.items()}
    result = []
    for one in statements(text, tests=tests):
        parsed = parse_one(one, types=known, variables=values, tests=tests)
        result.append(parsed)
        match parsed.statement:
            case CreateType(name=name, type=kind):
                known.setdefault(name, kind)
            case DropType(name=name):
                known.pop(name, None)
            case Define(name=name, value=value) if values is not None:
                values[name.upper()] = value
            case Undefine(name=name) if values is not None:
                values.pop(name.upper(), None)
    return result


def statements(text: str, *, tests: bool = False) -> Iterator[StatementText]:
    """The statements of a text, for `parse_one`. The whole text is checked before there is a first one.

    Args:
        text: statements, each with a semicolon at its end.
        tests: see `parse`.

    Raises:
        ParseError: a statement does not follow the grammar.
    """
    source = Source(text)
    start = TEST_STATEMENT if tests else STATEMENT
    return iter([_statement_text(parse_statement(source, found, start)) for found in split_tokens(text)])


def parse_one(
    text: str,
    types: Mapping[str, SqlType] = _NO_TYPES,
    variables: Mapping[str, str] | None = None,
    *,
    tests: bool = False,
) -> Parsed:
    """One statement.

    Args:
        text: the statement; what comes from `statements` was parsed there, and keeps its place in the whole text.
        types: see `parse`.
        variables: see `parse`.
        tests: see `parse`; what comes from `statements` does not need it again.

    Raises:
        ParseError: the text is no statement, is more than one, or the statement is wrong.
    """
    if isinstance(text, StatementText):
        syntax = text.syntax
    else:
        found = list(statements(text, tests=tests))
        if len(found) != 1:
            raise ParseError(f"Expected exactly one KSQL statement; found {len(found)} instead", statement=text)
        syntax = found[0].syntax
    if variables is not None:
        syntax = _substitute(syntax, variables)
    builder = StatementBuilder(syntax.source, types)
    try:
        statement: Statement = builder.build(syntax.tree)
        # Statements of the test tool have no query, and so no sources to compare with.
        if not isinstance(statement, AssertValues | AssertTombstone | AssertSource):
            builder.check_qualifiers()
    except PrepareError as error:
        raise _error(error, syntax) from None
    return Parsed(syntax.text, statement)


def split(text: str) -> list[str]:
    r"""The statements of a text, as text, whether they follow the grammar or not.

    >>> split("SHOW STREAMS; -- all\n SHOW TABLES;")
    ['SHOW STREAMS;', 'SHOW TABLES;']
    """
    return [text[found[0].start_pos : found[-1].end_pos] for found in split_tokens(text)]


def parse_expression(text: str, *, types: Mapping[str, SqlType] = _NO_TYPES) -> Expression:
    """An expression.

    Raises:
        ParseError: the text is none.

    >>> parse_expression("a")
    ColumnReference(name='A', source=None)
    """
    expression: Expression = _build("build_expression", text, EXPRESSION, types)
    return expression


def parse_type(text: str, types: Mapping[str, SqlType] = _NO_TYPES) -> SqlType:
    """A type.

    Raises:
        ParseError: the text is none.

    >>> print(parse_type("map<string, int array>"))
    MAP<STRING, ARRAY<INTEGER>>
    """
    kind: SqlType = _build("build", text, TYPE, types)
    return kind


def parse_schema(text: str, types: Mapping[str, SqlType] = _NO_TYPES) -> tuple[Element, ...]:
    """Columns as CREATE lists them, without the parentheses.

    Raises:
        ParseError: the text is something else.

    >>> [column.name for column in parse_schema("id INT KEY, `name` STRING")]
    ['ID', 'name']
    """
    elements: tuple[Element, ...] = _build("build", text, SCHEMA, types)
    return elements


def _build(method: str, text: str, start: str, types: Mapping[str, SqlType]) -> Any:
    syntax = parse_whole(Source(text), start)
    try:
        return getattr(StatementBuilder(syntax.source, types), method)(syntax.tree)
    except PrepareError as error:
        raise _error(error, syntax) from None


def _statement_text(syntax: SyntaxTree) -> StatementText:
    text = StatementText(syntax.text)
    text.syntax = syntax
    return text


def _substitute(syntax: SyntaxTree, variables: Mapping[str, str]) -> SyntaxTree:
    try:
        source = substitute(Source(syntax.text, syntax.origin), variables)
    except PrepareError as error:
        raise _error(error, syntax) from None
    if source.text == syntax.text:
        return syntax
    return parse_statement(source, next(split_tokens(source.text)), syntax.start)


def _error(error: PrepareError, syntax: SyntaxTree) -> ParseError:
    at: Location | None = error.at
    return ParseError(
        error.message,
        statement=syntax.text,
        location=at,
        detail=None if at is None else excerpt(syntax.source, at),
    )
