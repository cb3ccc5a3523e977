"""What requests say, read and checked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest

from millstream.ksqldb.api import Request
from millstream.ksqldb.rest.errors import BAD_REQUEST, TIMEOUT, Refusal

T = TypeVar("T")

_LONG_MAX = 2**63 - 1
_SequenceNumber = Annotated[int, msgspec.Meta(ge=-(2**63), le=_LONG_MAX)]


class Statements(msgspec.Struct, frozen=True):
    """The body of `/ksql` and `/query`, and the parameter of `/ws/query`; fields that are unknown are ignored."""

    ksql: str
    streamsProperties: dict[str, Any] | None = None
    sessionVariables: dict[str, Any] | None = None
    commandSequenceNumber: _SequenceNumber | None = None
    requestProperties: dict[str, Any] | None = None

    def request(self) -> Request:
        """What the service is asked.

        Raises:
            Refusal: there is no statement.
        """
        after = self.commandSequenceNumber
        return Request(
            _given(self.ksql, "ksql"),
            self.streamsProperties or {},
            _texts(self.sessionVariables),
            None if after is None or after < 0 else after,
            self.requestProperties or {},
        )


class Query(msgspec.Struct, frozen=True):
    """The body of `/query-stream`."""

    sql: str
    properties: dict[str, Any] | None = None
    sessionVariables: dict[str, Any] | None = None
    requestProperties: dict[str, Any] | None = None

    def request(self) -> Request:
        """What the service is asked.

        Raises:
            Refusal: there is no statement.
        """
        return Request(
            _given(self.sql, "sql"),
            self.properties or {},
            _texts(self.sessionVariables),
            request_properties=self.requestProperties or {},
        )


class CloseQuery(msgspec.Struct, frozen=True):
    """The body of `/close-query`."""

    queryId: str


class InsertsTarget(msgspec.Struct, frozen=True):
    """The first line of `/inserts-stream`."""

    target: str
    properties: dict[str, Any] | None = None


class Terminate(msgspec.Struct, frozen=True):
    """The body of `/ksql/terminate`."""

    deleteTopicList: list[str] | None = None


def decode(data: bytes, kind: type[T]) -> T:
    """What bytes of JSON say.

    Raises:
        Refusal: they are no JSON, or do not say that.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Refusal(BAD_REQUEST, f"Invalid request: {error}") from None


async def read(request: HttpRequest, kind: type[T], patience: timedelta) -> T:
    """What the body of a request says.

    Raises:
        Refusal: it does not come in time, or see `decode`.
    """
    return decode(await in_time(request.body, patience), kind)


async def in_time(receive: Callable[[], Any], patience: timedelta) -> bytes:
    """What a client sends, if it is not too slow about it.

    Raises:
        Refusal: it is.
    """
    try:
        async with asyncio.timeout(patience.total_seconds()):
            data: bytes = await receive()
            return data
    except TimeoutError:
        raise Refusal(
            TIMEOUT, f"The body of the request has not arrived within {patience.total_seconds():g} seconds"
        ) from None
    except ClientDisconnect:
        raise Refusal(BAD_REQUEST, "The connection ended before the request did") from None


def _given(text: str, field: str) -> str:
    if not text.strip():
        raise Refusal(BAD_REQUEST, f'"{field}" field must be populated')
    return text


def _texts(variables: dict[str, Any] | None) -> dict[str, str]:
    """Variables as texts, which is what statements are made of."""
    return {
        name: value if isinstance(value, str) else msgspec.json.encode(value).decode()
        for name, value in (variables or {}).items()
    }
