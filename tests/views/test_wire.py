"""Questions and answers come out of their bytes as they went in, and other bytes are refused."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from millstream.errors import WrongQuery
from millstream.records import MAX_TIMESTAMP, Window
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
from millstream.views.questions.wire import Request, decode_answer, decode_request, encode_answer, encode_request

QUERIES: list[Query] = [
    KeyQuery(b"k"),
    KeysQuery((b"a", b"b")),
    KeysQuery(()),
    RangeQuery(),
    RangeQuery(b"a", None, True),
    PrefixQuery(b"p"),
    CountQuery(),
    WindowKeyQuery(b"k"),
    WindowKeyQuery(b"k", 5, MAX_TIMESTAMP, True),
    WindowRangeQuery(),
    WindowRangeQuery(b"a", b"b", 1, 2, True),
    SessionKeyQuery(b"k", 1, 2, True),
    SessionRangeQuery(b"a", b"b", True),
    VersionedKeyQuery(b"k"),
    VersionedKeyQuery(b"k", 7),
    VersionsQuery(b"k"),
    VersionsQuery(b"k", 1, 2, True),
]
NEEDS = Requirements(Position({"t": {3: 7}}), timedelta(seconds=1.5), True, None, 5, b"after")


@pytest.mark.parametrize("query", QUERIES, ids=repr)
def test_questions(query: Query) -> None:
    for needs in (Requirements(), NEEDS):
        request = Request("store", query, needs, (0, 2))
        assert decode_request(encode_request(request)) == request


def test_answers() -> None:
    answer = Answer(
        [
            Row(b"k", b"v"),
            Row(b"k", b"v", 5),
            Row(b"k", b"v", None, Window(0, 10)),
            Row(b"k", b"v", 1, Window(3, MAX_TIMESTAMP)),
            Row(b"k", b"v", 1, None, 2),
        ],
        Position({"t": {0: 1, 1: 2}}),
        {0: PartitionLag(1, 2, None), 1: PartitionLag(1, 2, 3)},
        {0: AnsweredBy("a", False), 1: AnsweredBy("b", True)},
        True,
        7,
    )
    assert decode_answer(encode_answer(answer)) == answer


def test_other_bytes_are_refused() -> None:
    chance = random.Random(3)
    requests = [encode_request(Request("store", query, NEEDS, (0, 2))) for query in QUERIES]
    refused = 0
    for _ in range(10_000):
        data = bytearray(chance.choice(requests))
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            decode_request(bytes(data[: chance.randrange(len(data)) if chance.random() < 0.2 else None]))
        except WrongQuery:
            refused += 1
    assert refused > 1000
