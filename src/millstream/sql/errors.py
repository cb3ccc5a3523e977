"""What goes wrong with statements. The messages are ksqlDB's where it has one."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.errors import MillstreamError


@dataclass(frozen=True, slots=True)
class Location:
    """Where in a statement's text: both count from 1, as in ksqlDB's messages and in editors."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}:{self.column}"


class SqlError(MillstreamError):
    """Something about SQL is wrong that no single statement's text explains."""


class StatementError(SqlError):
    """A statement that cannot be executed.

    Args:
        primary: what is wrong.
        statement: the text of the statement.
        detail: see `MillstreamError`.
        hint: see `MillstreamError`.
    """

    def __init__(
        self, primary: str, *, statement: str | None = None, detail: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(primary, detail=detail, hint=hint)
        self.statement = statement


class ParseError(StatementError):
    """A statement that does not follow the grammar, with the place."""

    def __init__(
        self,
        primary: str,
        *,
        statement: str | None = None,
        location: Location | None = None,
        detail: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(primary, statement=statement, detail=detail, hint=hint)
        self.location = location


class RegistryMissing(SqlError):
    """Something needs a schema registry, and none is configured."""


class ConnectorError(SqlError):
    """Kafka Connect refuses what a statement about a connector wants.

    Args:
        primary: what is wrong.
        status: the HTTP status that says so.
    """

    def __init__(self, primary: str, status: int) -> None:
        super().__init__(primary)
        self.status = status


class AssertionFailed(SqlError):
    """What ASSERT says did not come true in time."""


class FunctionError(SqlError):
    """A function was given what it cannot take, while records were processed."""


def tell(error: BaseException, text: str) -> None:
    """Add to the detail of an error."""
    if isinstance(error, MillstreamError):
        error.detail = text if error.detail is None else f"{error.detail}; {text}"
    else:
        error.add_note(text)
