"""Functions of URLs, with the results of java.net."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millstream.sql.errors import FunctionError
from millstream.sql.functions.java.uri import Uri, parse_uri
from millstream.sql.schema.types import STRING

Evaluate = Callable[..., Any]


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("http://me:pw@ex.com:80/a%20b;c?d=%C3%A9&e#f", Uri("http", "ex.com", 80, "/a b;c", "d=é&e", "f")),
        ("http://ex.com", Uri("http", "ex.com", None, "", None, None)),
        ("http://ex.com:/", Uri("http", "ex.com", None, "/", None, None)),
        ("http://ex.com?q", Uri("http", "ex.com", None, "", "q", None)),
        ("www.ex.com/a", Uri(None, None, None, "www.ex.com/a", None, None)),
        ("//ex.com/a", Uri(None, "ex.com", None, "/a", None, None)),
        ("mailto:a@b.c", Uri("mailto", None, None, None, None, None)),
        ("localhost:8080", Uri("localhost", None, None, None, None, None)),
        ("file:///a", Uri("file", None, None, "/a", None, None)),
        ("http://10.0.0.1:8080", Uri("http", "10.0.0.1", 8080, "", None, None)),
        ("http://[::1]:9/", Uri("http", "[::1]", 9, "/", None, None)),
        ("http://my_host/a", Uri("http", None, None, "/a", None, None)),
        ("http://host:port/a", Uri("http", None, None, "/a", None, None)),
        ("http://1.2.3/", Uri("http", None, None, "/", None, None)),
        ("", Uri(None, None, None, "", None, None)),
        ("#f", Uri(None, None, None, "", None, "f")),
        ("http://ex.com/ü?é", Uri("http", "ex.com", None, "/ü", "é", None)),
    ],
)
def test_parts(text: str, uri: Uri) -> None:
    assert parse_uri(text) == uri


@pytest.mark.parametrize(
    "text",
    [
        "http://",
        "http:",
        ":a",
        "1a:b",
        "a b",
        "http://ex.com/%zz",
        "a#b#c",
        "http://ex.com/<",
        "http://ex.com/[",
        "http://a b/",
        "http://ex.com/\u00a0",
    ],
)
def test_what_is_no_url(evaluate: Evaluate, text: str) -> None:
    with pytest.raises(FunctionError, match="URL input has invalid syntax"):
        evaluate("url_extract_path", (STRING, text))


URL = "https://user@ex.com:8443/p%2Fq?x=1&y&z=a%3Db&x=2#frag"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("protocol", "https"),
        ("host", "ex.com"),
        ("port", 8443),
        ("path", "/p/q"),
        ("query", "x=1&y&z=a=b&x=2"),
        ("fragment", "frag"),
    ],
)
def test_extract(evaluate: Evaluate, name: str, expected: Any) -> None:
    assert evaluate(f"url_extract_{name}", (STRING, URL)) == expected
    assert evaluate(f"url_extract_{name}", (STRING, None)) is None


@pytest.mark.parametrize(("name", "expected"), [("x", "1"), ("y", ""), ("z", "a=b"), ("w", None)])
def test_extract_parameter(evaluate: Evaluate, name: str, expected: str | None) -> None:
    assert evaluate("url_extract_parameter", (STRING, URL), (STRING, name)) == expected
    assert evaluate("url_extract_parameter", (STRING, "http://ex.com"), (STRING, name)) is None


@pytest.mark.parametrize(("plain", "encoded"), [("a b&c=é", "a+b%26c%3D%C3%A9"), ("-_.*~", "-_.*%7E"), ("", "")])
def test_parameters(evaluate: Evaluate, plain: str, encoded: str) -> None:
    assert evaluate("url_encode_param", (STRING, plain)) == encoded
    assert evaluate("url_decode_param", (STRING, encoded)) == plain


@pytest.mark.parametrize("text", ["%", "%4", "a%zz"])
def test_escapes_that_are_wrong(evaluate: Evaluate, text: str) -> None:
    with pytest.raises(FunctionError, match="URLDecoder"):
        evaluate("url_decode_param", (STRING, text))
