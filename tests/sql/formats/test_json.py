"""JSON."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from millstream.sql.errors import SqlError
from millstream.sql.formats import check
from millstream.sql.schema.formats import Encoding, FormatInfo


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("BOOLEAN", "true", True),
        ("INT", "12", 12),
        ("INT", '"-12"', -12),
        ("INT", "12.9", 12),
        ("INT", "-12.9", -12),
        ("INT", "2147483648", -2147483648),
        ("BIGINT", "9223372036854775807", 9223372036854775807),
        ("BIGINT", "9223372036854775808", -9223372036854775808),
        ("BIGINT", "1234567890123456789.9", 1234567890123456789),
        ("BIGINT", '"1"', 1),
        ("DOUBLE", "1", 1.0),
        ("DOUBLE", "1.25", 1.25),
        ("DOUBLE", '"1e3"', 1000.0),
        ("DOUBLE", '"NaN"', pytest.approx(float("nan"), nan_ok=True)),
        ("STRING", '"x"', "x"),
        ("STRING", "12", "12"),
        ("STRING", "1.50", "1.50"),
        ("STRING", "true", "true"),
        ("STRING", '{"b": [1.50, null], "a": "é"}', '{"b":[1.50,null],"a":"é"}'),
        ("STRING", '[1, "a", null]', "[1, a, null]"),
        ("BYTES", '"AAH/"', b"\0\1\xff"),
        ("DATE", "-10", -10),
        ("TIME", "86400000", 86_400_000),
        ("TIMESTAMP", '"1500"', 1500),
        ("DECIMAL(4, 2)", "1.5", Decimal("1.50")),
        ("DECIMAL(4, 2)", "12", Decimal("12.00")),
        ("DECIMAL(4, 2)", '"12.1"', Decimal("12.10")),
        ("DECIMAL(4, 2)", "-0.0", Decimal("0.00")),
        ("DECIMAL(30, 20)", "1234567890.12345678901234567890", Decimal("1234567890.12345678901234567890")),
        ("ARRAY<DOUBLE>", "[1, null, 2.5]", [1.0, None, 2.5]),
        ("ARRAY<INT>", '[1, "2"]', [1, 2]),
        ("MAP<STRING, BIGINT>", '{"a": 1, "b": null}', {"a": 1, "b": None}),
        ("STRUCT<A INT, B STRUCT<C STRING>>", '{"b": {"C": "x"}, "A": 1}', (1, ("x",))),
        ("ARRAY<STRUCT<D DECIMAL(3, 1)>>", '[{"D": 1}, null, {}]', [(Decimal("1.0"),), None, (None,)]),
        ("MAP<STRING, ARRAY<STRING>>", '{"a": ["x", 1]}', {"a": ["x", "1"]}),
    ],
)
def test_what_is_read(make: Any, kind: str, text: str, value: object) -> None:
    wrapped = make("JSON", f"V {kind}")
    assert wrapped.deserialize(f'{{"V": {text}}}'.encode()) == (value,)
    assert wrapped.deserialize(f'{{"v": {text}, "other": 1}}'.encode()) == (value,)
    assert make("JSON", f"V {kind}", unwrapped=True).deserialize(text.encode()) == (value,)


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("BOOLEAN", "1", "Can't convert type. sourceType: IntNode, requiredType: BOOLEAN"),
        ("INT", "true", "Can't convert type. sourceType: BooleanNode, requiredType: INTEGER"),
        ("INT", '" 1"', "Can't coerce string to type. targetType: INTEGER"),
        ("BIGINT", "[]", "Can't convert type. sourceType: ArrayNode, requiredType: BIGINT"),
        ("DOUBLE", '"x"', "Can't coerce string to type. targetType: DOUBLE"),
        ("BYTES", '"?"', "Value is not a valid Base64 encoded string: ?"),
        ("TIME", "-1", "Time values must use number of milliseconds greater than 0 and less than 86400000."),
        ("DECIMAL(3, 1)", "1.25", "Cannot fit decimal '1.25' into DECIMAL(3, 1) without rounding. (Requires 3,2)"),
        (
            "DECIMAL(3, 1)",
            "100",
            "Numeric field overflow: A field with precision 3 and scale 1 must round to an absolute value "
            "less than 10^2. Got 100",
        ),
        ("DECIMAL(3, 1)", "true", "Can't convert type. sourceType: BooleanNode, requiredType: DECIMAL(3, 1)"),
        ("ARRAY<INT>", "{}", "Can't convert type. sourceType: ObjectNode, requiredType: ARRAY<INTEGER>"),
        ("MAP<STRING, INT>", '"x"', "Can't convert type. sourceType: TextNode, requiredType: MAP<STRING, INTEGER>"),
        ("STRUCT<A INT>", "12345678901", "Can't convert type. sourceType: LongNode, requiredType: STRUCT<`A` INTEGER>"),
    ],
)
def test_what_cannot_be_read(make: Any, kind: str, text: str, reason: str) -> None:
    with pytest.raises(ValueError, match="path") as failed:
        make("JSON", f"A INT, V {kind}").deserialize(f'{{"A": 1, "V": {text}}}'.encode())
    assert str(failed.value) == f"{reason}, path: $.V"


def test_paths_lead_to_the_place(make: Any) -> None:
    serde = make("JSON", "V ARRAY<STRUCT<M MAP<STRING, INT>>>")
    with pytest.raises(ValueError, match=r"path: \$\.V\[1\]\.M\.k\.value$"):
        serde.deserialize(b'{"V": [{}, {"M": {"k": true}}]}')


@pytest.mark.parametrize("text", [b"", b"nope", b"[1]", b'"x"', b"null", b'{"V": NaN}', b'{"V": 1', b"\xff"])
def test_what_is_no_record(make: Any, text: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        make("JSON", "V INT").deserialize(text)


def test_errors_name_the_topic_and_the_reason(make: Any) -> None:
    serde = make("JSON", "V INT")
    with pytest.raises(ValueError, match="path") as failed:
        serde.deserialize(b'{"V": true}')
    assert serde.deserialization_error(b"", failed.value).primary == (
        "Failed to deserialize value from topic: t. "
        "Can't convert type. sourceType: BooleanNode, requiredType: INTEGER, path: $.V"
    )
    assert (
        serde.for_topic("u", True)
        .deserialization_error(b"", failed.value)
        .primary.startswith("Failed to deserialize key from topic: u. ")
    )
    assert serde.serialization_error((), ValueError("no")).primary == "Error serializing message to topic: t. no"


def test_what_follows_the_record_is_not_read(make: Any) -> None:
    assert make("JSON", "V INT").deserialize(b' {"V": 1} {"V": 2}') == (1,)


def test_a_bare_null(make: Any) -> None:
    serde = make("JSON", "V INT", unwrapped=True)
    assert serde.deserialize(b"null") == (None,)
    assert serde.serialize((None,)) is None


def test_own_names_come_before_names_in_other_cases(make: Any) -> None:
    serde = make("JSON", "ID INT, `name` STRING")
    assert serde.deserialize(b'{"ID": 1, "name": "a"}') == (1, "a")
    assert serde.deserialize(b'{"id": 2, "name": "b"}') == (2, "b")
    assert serde.deserialize(b'{"id": 3, "ID": 4, "NAME": "c"}') == (4, None)
    assert serde.deserialize(b'{"Id": 5, "iD": 6}') == (6, None)
    assert serde.deserialize(b'{"ID": 7, "name": "d"}') == (7, "d")


def test_what_is_written(make: Any) -> None:
    schema = "I INT, `s` STRING, D DOUBLE, N DECIMAL(4, 2), B BYTES, A ARRAY<DOUBLE>, M MAP<STRING, STRUCT<X INT>>"
    row = (1, "é", 1.5, Decimal("-0.50"), b"\0\1", [1.5, None], {"k": (1,), "l": None})
    written = make("JSON", schema).serialize(row)
    assert written == (
        '{"I":1,"s":"é","D":1.5,"N":-0.50,"B":"AAE=","A":[1.5,null],"M":{"k":{"X":1},"l":null}}'.encode()
    )
    nothing = make("JSON", schema).serialize((None,) * 7)
    assert json.loads(nothing) == dict.fromkeys(["I", "s", "D", "N", "B", "A", "M"])


def test_numbers_that_json_does_not_have_are_text(make: Any) -> None:
    serde = make("JSON", "D DOUBLE, A ARRAY<DOUBLE>")
    assert serde.serialize((float("nan"), [float("-inf")])) == b'{"D":"NaN","A":["-Infinity"]}'
    assert serde.deserialize(b'{"D":"Infinity","A":["-Infinity"]}') == (float("inf"), [float("-inf")])


def test_null_keys_of_maps_are_text(make: Any) -> None:
    assert make("JSON", "M MAP<STRING, INT>").serialize(({None: 1},)) == b'{"M":{"null":1}}'
    assert make("JSON", "M MAP<STRING, BYTES>").serialize(({None: b""},)) == b'{"M":{"null":""}}'


def test_maps_have_text_keys(columns: Any) -> None:
    with pytest.raises(SqlError, match="JSON only supports MAP types with STRING keys"):
        check(Encoding(FormatInfo("JSON")), columns("V ARRAY<MAP<INT, INT>>"), is_key=False)


def test_keys_have_no_maps(columns: Any) -> None:
    with pytest.raises(SqlError) as failed:
        check(Encoding(FormatInfo("JSON")), columns("K STRUCT<F MAP<STRING, INT>> KEY"), is_key=True)
    assert "Key column name: `K`. Column type: STRUCT<`F` MAP<STRING, INTEGER>>." in failed.value.primary
