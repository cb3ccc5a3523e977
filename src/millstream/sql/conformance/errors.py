"""Whether what went wrong is what a case expects to go wrong."""

from __future__ import annotations

from millstream.errors import MillstreamError, StreamsError
from millstream.sql.conformance.case import Json
from millstream.sql.errors import FunctionError, ParseError, SqlError, StatementError

#: ksqlDB's exceptions, without their packages. Those that a server sends are statement errors of the engine.
_KINDS: dict[str, type[Exception]] = {
    "KsqlException": SqlError,
    "KsqlStatementException": StatementError,
    "ParseFailedException": ParseError,
    "KsqlFunctionException": FunctionError,
    "StreamsException": StreamsError,
    "KsqlErrorMessage": SqlError,
    "KsqlStatementErrorMessage": StatementError,
}


class NotExpected(Exception):
    """A case went otherwise than it should; the text is the reason, on one line."""


def check_error(error: Exception, expected: Json) -> None:
    """Compare an error with `expected_exception`.

    Raises:
        NotExpected: it is another one.
    """
    if expected is None:
        raise NotExpected(f"failed: {one_line(error)}") from error
    _check_kind(error, expected.get("type"))
    _check_message(error, expected.get("message"))
    if expected.get("cause"):
        cause = error.__cause__
        if not isinstance(cause, Exception):
            raise NotExpected(f"the error has no cause: {one_line(error)}") from error
        _check_kind(cause, expected["cause"])
        _check_message(cause, expected.get("causeMessage"))


def one_line(error: BaseException) -> str:
    """An error on one line, its class included."""
    return f"{type(error).__name__}: {' | '.join(str(error).split(chr(10)))}"


def _check_kind(error: Exception, name: str | None) -> None:
    if name is None:
        return
    kind = _KINDS.get(name.rsplit(".", 1)[-1])
    if kind is None or not isinstance(error, kind):
        raise NotExpected(f"expected a {name.rsplit('.', 1)[-1]}, got {one_line(error)}") from error


def _check_message(error: Exception, part: str | None) -> None:
    if not part:
        return
    message = _message(error)
    if isinstance(error, StreamsError):  # Kafka Streams' words: Millstream writes them in lower case
        message, part = message.lower(), part.lower()
    if part not in message:
        expected = " | ".join(part.split("\n"))
        raise NotExpected(f"expected the message '{expected}', got {one_line(error)}") from error


def _message(error: Exception) -> str:
    """The message as ksqlDB builds it: with the statement at the end."""
    message = error.primary if isinstance(error, MillstreamError) else str(error)
    if isinstance(error, StatementError) and error.statement:
        return f"{message}\nStatement: {error.statement}"
    return message
