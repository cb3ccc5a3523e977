"""Which features encodings get."""

from __future__ import annotations

import pytest

from millstream.sql.errors import SqlError
from millstream.sql.formats import format_of, internal_encoding, key_encoding, key_features, value_features
from millstream.sql.schema.formats import Encoding, Feature, FormatInfo
from millstream.sql.schema.types import INTEGER, STRING, SqlArray

_WRAP, _UNWRAP = frozenset({Feature.WRAP_SINGLES}), frozenset({Feature.UNWRAP_SINGLES})


def test_formats_by_name() -> None:
    assert format_of("json_sr").name == "JSON_SR"
    with pytest.raises(SqlError, match=r"^Unknown format: FOO$"):
        format_of("foo")


@pytest.mark.parametrize(
    ("name", "expected"), [("JSON", _UNWRAP), ("AVRO", _UNWRAP), ("KAFKA", frozenset()), ("PROTOBUF", frozenset())]
)
def test_single_keys_are_bare_where_there_is_a_choice(name: str, expected: frozenset[Feature]) -> None:
    assert key_features(name, single=True) == expected
    assert key_features(name, single=False) == frozenset()


def test_values_are_wrapped_as_the_statement_or_the_settings_say() -> None:
    assert value_features("JSON", single=True) == frozenset()
    assert value_features("JSON", single=True, wrap=False) == _UNWRAP
    assert value_features("JSON", single=True, wrap=True, default_wrap=False) == _WRAP
    assert value_features("JSON", single=True, default_wrap=False) == _UNWRAP
    assert value_features("JSON", single=False, default_wrap=False) == frozenset()
    assert value_features("PROTOBUF", single=True, default_wrap=False) == frozenset()
    assert value_features("DELIMITED", single=True, wrap=False) == _UNWRAP


def test_what_cannot_be_wrapped() -> None:
    with pytest.raises(SqlError, match="Format 'PROTOBUF' does not support 'WRAP_SINGLE_VALUE' set to 'false'"):
        value_features("PROTOBUF", single=True, wrap=False)
    with pytest.raises(SqlError, match="Format 'DELIMITED' does not support 'WRAP_SINGLE_VALUE' set to 'true'"):
        value_features("DELIMITED", single=True, wrap=True)
    with pytest.raises(SqlError, match="'WRAP_SINGLE_VALUE' is only valid for single-field value schemas"):
        value_features("JSON", single=False, wrap=True)


def test_new_keys_become_json_where_the_format_cannot_hold_them() -> None:
    kafka = Encoding(FormatInfo("KAFKA"))
    json = Encoding(FormatInfo("JSON"))
    assert key_encoding(kafka, [INTEGER], may_change=True) == kafka
    assert key_encoding(kafka, [INTEGER, STRING], may_change=True) == json
    assert key_encoding(kafka, [SqlArray(INTEGER)], may_change=True) == Encoding(FormatInfo("JSON"), _UNWRAP)
    assert key_encoding(kafka, [INTEGER, STRING], may_change=False) == kafka
    assert key_encoding(Encoding(FormatInfo("JSON"), _UNWRAP), [INTEGER, STRING], may_change=True) == json
    assert key_encoding(json, [INTEGER], may_change=False) == Encoding(FormatInfo("JSON"), _UNWRAP)


def test_kept_rows_have_a_schema_of_their_own() -> None:
    chosen = Encoding(FormatInfo("AVRO", (("fullSchemaName", "a.B"), ("schemaId", "3"))))
    assert internal_encoding(chosen) == Encoding(FormatInfo("AVRO", (("fullSchemaName", "a.B"),)))


def test_settings_are_checked() -> None:
    with pytest.raises(SqlError, match=r"^JSON does not support the following configs: \[delimiter\]$"):
        format_of("JSON").check_properties(FormatInfo("JSON", (("delimiter", ","),)))
    with pytest.raises(SqlError, match=r"^fullSchemaName cannot be empty. Format configuration: {fullSchemaName= }$"):
        format_of("AVRO").check_properties(FormatInfo("AVRO", (("fullSchemaName", " "),)))
