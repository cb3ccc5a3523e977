"""KAFKA and NONE."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.sql.errors import SqlError
from millstream.sql.formats import check, serde
from millstream.sql.schema.formats import Encoding, FormatInfo


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        ("INT", -2, b"\xff\xff\xff\xfe"),
        ("BIGINT", 1, b"\0\0\0\0\0\0\0\1"),
        ("DOUBLE", 1.5, b"\x3f\xf8\0\0\0\0\0\0"),
        ("STRING", "ü", "ü".encode()),
        ("BYTES", b"\0\1", b"\0\1"),
    ],
)
def test_values_are_those_of_kafkas_serialisers(make: Any, kind: str, value: object, data: bytes) -> None:
    keys = make("KAFKA", f"K {kind} KEY", is_key=True)
    assert keys.serialize((value,)) == data
    assert keys.deserialize(data) == (value,)


def test_null_has_no_bytes(make: Any) -> None:
    assert make("KAFKA", "V INT").serialize((None,)) is None


def test_bytes_of_another_size_are_an_error(make: Any) -> None:
    values = make("KAFKA", "V INT")
    with pytest.raises(ValueError, match="4 bytes, not 3") as failed:
        values.deserialize(b"abc")
    error = values.deserialization_error(b"abc", failed.value)
    assert error.primary == "Error deserializing KAFKA message from topic: t"
    assert error.detail == "a value of type INTEGER has 4 bytes, not 3"


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("A INT, B STRING", "The 'KAFKA' format only supports a single field. Got: [`A` INTEGER, `B` STRING]"),
        ("A BOOLEAN", "The 'KAFKA' format does not support type 'BOOLEAN'"),
        ("A DECIMAL(4, 2)", "The 'KAFKA' format does not support type 'DECIMAL'"),
        ("A ARRAY<INT>", "The 'KAFKA' format does not support type 'ARRAY'"),
    ],
)
def test_what_it_cannot_hold(columns: Any, schema: str, reason: str) -> None:
    with pytest.raises(SqlError) as failed:
        check(Encoding(FormatInfo("KAFKA")), columns(schema), is_key=False)
    shown = ", ".join(map(str, columns(schema)))
    assert failed.value.primary == (
        f"Value format does not support schema.\nformat: KAFKA\n"
        f"schema: Persistence{{columns=[{shown}], features=[]}}\nreason: {reason}"
    )


@pytest.mark.parametrize("name", ["NONE", "KAFKA"])
def test_without_columns_nothing_is_written(name: str) -> None:
    empty = serde(Encoding(FormatInfo(name)), [], is_key=True)
    assert empty.serialize(()) is None
    assert empty.deserialize(b"what was there") == ()


def test_none_takes_no_columns(columns: Any) -> None:
    with pytest.raises(SqlError, match="can only be used when no columns are defined"):
        check(Encoding(FormatInfo("NONE")), columns("K INT KEY"), is_key=True)
