"""Functions of URLs."""

from __future__ import annotations

import re
from urllib.parse import quote_plus, unquote_plus

from millstream.sql.errors import FunctionError
from millstream.sql.functions.declare import Declarations
from millstream.sql.functions.java.uri import Uri, UriError, parse_uri

FUNCTIONS = Declarations("URL")

_MALFORMED_ESCAPE = re.compile("%(?![0-9a-fA-F]{2})")


def _parsed(url: str) -> Uri:
    try:
        return parse_uri(url)
    except UriError as error:
        raise FunctionError(f"URL input has invalid syntax: {url}", detail=str(error)) from None


@FUNCTIONS.scalar("url_encode_param", "(STRING input) -> STRING")
def encode_parameter(text: str) -> str:
    """The text as a parameter of a URL."""
    return quote_plus(text, safe="*").replace("~", "%7E")


@FUNCTIONS.scalar("url_decode_param", "(STRING input) -> STRING")
def decode_parameter(text: str) -> str:
    """The text that a parameter of a URL stands for."""
    if _MALFORMED_ESCAPE.search(text):
        raise FunctionError("URLDecoder: Illegal hex characters in escape (%) pattern")
    return unquote_plus(text, errors="replace")


@FUNCTIONS.scalar("url_extract_protocol", "(STRING input) -> STRING")
def extract_protocol(url: str) -> str | None:
    """The protocol of a URL."""
    return _parsed(url).scheme


@FUNCTIONS.scalar("url_extract_host", "(STRING input) -> STRING")
def extract_host(url: str) -> str | None:
    """The host of a URL."""
    return _parsed(url).host


@FUNCTIONS.scalar("url_extract_port", "(STRING input) -> INTEGER")
def extract_port(url: str) -> int | None:
    """The port of a URL."""
    return _parsed(url).port


@FUNCTIONS.scalar("url_extract_path", "(STRING input) -> STRING")
def extract_path(url: str) -> str | None:
    """The path of a URL."""
    return _parsed(url).path


@FUNCTIONS.scalar("url_extract_query", "(STRING input) -> STRING")
def extract_query(url: str) -> str | None:
    """The query of a URL."""
    return _parsed(url).query


@FUNCTIONS.scalar("url_extract_fragment", "(STRING input) -> STRING")
def extract_fragment(url: str) -> str | None:
    """The fragment of a URL."""
    return _parsed(url).fragment


@FUNCTIONS.scalar("url_extract_parameter", "(STRING input, STRING paramToFind) -> STRING")
def extract_parameter(url: str, name: str) -> str | None:
    """A parameter in the query of a URL."""
    query = _parsed(url).query
    if query is None:
        return None
    for parameter in query.split("&"):
        key, _, value = parameter.partition("=")
        if key == name:
            return value
    return None
