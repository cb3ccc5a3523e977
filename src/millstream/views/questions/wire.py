"""Queries, requirements and answers as bytes: MessagePack, for the way between two instances.

Keys and values must be bytes already.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NamedTuple

import msgspec

from millstream.errors import WrongQuery
from millstream.records import Window
from millstream.views.answers import Answer, AnsweredBy, PartitionLag, Row
from millstream.views.queries import (
    CountQuery,
    KeyQuery,
    KeysQuery,
    Position,
    PrefixQuery,
    Query,
    RangeQuery,
    Requirements,
    SessionKeyQuery,
    SessionRangeQuery,
    VersionedKeyQuery,
    VersionsQuery,
    WindowKeyQuery,
    WindowRangeQuery,
)

_Offsets = dict[str, dict[int, int]]


class _Question(NamedTuple):
    """A question as it travels: one of each kind, of which the kind uses what it needs."""

    kind: str
    keys: tuple[bytes, ...] = ()
    low: bytes | None = None
    high: bytes | None = None
    earliest: int | None = None
    latest: int | None = None
    reverse: bool = False


class _Request(NamedTuple):
    store: str
    question: _Question
    partitions: tuple[int, ...]
    bound: _Offsets | None
    max_staleness: float | None
    allow_standby: bool
    limit: int | None
    after: bytes | None


class _Reply(NamedTuple):
    rows: list[tuple[bytes, bytes, int | None, int | None, int | None, int | None]]
    offsets: _Offsets
    lags: dict[int, tuple[int, int, int | None]]
    answered_by: dict[int, tuple[str, bool]]
    more: bool
    entries: int | None


class Request(NamedTuple):
    """A question to one instance: what `Views.ask_here` takes."""

    store: str
    query: Query
    requirements: Requirements
    partitions: tuple[int, ...]


_encode = msgspec.msgpack.encode
_requests = msgspec.msgpack.Decoder(_Request)
_replies = msgspec.msgpack.Decoder(_Reply)


def encode_request(request: Request) -> bytes:
    """A question as bytes.

    >>> request = Request("counts", KeyQuery(b"a"), Requirements(), (3,))
    >>> decode_request(encode_request(request)) == request
    True
    """
    needs = request.requirements
    return _encode(
        _Request(
            request.store,
            _question(request.query),
            tuple(request.partitions),
            None if needs.bound is None else _offsets(needs.bound),
            None if needs.max_staleness is None else needs.max_staleness.total_seconds(),
            needs.allow_standby,
            needs.limit,
            needs.after,
        )
    )


def decode_request(data: bytes) -> Request:
    """A question from its bytes.

    Raises:
        WrongQuery: they are not those of a question.
    """
    try:
        found = _requests.decode(data)
        if found.limit is not None and found.limit < 1:
            raise ValueError(f"the limit is {found.limit}")
        query = _query(found.question)
        needs = Requirements(
            bound=None if found.bound is None else Position(found.bound),
            max_staleness=None if found.max_staleness is None else timedelta(seconds=found.max_staleness),
            allow_standby=found.allow_standby,
            limit=found.limit,
            after=found.after,
        )
    except (msgspec.MsgspecError, ValueError, OverflowError, KeyError) as error:
        raise WrongQuery(
            "these bytes are not a question to a view",
            detail=f"{type(error).__name__}: {error}",
            hint="all instances of an application must run the same version of Millstream",
        ) from error
    return Request(found.store, query, needs, found.partitions)


def encode_answer(answer: Answer) -> bytes:
    """An answer whose keys and values are bytes, as bytes."""
    return _encode(
        _Reply(
            [
                (key, value, timestamp, *((None, None) if window is None else window), valid_to)
                for key, value, timestamp, window, valid_to in answer.rows
            ],
            _offsets(answer.position),
            {partition: (lag.position, lag.end, lag.stale_ms) for partition, lag in answer.lags.items()},
            {partition: (by.instance, by.is_standby) for partition, by in answer.answered_by.items()},
            answer.more,
            answer.count,
        )
    )


def decode_answer(data: bytes) -> Answer:
    """An answer from its bytes.

    Raises:
        msgspec.MsgspecError: they are not those of an answer.
    """
    found = _replies.decode(data)
    return Answer(
        [
            Row(key, value, timestamp, None if start is None or end is None else Window(start, end), valid_to)
            for key, value, timestamp, start, end, valid_to in found.rows
        ],
        Position(found.offsets),
        {partition: PartitionLag(*lag) for partition, lag in found.lags.items()},
        {partition: AnsweredBy(*by) for partition, by in found.answered_by.items()},
        found.more,
        found.entries,
    )


def _offsets(position: Position) -> dict[str, Any]:
    return {topic: dict(offsets) for topic, offsets in position.offsets.items()}


def _question(query: Query) -> _Question:
    match query:
        case KeyQuery(key):
            return _Question("key", (key,))
        case KeysQuery(keys):
            return _Question("keys", tuple(keys))
        case RangeQuery(low, high, reverse):
            return _Question("range", (), low, high, reverse=reverse)
        case PrefixQuery(prefix):
            return _Question("prefix", (prefix,))
        case CountQuery():
            return _Question("count")
        case WindowKeyQuery(key, earliest, latest, reverse):
            return _Question("windows", (key,), None, None, earliest, latest, reverse)
        case WindowRangeQuery(low, high, earliest, latest, reverse):
            return _Question("window-range", (), low, high, earliest, latest, reverse)
        case SessionKeyQuery(key, earliest, latest, reverse):
            return _Question("sessions", (key,), None, None, earliest, latest, reverse)
        case SessionRangeQuery(low, high, reverse):
            return _Question("session-range", (), low, high, reverse=reverse)
        case VersionedKeyQuery(key, as_of):
            return _Question("version", (key,), latest=as_of)
        case VersionsQuery(key, earliest, latest, reverse):
            return _Question("versions", (key,), None, None, earliest, latest, reverse)


def _query(asked: _Question) -> Query:
    kind, keys, low, high, earliest, latest, reverse = asked
    if kind == "keys":
        return KeysQuery(keys)
    if kind == "count":
        return CountQuery()
    if kind in ("range", "session-range"):
        return (RangeQuery if kind == "range" else SessionRangeQuery)(low, high, reverse)
    if kind == "window-range":
        return WindowRangeQuery(low, high, _time(earliest), _time(latest), reverse)
    (key,) = keys
    if kind == "key":
        return KeyQuery(key)
    if kind == "prefix":
        return PrefixQuery(key)
    if kind == "windows":
        return WindowKeyQuery(key, _time(earliest), _time(latest), reverse)
    if kind == "sessions":
        return SessionKeyQuery(key, _time(earliest), _time(latest), reverse)
    if kind == "version":
        return VersionedKeyQuery(key, latest)
    if kind == "versions":
        return VersionsQuery(key, earliest, latest, reverse)
    raise ValueError(f"there is no question called {kind!r}")


def _time(given: int | None) -> int:
    if given is None:
        raise ValueError("a time is missing")
    return given
