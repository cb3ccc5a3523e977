"""What goes wrong with a query, as a service says it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from millstream.errors import MillstreamError, RegistryError, TopologyError, ViewError
from millstream.kafka.errors import AuthenticationFailed, TopicMissing
from millstream.ksqldb.api import ServiceError
from millstream.sql.errors import SqlError, StatementError


@contextmanager
def told_as_service_errors(text: str) -> Iterator[None]:
    """Have whatever is wrong with a statement raised as a `ServiceError`."""
    try:
        yield
    except ServiceError:
        raise
    except MillstreamError as error:
        code, status = _code(error)
        statement = error.statement if isinstance(error, StatementError) and error.statement is not None else text
        raise ServiceError(
            code, error.primary, statement=statement, detail=error.detail, hint=error.hint, status=status
        ) from error


def _code(error: MillstreamError) -> tuple[int, int | None]:
    """KsqlDB's code, and the status if the code does not tell it."""
    if isinstance(error, SqlError | RegistryError | TopologyError | TopicMissing):
        return 40001, None
    if isinstance(error, AuthenticationFailed):
        return 40301, None
    if isinstance(error, ViewError):
        return 50000, 503
    return 50000, None
