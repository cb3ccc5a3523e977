"""Errors of statements with ksqlDB's codes."""

from __future__ import annotations

from millstream.connect.errors import ConnectRefused, NoConnect
from millstream.errors import MillstreamError
from millstream.kafka.errors import AuthenticationFailed
from millstream.ksqldb.api import ServiceError
from millstream.ksqldb.commands.masking import masked
from millstream.sql.errors import AssertionFailed, ConnectorError, RegistryMissing, SqlError, StatementError


def service_error(error: MillstreamError, text: str) -> ServiceError:
    """What a client is told.

    Args:
        error: what went wrong.
        text: the statement it went wrong with, unless the error knows better.
    """
    if isinstance(error, ServiceError):
        return error
    if isinstance(error.__cause__, ConnectorError):  # told as Connect's, and about no statement
        refused = error.__cause__
        return ServiceError(refused.status * 100, refused.primary)
    statement = error.statement if isinstance(error, StatementError) and error.statement else text
    made = ServiceError(_code(error), error.primary, statement=masked(statement), detail=error.detail, hint=error.hint)
    made.__cause__ = error
    return made


def _code(error: BaseException | None) -> int:
    reason = error
    while reason is not None:
        if isinstance(reason, AssertionFailed):
            return 41700
        if isinstance(reason, RegistryMissing):
            return 42801
        if isinstance(reason, AuthenticationFailed):
            return 40301
        if isinstance(reason, NoConnect | ConnectRefused):  # it did not come to the question
            return 50000
        reason = reason.__cause__
    return 40001 if isinstance(error, SqlError) else 50000
