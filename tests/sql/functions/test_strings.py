"""Functions of texts and bytes. A face counts as two characters, as in Java."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from millstream.sql.errors import FunctionError
from millstream.sql.schema.types import BIGINT, BOOLEAN, BYTES, DOUBLE, INTEGER, STRING, SqlType

Evaluate = Callable[..., Any]
FACE = "\U0001f600"


def typed(value: Any) -> tuple[SqlType, Any]:
    """A value with the type it looks like; None is a STRING."""
    types: dict[type, SqlType] = {int: INTEGER, bytes: BYTES, float: DOUBLE, bool: BOOLEAN}
    return types.get(type(value), STRING), value


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("ucase", ["straße"], "STRASSE"),
        ("lcase", ["ÀB"], "àb"),
        ("initcap", ["  the qUICK\tfox-trot "], "The Quick\tFox-trot "),
        ("initcap", [""], ""),
        ("trim", ["\x01 a b \t\n"], "a b"),
        ("trim", ["\u00a0a\u2003"], "\u00a0a\u2003"),
        ("len", ["a" + FACE], 3),
        ("len", [b"abc"], 3),
        ("concat", ["a", None, "b"], "ab"),
        ("concat", [b"a", b"b"], b"ab"),
        ("concat_ws", ["-", "a", None, "b"], "a-b"),
        ("concat_ws", [None, "a", "b"], None),
        ("concat_ws", [b"-", b"a", b"b"], b"a-b"),
        ("substring", ["stream", 2], "tream"),
        ("substring", ["stream", -2], "am"),
        ("substring", ["stream", 0], "stream"),
        ("substring", ["stream", 99], ""),
        ("substring", ["stream", -99, 3], "str"),
        ("substring", ["stream", 3, 99], "ream"),
        ("substring", ["stream", 3, -1], ""),
        ("substring", ["x" + FACE + "y", 4], "y"),
        ("substring", [b"stream", -3, 2], b"ea"),
        ("substring", [b"stream", 3], b"ream"),
        ("instr", ["CORPORATE FLOOR", "OR"], 2),
        ("instr", ["CORPORATE FLOOR", "OR", 3, 2], 14),
        ("instr", ["CORPORATE FLOOR", "OR", -3], 5),
        ("instr", ["CORPORATE FLOOR", "OR", -3, 2], 2),
        ("instr", ["CORPORATE FLOOR", "MISSING"], 0),
        ("instr", ["aaaa", "aa", 1, 3], 3),
        ("instr", ["abc", "c", 9], 0),
        ("instr", ["abc", "c", 1, 0], 0),
        ("instr", [None, "c"], 0),
        ("instr", [FACE + "c", "c"], 3),
        ("replace", ["banana", "an", "AN"], "bANANa"),
        ("split", ["a,,b,", ","], ["a", "", "b", ""]),
        ("split", ["", ","], [""]),
        ("split", ["abc", ""], ["a", "b", "c"]),
        ("split", ["a.b", "."], ["a", "b"]),
        ("split", [b"a-b-", b"-"], [b"a", b"b", b""]),
        ("split", [b"ab", b""], [b"a", b"b"]),
        ("split", [b"", b"-"], [b""]),
        ("split_to_map", ["a:1;b:2;;c;a:3:4", ";", ":"], {"a": "3", "b": "2"}),
        ("split_to_map", ["a:1", "", ":"], None),
        ("split_to_map", ["a:1", ":", ":"], None),
        ("elt", [2, "a", "b"], "b"),
        ("elt", [3, "a", "b"], None),
        ("elt", [0, "a"], None),
        ("field", ["b", "a", "b"], 2),
        ("field", ["x", "a", "b"], 0),
        ("field", [None, "a", None], 0),
        ("chr", [75], "K"),
        ("chr", [0x1F600], FACE),
        ("chr", [0x110000], None),
        ("chr", ["\\u004b"], "K"),
        ("chr", ["\\ud83d\\ude00"], FACE),
        ("chr", ["\\u004b\\n\\101\\q\\"], "K\nAq"),
        ("chr", ["K"], None),
        ("lpad", ["foo", 7, "ab"], "ababfoo"),
        ("lpad", ["foo", 2, "ab"], "fo"),
        ("lpad", ["foo", 5, ""], None),
        ("lpad", ["foo", -1, "x"], None),
        ("lpad", [b"foo", 5, b"x"], b"xxfoo"),
        ("rpad", ["foo", 8, "ab"], "fooababa"),
        ("rpad", ["foo", 2, "ab"], "fo"),
        ("rpad", [b"foo", 5, b"xy"], b"fooxy"),
        ("rpad", [b"foo", 2, b""], None),
        ("mask", ["My Name 42 Übung"], "Xx-Xxxx-nn-Xxxxx"),
        ("mask", ["aB1 ", "U", None, "9", "_"], "aU9_"),
        ("mask_left", ["Secret", 3], "Xxxret"),
        ("mask_right", ["Secret", 3], "Secxxx"),
        ("mask_right", ["Secret", 99], "Xxxxxx"),
        ("mask_keep_left", ["Secret", 1], "Sxxxxx"),
        ("mask_keep_right", ["Secret", 1, "#", "*", None, None], "#****t"),
        ("mask_left", [None, 3, "a", "b", "c", "d"], None),
    ],
)
def test_functions_of_texts(evaluate: Evaluate, name: str, arguments: list[Any], expected: Any) -> None:
    assert evaluate(name, *map(typed, arguments)) == expected


@pytest.mark.parametrize("name", ["ucase", "lcase", "initcap", "trim", "len", "mask", "md5", "chr"])
def test_null_gives_null(evaluate: Evaluate, name: str) -> None:
    assert evaluate(name, (STRING, None)) is None


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("concat_ws", ["-"], "expects at least two"),
        ("mask", ["a", "XX", None, None, None], "Must be only single character, but was 'XX'"),
        ("mask_left", ["a", -1], "function mask_left requires a non-negative number"),
        ("chr", ["\\u00zz"], "Less than 4 hex digits"),
        ("encode", ["41", "hex", "hex"], "Supported input and output encodings"),
        ("encode", ["4", "hex", "ascii"], "No hexadecimal digits"),
        ("to_bytes", ["a", "utf7"], "Unknown encoding type 'utf7'"),
        ("from_bytes", [b"a", "utf7"], "Unknown encoding type 'utf7'"),
        ("to_bytes", ["0x41", "hex"], "No hexadecimal digits"),
        ("to_bytes", ["a b=", "base64"], "Illegal base64"),
        ("int_from_bytes", [b"abc"], "Number of bytes must be equal to 4, but found 3"),
        ("int_from_bytes", [b"abcd", "MIDDLE"], "Unknown byte order 'MIDDLE'"),
    ],
)
def test_errors(evaluate: Evaluate, name: str, arguments: list[Any], message: str) -> None:
    with pytest.raises(FunctionError, match=re.escape(message)):
        evaluate(name, *map(typed, arguments))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["4869", "hex", "ascii"], "Hi"),
        (["0x4869", "hex", "utf8"], "Hi"),
        (["0xf", "hex", "base64"], "Dw=="),
        (["x'4869'", "HEX", "base64"], "SGk="),
        (["X''", "hex", "utf8"], ""),
        (["hé", "utf8", "hex"], "68c3a9"),
        (["hé", "utf8", "ascii"], "h\ufffd\ufffd"),
        (["hé", "ascii", "hex"], "683f"),
        (["hi", "ascii", "utf8"], "hi"),
        (["S-G k", "base64", "hex"], "4be1a4"),
        (["SGk=rest", "base64", "utf8"], "Hi"),
        (["_-8", "base64", "hex"], "ffef"),
    ],
)
def test_encode(evaluate: Evaluate, arguments: list[str], expected: str) -> None:
    assert evaluate("encode", *map(typed, arguments)) == expected


@pytest.mark.parametrize(("encoding", "text"), [("hex", "00FF41"), ("base64", "AP9B"), ("BASE64", "AP9B")])
def test_bytes_as_texts_and_back(evaluate: Evaluate, encoding: str, text: str) -> None:
    assert evaluate("from_bytes", (BYTES, b"\x00\xffA"), (STRING, encoding)) == text
    assert (
        evaluate("to_bytes", (STRING, text.lower() if encoding == "hex" else text), (STRING, encoding)) == b"\x00\xffA"
    )


def test_bytes_of_texts(evaluate: Evaluate) -> None:
    assert evaluate("to_bytes", (STRING, "é"), (STRING, "utf8")) == b"\xc3\xa9"
    assert evaluate("to_bytes", (STRING, "é"), (STRING, "ascii")) == b"?"
    assert evaluate("to_bytes", (STRING, "SGk"), (STRING, "base64")) == b"Hi"
    assert evaluate("from_bytes", (BYTES, b"\xff"), (STRING, "ascii")) == "\ufffd"


def test_digests_and_identifiers(evaluate: Evaluate) -> None:
    assert evaluate("md5", (STRING, "é")) == hashlib.md5("é".encode(), usedforsecurity=False).hexdigest()
    assert uuid.UUID(evaluate("uuid")).version == 4
    assert evaluate("uuid", (BYTES, bytes(range(16)))) == "00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert evaluate("uuid", (BYTES, b"short")) is None


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("int_from_bytes", "fffffffe", -2),
        ("bigint_from_bytes", "0000000100000000", 2**32),
        ("double_from_bytes", "3ff8000000000000", 1.5),
    ],
)
def test_numbers_from_bytes(evaluate: Evaluate, name: str, value: str, expected: float) -> None:
    big = bytes.fromhex(value)
    assert evaluate(name, (BYTES, big)) == expected
    assert evaluate(name, (BYTES, big), (STRING, "big_endian")) == expected
    assert evaluate(name, (BYTES, big[::-1]), (STRING, "LITTLE_ENDIAN")) == expected


def test_whole_numbers_are_not_taken_for_others(evaluate: Evaluate) -> None:
    assert evaluate("json_array_contains", (STRING, "[1, 2]"), (BIGINT, 2)) is True
