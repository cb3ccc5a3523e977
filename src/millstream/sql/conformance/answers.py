"""Whether the answer to a pull or push query is what a case expects."""

from __future__ import annotations

from typing import Any

from millstream.sql.conformance.case import Json
from millstream.sql.conformance.errors import NotExpected
from millstream.sql.conformance.values import matches
from millstream.sql.engine.answers.entities import QueryAnswer

#: A row: its values, and whether it says that its key is gone.
_Row = tuple[list[Any], bool]


def check_answer(answer: QueryAnswer, expected: Json, what: str, *, verify_order: bool) -> None:
    """Compare an answer: the columns, the rows, and the message at the end.

    Ids of queries are not compared: they belong to a server.

    Args:
        answer: what was answered.
        expected: a header, rows, and perhaps a message, as a server sends them.
        what: which answer it is, for messages.
        verify_order: whether rows must come in the order in which they are expected.

    Raises:
        NotExpected: something differs.
    """
    schema = next((part["header"].get("schema") for part in expected if "header" in part), None)
    if schema is not None and schema != answer.schema:
        raise NotExpected(f"{what}: expected the columns {schema}, got {answer.schema}")
    rows = [(part["row"]["columns"], bool(part["row"].get("tombstone", False))) for part in expected if "row" in part]
    actual = [(list(row), index in answer.tombstones) for index, row in enumerate(answer.rows)]
    if not (_same_in_order(actual, rows) if verify_order else _same(actual, rows)):
        raise NotExpected(f"{what}: expected the rows {rows}, got {actual}")
    final = next((part["finalMessage"] for part in expected if "finalMessage" in part), None)
    if final != answer.final_message:
        raise NotExpected(f"{what}: expected the end {final!r}, got {answer.final_message!r}")


def _same_in_order(actual: list[_Row], expected: list[_Row]) -> bool:
    return len(actual) == len(expected) and all(
        _equal(mine, theirs) for mine, theirs in zip(actual, expected, strict=True)
    )


def _same(actual: list[_Row], expected: list[_Row]) -> bool:
    left = list(actual)
    for row in expected:
        found = next((index for index, mine in enumerate(left) if _equal(mine, row)), None)
        if found is None:
            return False
        del left[found]
    return not left


def _equal(mine: _Row, theirs: _Row) -> bool:
    return mine[1] == theirs[1] and matches(mine[0], theirs[0])
