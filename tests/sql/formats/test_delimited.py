"""DELIMITED."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from millstream.sql.errors import SqlError
from millstream.sql.formats import check, parse_delimiter
from millstream.sql.schema.formats import Encoding, FormatInfo

_ALL = "I INT, L BIGINT, D DOUBLE, B BOOLEAN, S STRING, N DECIMAL(4, 2), Y BYTES, DA DATE, TI TIME, TS TIMESTAMP"
_ROW = (1, -2, 1e10, True, "x", Decimal("1.50"), b"\0\1", -3, 4, 5)


def test_a_line_of_all_types(make: Any) -> None:
    serde = make("DELIMITED", _ALL)
    line = b"1,-2,1.0E10,true,x,1.50,AAE=,-3,4,5"
    assert serde.serialize(_ROW) == line
    assert serde.deserialize(line) == _ROW


def test_empty_fields_are_null(make: Any) -> None:
    serde = make("DELIMITED", "A INT, B STRING, C STRING")
    assert serde.deserialize(b",,x") == (None, None, "x")
    assert serde.deserialize(b',"",x') == (None, None, "x")
    assert serde.serialize((None, None, "x")) == b",,x"
    assert serde.serialize((None, "", None)) == b",,"


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ("a b", "a b"),
        ("a,b", '"a,b"'),
        ('say "x"', '"say ""x"""'),
        ("two\nlines", '"two\nlines"'),
        (" x", '" x"'),
        ("x ", '"x "'),
        ("#x", '"#x"'),
        ("-x", "-x"),
        ("é", "é"),
    ],
)
def test_only_what_would_be_misread_is_quoted(make: Any, value: str, field: str) -> None:
    serde = make("DELIMITED", "A INT, B STRING")
    assert serde.serialize((1, value)) == f"1,{field}".encode()
    assert serde.deserialize(f"1,{field}".encode()) == (1, value)


@pytest.mark.parametrize(("value", "line"), [("-x", '"-x"'), ("é", '"é"'), ("", '""'), ("x", "x"), ("_", '"_"')])
def test_the_first_field_is_quoted_more_often(make: Any, value: str, line: str) -> None:
    assert make("DELIMITED", "A STRING").serialize((value,)) == line.encode()


def test_a_negative_number_in_front_is_quoted_too(make: Any) -> None:
    serde = make("DELIMITED", "A INT, B INT")
    assert serde.serialize((-1, -1)) == b'"-1",-1'
    assert serde.deserialize(b'"-1",-1') == (-1, -1)


@pytest.mark.parametrize(("name", "character"), [("TAB", "\t"), ("SPACE", " "), (";", ";"), ("$", "$")])
def test_delimiters(make: Any, name: str, character: str) -> None:
    serde = make("DELIMITED", "A INT, B STRING", delimiter=name)
    line = f'1{character}"a{character}b"'.encode()
    assert serde.serialize((1, f"a{character}b")) == line
    assert serde.deserialize(line) == (1, f"a{character}b")


def test_only_single_characters_are_delimiters() -> None:
    with pytest.raises(SqlError, match=r"Invalid delimiter value: '<>'\. Delimiter must be a single character"):
        parse_delimiter("<>")
    with pytest.raises(SqlError, match="Delimiter cannot be empty"):
        parse_delimiter(" ")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"1", "Column count mismatch on deserialization. topic: t, expected: 2, got: 1"),
        (b"1,2,3", "Column count mismatch on deserialization. topic: t, expected: 2, got: 3"),
        (b"", "No fields in record"),
        (b"\r\n\n", "No fields in record"),
        (b"x,y", 'For input string: "x"'),
        (b" 1,y", 'For input string: " 1"'),
        (b'1,"y', "EOF reached before encapsulated token finished"),
        (b'1,"y"z', "invalid char between encapsulated token and delimiter"),
    ],
)
def test_what_cannot_be_read(make: Any, line: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=r".+") as failed:
        make("DELIMITED", "A INT, B STRING").deserialize(line)
    assert reason in str(failed.value)


def test_blank_lines_and_further_lines(make: Any) -> None:
    serde = make("DELIMITED", "A INT, B STRING")
    assert serde.deserialize(b'\n1,"a" \r\n2,b') == (1, "a")
    assert serde.deserialize(b'1,a"b') == (1, 'a"b')


def test_nested_types_are_refused(columns: Any) -> None:
    with pytest.raises(SqlError, match="The 'DELIMITED' format does not support type 'MAP', column: `M`"):
        check(Encoding(FormatInfo("DELIMITED")), columns("M MAP<STRING, INT>"), is_key=False)


def test_keys_of_text_are_not_hashable_as_null_and_empty_text_look_alike(make: Any) -> None:
    assert make("DELIMITED", "A INT, B DECIMAL(3, 1)").hashable
    assert not make("DELIMITED", "A INT, B STRING").hashable
    assert not make("DELIMITED", "A DOUBLE").hashable
