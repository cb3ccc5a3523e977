"""What is wrong with a query has ksqlDB's codes."""

from __future__ import annotations

import pytest

from millstream.errors import MillstreamError, NotReady, StreamsError
from millstream.kafka.errors import AuthenticationFailed, BrokerUnavailable, TopicMissing
from millstream.ksqldb.api import ServiceError
from millstream.ksqldb.queries.failures import told_as_service_errors
from millstream.sql.errors import ParseError, SqlError


@pytest.mark.parametrize(
    ("error", "code", "status"),
    [
        (SqlError("wrong", hint="do it right"), 40001, 400),
        (ParseError("wrong", statement="SELECT"), 40001, 400),
        (TopicMissing("wrong"), 40001, 400),
        (AuthenticationFailed("wrong"), 40301, 403),
        (NotReady("wrong"), 50000, 503),
        (BrokerUnavailable("wrong"), 50000, 500),
        (StreamsError("wrong"), 50000, 500),
        (ServiceError(42900, "wrong"), 42900, 429),
    ],
)
def test_codes(error: MillstreamError, code: int, status: int) -> None:
    with pytest.raises(ServiceError, match="wrong") as told, told_as_service_errors("SELECT"):
        raise error
    assert (told.value.code, told.value.status) == (code, status)
    assert told.value.hint == error.hint
    assert told.value.statement == ("SELECT" if code != 42900 else None)
