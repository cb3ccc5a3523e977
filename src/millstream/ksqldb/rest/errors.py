"""Errors as ksqlDB tells them: a code whose hundredth is the HTTP status, a message, the statement if there is one."""

from __future__ import annotations

from typing import Any

from millstream.errors import MillstreamError
from millstream.ksqldb.api import ServiceError
from millstream.server.problems import Problem

BAD_REQUEST = 40000
BAD_STATEMENT = 40001
HTTP2_ONLY = 40004
TIMEOUT = 40800
FORBIDDEN = 40300
NOT_FOUND = 40400
TOO_MANY = 42900
SERVER_ERROR = 50000
NOT_CAUGHT_UP = 50301
STARTING, TERMINATING, TERMINATED = 50302, 50303, 50304

#: What is told of a failure that nobody has foreseen; its cause is in the log.
UNFORESEEN = (
    "The server encountered an internal error when processing the query. "
    "Please consult the server logs for more information."
)

_TEXT = "text/plain"


def generic_error(code: int, message: str) -> dict[str, Any]:
    """An error that is about no statement."""
    return {"@type": "generic_error", "error_code": code, "message": message}


class Refusal(Problem):
    """A request that is not answered, in ksqlDB's shape.

    Args:
        code: ksqlDB's error code.
        message: what is wrong.
        statement: the statement it is about; None if it is about no statement.
        status: the HTTP status, where the code does not tell it.
        media_type: what the answer says of its body. ksqlDB says nothing unless a handler of statements was reached.
        headers: what the answer's headers say about it.
    """

    def __init__(
        self,
        code: int,
        message: str,
        *,
        statement: str | None = None,
        status: int | None = None,
        media_type: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        status = code // 100 if status is None else status
        super().__init__(status if 400 <= status < 600 else 500, "Refusal", message, headers=headers)
        self.code = code
        self.statement = statement
        self.media_type = media_type

    def body(self) -> dict[str, Any]:
        content = generic_error(self.code, self.primary)
        if self.statement is None:
            return content
        return {**content, "@type": "statement_error", "statementText": self.statement, "entities": []}


class PlainRefusal(Problem):
    """A request that is not answered, where ksqlDB has no error for it: some text, or nothing at all."""

    def __init__(self, status: int, text: str = "") -> None:
        super().__init__(status, "Refusal", text)
        self.media_type = _TEXT if text else None

    def encoded(self) -> bytes:
        return self.primary.encode()


def not_found() -> PlainRefusal:
    """There is no such path, or it is not for this method."""
    return PlainRefusal(404, "Not Found")


def message_of(error: MillstreamError) -> str:
    """What a client is told of an error; never nothing."""
    return str(error) or type(error).__name__


def refusal_of(error: ServiceError, media_type: str | None = None) -> Refusal:
    """What the service refuses, as an answer."""
    return Refusal(error.code, message_of(error), statement=error.statement, status=error.status, media_type=media_type)


def in_stream(error: MillstreamError) -> dict[str, Any]:
    """An error after rows have been sent: ksqlDB tells only limits from all others."""
    code = TOO_MANY if isinstance(error, ServiceError) and error.code == TOO_MANY else SERVER_ERROR
    return generic_error(code, message_of(error))


def restate(problem: Problem) -> Problem:
    """What the guard or the router refuses, in ksqlDB's shape."""
    if isinstance(problem, Refusal | PlainRefusal):
        return problem
    if problem.status in (404, 405):
        return not_found()
    message = UNFORESEEN if problem.status == 500 else str(problem)
    code = SERVER_ERROR if problem.status >= 500 else problem.status * 100
    return Refusal(code, message, status=problem.status, headers=problem.headers)
