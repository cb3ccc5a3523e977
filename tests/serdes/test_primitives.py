"""The bytes of single values are those of Kafka's serdes; what does not fit is refused with a reason."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import SerdeError
from millstream.serdes import Serde, Serdes

ID = UUID("0f8fad5b-d9cb-469f-a165-70867728950e")


@pytest.mark.parametrize(
    ("serde", "value", "data"),
    [
        (Serdes.string, "eu\u00e9", b"eu\xc3\xa9"),
        (Serdes.bytes, b"\x00\xff", b"\x00\xff"),
        (Serdes.long, -2, b"\xff" * 7 + b"\xfe"),
        (Serdes.integer, 258, b"\x00\x00\x01\x02"),
        (Serdes.short, -1, b"\xff\xff"),
        (Serdes.double, 1.5, b"\x3f\xf8" + bytes(6)),
        (Serdes.float, 1.5, b"\x3f\xc0\x00\x00"),
        (Serdes.boolean, True, b"\x01"),
        (Serdes.boolean, False, b"\x00"),
        (Serdes.uuid, ID, b"0f8fad5b-d9cb-469f-a165-70867728950e"),
        (Serdes.json, {"a": [1, None, "x"]}, b'{"a":[1,null,"x"]}'),
    ],
)
def test_layout(serde: Serde[Any], value: object, data: bytes) -> None:
    assert serde.serialize(value) == data
    assert serde.deserialize(data) == value
    assert type(serde.deserialize(data)) is type(value)


@given(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.text())
def test_round_trip(number: int, real: float, text: str) -> None:
    assert Serdes.long.deserialize(Serdes.long.serialize(number)) == number
    assert Serdes.double.deserialize(Serdes.double.serialize(real)) == real
    assert Serdes.string.deserialize(Serdes.string.serialize(text)) == text


@pytest.mark.parametrize(
    ("serde", "value", "told"),
    [
        (Serdes.long, 2**63, "it takes an int from -9223372036854775808 to 9223372036854775807"),
        (Serdes.long, "12", "it is of type str"),
        (Serdes.long, 1.0, "it is of type float"),
        (Serdes.integer, 2**31, "to 2147483647"),
        (Serdes.short, -40000, "from -32768"),
        (Serdes.double, "1.5", "it is of type str"),
        (Serdes.float, 1e300, "single precision"),
        (Serdes.boolean, "yes", "True or False"),
        (Serdes.boolean, [], "True or False"),
        (Serdes.uuid, str(ID), "it takes a UUID"),
        (Serdes.void, 1, "nothing but None"),
    ],
)
def test_objects_that_do_not_fit(serde: Serde[Any], value: object, told: str) -> None:
    with pytest.raises(SerdeError) as caught:
        serde.serialize(value)
    assert told in str(caught.value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize(
    ("serde", "data", "told"),
    [
        (Serdes.long, b"abc", "cannot read 3 bytes"),
        (Serdes.integer, bytes(8), "cannot read 8 bytes"),
        (Serdes.double, b"", "cannot read 0 bytes"),
        (Serdes.boolean, b"\x02", "0 or 1"),
        (Serdes.uuid, b"nobody", "stored as its text"),
        (Serdes.uuid, b"\xff", "stored as its text"),
        (Serdes.void, b"x", "cannot read bytes"),
    ],
)
def test_bytes_that_do_not_fit(serde: Serde[Any], data: bytes, told: str) -> None:
    with pytest.raises(SerdeError, match=told):
        serde.deserialize(data)


def test_plain_functions_are_explained_afterwards() -> None:
    broken: Any = 5
    with pytest.raises(TypeError) as caught:
        Serdes.string.serialize(broken)
    error = Serdes.string.serialization_error(broken, caught.value)
    assert error.primary == "the string serde cannot write a value of type int"
    assert error.__cause__ is caught.value

    with pytest.raises(UnicodeDecodeError) as undecodable:
        Serdes.string.deserialize(b"\xff")
    assert "string serde cannot read" in Serdes.string.deserialization_error(b"\xff", undecodable.value).primary

    with pytest.raises(TypeError):
        Serdes.bytes.serialize(broken)


def test_an_explanation_is_not_explained_again() -> None:
    cause = SerdeError("no schema")
    assert Serdes.string.serialization_error("x", cause) is cause
    assert Serdes.string.deserialization_error(b"x", cause) is cause


def test_long_data_is_cut_in_errors() -> None:
    with pytest.raises(SerdeError) as caught:
        Serdes.long.deserialize(b"x" * 10_000)
    assert len(str(caught.value)) < 400


def test_what_the_engine_may_assume() -> None:
    for serde in (Serdes.string, Serdes.bytes, Serdes.long, Serdes.integer, Serdes.uuid, Serdes.boolean):
        assert serde.hashable
        assert serde.immutable
    assert not Serdes.double.hashable  # 0.0 == -0.0
    assert not Serdes.json.immutable


def test_custom() -> None:
    serde = Serdes.of(lambda n: b"%x" % n, lambda data: int(data, 16), hashable=True)
    assert serde.deserialize(serde.serialize(255)) == 255
    assert serde.hashable
    assert not serde.immutable
    assert serde.for_topic("orders", True) is serde
    assert "<lambda> at test_primitives.py" in repr(serde)
