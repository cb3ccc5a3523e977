"""Which format a client gets."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from millstream.ksqldb.rest.errors import PlainRefusal
from millstream.ksqldb.rest.negotiation import (
    ACKNOWLEDGEMENTS,
    DELIMITED,
    JSON,
    OTHERS,
    PROTOBUF,
    ROWS,
    V1,
    choose,
)


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (None, "the default"),
        ("", "the default"),
        ("*/*", DELIMITED),
        ("application/*", DELIMITED),
        (DELIMITED, DELIMITED),
        (JSON, JSON),
        (V1, V1),
        (PROTOBUF, PROTOBUF),
        ("application/json, text/plain, */*", JSON),
        ("application/json; charset=utf-8", JSON),
        ("APPLICATION/JSON", JSON),
        (f"text/html, {V1};q=0.9, */*;q=0.8", V1),
        (f"{JSON};q=0.2, {V1};q=0.7", V1),
        (f"{JSON};q=0, */*;q=0.1", DELIMITED),
        (f"{JSON};q=x", JSON),
    ],
)
def test_rows(accept: str | None, chosen: str) -> None:
    assert choose(Headers({} if accept is None else {"accept": accept}), ROWS, "the default") == chosen


def test_several_headers_are_one() -> None:
    headers = Headers(raw=[(b"accept", b"text/html"), (b"accept", b"application/json")])
    assert choose(headers, ROWS, V1) == JSON


@pytest.mark.parametrize(
    ("accept", "offered", "status"),
    [
        ("unsupported/type", ROWS, 406),
        ("blahblah", ROWS, 404),
        (V1, ACKNOWLEDGEMENTS, 406),
        (PROTOBUF, ACKNOWLEDGEMENTS, 406),
        (DELIMITED, OTHERS, 406),
        (PROTOBUF, OTHERS, 406),
    ],
)
def test_what_cannot_be_given(accept: str, offered: tuple[str, ...], status: int) -> None:
    with pytest.raises(PlainRefusal) as refused:
        choose(Headers({"accept": accept}), offered, JSON)
    assert refused.value.status == status
