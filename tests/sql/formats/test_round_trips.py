"""Every format gives back what it was given."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import cloudpickle
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from millstream.sql.formats import InMemoryRegistry, serde
from millstream.sql.formats.json.exact import coerce
from millstream.sql.formats.json.reader import json_reader
from millstream.sql.schema.columns import Column
from millstream.sql.schema.formats import Encoding, Feature, FormatInfo
from millstream.sql.schema.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    BaseType,
    Field,
    SqlArray,
    SqlDecimal,
    SqlMap,
    SqlStruct,
    SqlType,
)

_SCALARS: dict[BaseType, st.SearchStrategy[Any]] = {
    BaseType.BOOLEAN: st.booleans(),
    BaseType.INTEGER: st.integers(-(2**31), 2**31 - 1),
    BaseType.BIGINT: st.integers(-(2**63), 2**63 - 1),
    BaseType.DOUBLE: st.floats(allow_nan=False),
    BaseType.STRING: st.text(st.characters(exclude_categories=["Cs"])),
    BaseType.BYTES: st.binary(),
    BaseType.DATE: st.integers(-700_000, 2_000_000),
    BaseType.TIME: st.integers(0, 86_399_999),
    BaseType.TIMESTAMP: st.integers(-(2**40), 2**40),
}
_NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,5}", fullmatch=True)


def _decimals() -> st.SearchStrategy[SqlType]:
    return st.integers(1, 20).flatmap(
        lambda precision: st.integers(0, precision).map(lambda scale: SqlDecimal(precision, scale))
    )


def _fields(kinds: st.SearchStrategy[SqlType]) -> st.SearchStrategy[tuple[Field, ...]]:
    names = st.lists(_NAMES, min_size=1, max_size=4, unique_by=str.upper)
    return names.flatmap(
        lambda found: st.tuples(*(kinds.map(lambda kind, name=name: Field(name, kind)) for name in found))  # type: ignore[misc]
    )


_PLAIN = st.sampled_from([BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP]) | _decimals()
_KINDS: st.SearchStrategy[SqlType] = st.recursive(
    _PLAIN,
    lambda inner: inner.map(SqlArray) | inner.map(lambda kind: SqlMap(STRING, kind)) | _fields(inner).map(SqlStruct),
    max_leaves=4,
)


def _values(kind: SqlType) -> st.SearchStrategy[Any]:
    if isinstance(kind, SqlDecimal):
        bound = 10**kind.precision - 1
        found: st.SearchStrategy[Any] = st.integers(-bound, bound).map(lambda n: Decimal(n).scaleb(-kind.scale))
    elif isinstance(kind, SqlArray):
        found = st.lists(_values(kind.item), max_size=3)
    elif isinstance(kind, SqlMap):
        found = st.dictionaries(_SCALARS[BaseType.STRING], _values(kind.value), max_size=3)
    elif isinstance(kind, SqlStruct):
        found = st.tuples(*(_values(field.type) for field in kind.fields))
    else:
        found = _SCALARS[kind.base]
    return st.none() | found


def _rows(kinds: st.SearchStrategy[SqlType]) -> st.SearchStrategy[tuple[list[Column], Any]]:
    return _fields(kinds).flatmap(
        lambda fields: st.tuples(
            st.just([Column(field.name, field.type) for field in fields]),
            st.tuples(*(_values(field.type) for field in fields)),
        )
    )


def _round_trip(name: str, columns: list[Column], row: Any, *features: Feature) -> Any:
    encoding = Encoding(FormatInfo(name), frozenset(features))
    made = serde(encoding, columns, is_key=False, registry=InMemoryRegistry(), topic="t")
    again = cloudpickle.loads(cloudpickle.dumps(made))
    data = made.serialize(row)
    assert again.serialize(row) == data
    return (None,) if data is None else made.deserialize(data)


def test_infinite_numbers() -> None:
    columns = [Column("A", DOUBLE), Column("B", SqlArray(DOUBLE))]
    row = (float("inf"), [float("-inf"), 1.5])
    for name in ("JSON", "AVRO", "JSON_SR"):
        assert _round_trip(name, columns, row) == row


@settings(max_examples=60, deadline=None)
@given(_rows(_KINDS))
def test_formats_that_hold_everything(case: tuple[list[Column], Any]) -> None:
    columns, row = case
    for name in ("JSON", "AVRO", "JSON_SR"):
        assert _round_trip(name, columns, row) == row
        bare = _round_trip(name, columns[:1], row[:1], Feature.UNWRAP_SINGLES)
        assert bare == row[:1]


@settings(max_examples=50, deadline=None)
@given(_rows(_PLAIN))
def test_delimited_holds_plain_values(case: tuple[list[Column], Any]) -> None:
    columns, row = case
    assume(row != (None,))  # which is an empty line, and no record any more
    assert _round_trip("DELIMITED", columns, row) == tuple(None if value in ("", b"") else value for value in row)


@settings(max_examples=50, deadline=None)
@given(_rows(_PLAIN))
def test_protobuf_with_optional_fields_holds_plain_values(case: tuple[list[Column], Any]) -> None:
    columns, row = case
    for representation in ("OPTIONAL", "WRAPPER"):
        encoding = Encoding(FormatInfo("PROTOBUF_NOSR", (("nullableRepresentation", representation),)))
        made = serde(encoding, columns, is_key=False)
        assert made.deserialize(made.serialize(row)) == row


_JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.sampled_from(["12", "1.5", "true", "AAE="]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(_fields(_KINDS | _PLAIN), st.data())
def test_fast_and_careful_reading_of_json_agree(fields: tuple[Field, ...], data: st.DataObject) -> None:
    names = st.sampled_from([field.name for field in fields] + [field.name.lower() for field in fields])
    given_json = data.draw(st.dictionaries(names, _JSON_VALUES))
    text = json.dumps(given_json).encode()
    read = json_reader([Column(field.name, field.type) for field in fields], unwrapped=False)
    try:
        expected = coerce(SqlStruct(fields), json.loads(text, parse_float=Decimal))
    except ValueError as error:
        expected = str(error)
    for _ in range(2):  # a reader learns from the rows it reads
        try:
            actual: Any = read(text)
        except ValueError as error:
            actual = str(error)
        assert actual == expected
        assert repr(actual) == repr(expected)  # 1 is not 1.0, and True not 1
