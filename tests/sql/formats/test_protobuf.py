"""PROTOBUF and PROTOBUF_NOSR."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from google.protobuf.message_factory import GetMessageClass

from millstream.registry.protobuf.indexes import index_of
from millstream.registry.protobuf.pool import load
from millstream.sql.errors import SqlError
from millstream.sql.formats import InMemoryRegistry, RegisteredSchema, SchemaReference, check, infer_columns, serde
from millstream.sql.schema.formats import Encoding, FormatInfo

_PROTOBUF = Encoding(FormatInfo("PROTOBUF"))
_ALL = (
    "I INT, L BIGINT, D DOUBLE, B BOOLEAN, S STRING, Y BYTES, N DECIMAL(4, 2), DA DATE, TI TIME, TS TIMESTAMP, "
    "A ARRAY<INT>, M MAP<STRING, INT>, T STRUCT<X INT, Y ARRAY<STRUCT<Z STRING>>>"
)
_ROW = (
    1, -2, 1.5, True, "x", b"\0", Decimal("-1.50"), -3, 86_399_999, -1500, [1, 2], {"k": 1}, (4, [("z",), ("w",)])
)  # fmt: skip


def _register(registry: InMemoryRegistry, text: str, subject: str = "t-value", **options: Any) -> int:
    return registry.register(subject, RegisteredSchema("PROTOBUF", text, **options))


@pytest.mark.parametrize("name", ["PROTOBUF", "PROTOBUF_NOSR"])
@pytest.mark.parametrize("nullable", [None, "OPTIONAL", "WRAPPER"])
def test_rows_of_all_types(make: Any, name: str, nullable: str | None) -> None:
    serde = make(name, _ALL, **({"nullableRepresentation": nullable} if nullable else {}))
    assert serde.deserialize(serde.serialize(_ROW)) == _ROW


def test_nulls_become_defaults(make: Any) -> None:
    serde = make("PROTOBUF_NOSR", _ALL)
    assert serde.serialize((None,) * 13) == b""
    assert serde.deserialize(b"") == (0, 0, 0.0, False, "", b"", None, None, None, None, [], {}, None)
    assert not serde.hashable


@pytest.mark.parametrize("nullable", ["OPTIONAL", "wrapper"])
def test_nulls_remain_where_the_schema_tells_them_from_defaults(make: Any, nullable: str) -> None:
    serde = make("PROTOBUF_NOSR", "I INT, L BIGINT, S STRING, B BOOLEAN", nullableRepresentation=nullable)
    for row in ((None, 0, "", None), (0, None, None, False)):
        assert serde.deserialize(serde.serialize(row)) == row
    assert serde.hashable


def test_repeated_fields_have_no_null(make: Any) -> None:
    with pytest.raises(ValueError, match="no null in repeated fields"):
        make("PROTOBUF_NOSR", "A ARRAY<INT>").serialize(([1, None],))


def test_the_schema_that_is_registered(make: Any, registry: InMemoryRegistry) -> None:
    serde = make("PROTOBUF", "I INT, S STRUCT<X STRING>, M MAP<STRING, BIGINT>, A ARRAY<DATE>")
    assert serde.serialize((1, ("x",), {}, []))[:6] == b"\0\0\0\0\1\0"
    schema = registry.latest("t-value")
    assert schema is not None
    assert schema.text == (
        'syntax = "proto3";\n\n'
        'import "google/type/date.proto";\n\n'
        "message ConnectDefault1 {\n"
        "  int32 I = 1;\n"
        "  ConnectDefault2 S = 2;\n"
        "  repeated ConnectDefault3Entry M = 3;\n"
        "  repeated google.type.Date A = 4;\n\n"
        "  message ConnectDefault2 {\n"
        "    string X = 1;\n"
        "  }\n\n"
        "  message ConnectDefault3Entry {\n"
        "    string key = 1;\n"
        "    int64 value = 2;\n"
        "  }\n"
        "}\n"
    )


def test_messages_have_the_name_they_are_given(make: Any, registry: InMemoryRegistry) -> None:
    make("PROTOBUF", "A INT, S STRUCT<X INT>", fullSchemaName="com.acme.Order").serialize((1, None))
    schema = registry.latest("t-value")
    assert schema is not None
    assert schema.text.startswith(
        'syntax = "proto3";\n\npackage com.acme;\n\nmessage Order {\n  int32 A = 1;\n  ConnectDefault1 S = 2;'
    )


def test_decimals_keep_their_type_in_the_registry(make: Any, registry: InMemoryRegistry) -> None:
    make("PROTOBUF", "N DECIMAL(7, 3)").serialize((Decimal("1.500"),))
    assert str(infer_columns(_PROTOBUF, registry, topic="t", is_key=False).columns[0]) == "`N` DECIMAL(7, 3)"


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("M MAP<INT, INT>", "PROTOBUF format only supports MAP types with STRING keys"),
        ("A ARRAY<ARRAY<INT>>", "Array cannot be nested"),
        ("`a.b` INT", '"a.b" is not a valid identifier.'),
    ],
)
def test_what_protobuf_cannot_hold(columns: Any, schema: str, reason: str) -> None:
    with pytest.raises(SqlError, match=reason):
        check(_PROTOBUF, columns(schema), is_key=False)


_FOREIGN = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";

// Orders, /* with all
// sorts of comments */
message Other { string a = 1; }
message Order {
  enum Suit { option allow_alias = true; SPADES = 0; HEARTS = 1; HARTS = 1; LOW = -1; }
  message Line { optional int32 count = 1; sint64 message = 2; }
  uint32 id = 1;
  Suit suit = 2 [deprecated = true];
  repeated Line lines = 3;
  map<string, Line> by_name = 4;
  oneof choice { string text = 5; Line line = 6; }
  google.protobuf.Timestamp at = 7;
  google.protobuf.StringValue note = 8;
  float single = 9;
  reserved 10 to 12, 20;
  reserved "old", 'older';
}
service Shop { rpc Buy (Order) returns (stream Other) { option (http) = { post: "/x" body: "*" }; } }
"""


def test_columns_and_data_of_a_foreign_schema(registry: InMemoryRegistry) -> None:
    schema_id = _register(registry, _FOREIGN)
    encoding = Encoding(FormatInfo("PROTOBUF", (("fullSchemaName", "shop.Order"),)))
    inferred = infer_columns(encoding, registry, topic="t", is_key=False)
    line = "STRUCT<`COUNT` INTEGER, `MESSAGE` BIGINT>"
    assert [str(column) for column in inferred.columns] == [
        f"`CHOICE_0` STRUCT<`TEXT` STRING, `LINE` {line}>",
        "`ID` BIGINT",
        "`SUIT` STRING",
        f"`LINES` ARRAY<{line}>",
        f"`BY_NAME` MAP<STRING, {line}>",
        "`AT` TIMESTAMP",
        "`NOTE` STRUCT<`VALUE` STRING>",
        "`SINGLE` DOUBLE",
    ]
    assert inferred.names == ("shop.Other", "shop.Order")
    messages = load(_FOREIGN)
    order = messages.find("shop.Order")
    message = GetMessageClass(order)(
        id=2**32 - 1,
        suit=1,
        lines=[{"count": 0, "message": -5}, {}],
        by_name={"k": {}},
        line={"count": 1},
        at={"seconds": 1, "nanos": 5_000_000},
        note={"value": "n"},
        single=0.5,
    )
    data = b"\0" + schema_id.to_bytes(4, "big") + index_of(order) + message.SerializeToString()
    assert data[5:7] == b"\2\2"  # one index, which is 1
    reader = serde(encoding, inferred.columns, is_key=False, registry=registry)
    assert reader.deserialize(data) == (
        (None, (1, 0)),
        2**32 - 1,
        "HEARTS",
        [(0, -5), (None, 0)],
        {"k": (None, 0)},
        1005,
        ("n",),
        0.5,
    )


def test_messages_inside_of_others_are_found_by_their_places() -> None:
    messages = load(_FOREIGN)
    assert index_of(messages.find("shop.Other")) == b"\0"
    assert index_of(messages.find("shop.Order.Line")) == b"\4\2\0"


def test_rows_are_written_with_the_schema_of_a_number(make: Any, registry: InMemoryRegistry) -> None:
    text = 'syntax = "proto3"; message A { int32 x = 1; } message B { string more = 1; uint32 a = 7; }'
    schema_id = _register(registry, text, "other")
    serde = make("PROTOBUF", "`a` BIGINT", schemaId=schema_id, fullSchemaName="B")
    assert serde.serialize((5,)) == b"\0\0\0\0\1\2\2\x38\5"
    with pytest.raises(ValueError, match="Schema from Schema Registry misses field with name: c"):
        make("PROTOBUF", "`c` INT", schemaId=schema_id, fullSchemaName="B").serialize((1,))


def test_schemas_may_import_others(registry: InMemoryRegistry) -> None:
    _register(registry, 'syntax = "proto3"; message Event { int64 at = 1; }', "event.proto")
    text = 'syntax = "proto3"; import "event.proto"; message Outer { Event e = 1; }'
    _register(registry, text, references=(SchemaReference("event.proto", "event.proto", 1),))
    columns = infer_columns(_PROTOBUF, registry, topic="t", is_key=False).columns
    assert str(columns[0]) == "`E` STRUCT<`AT` BIGINT>"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("message {", "Could not parse Protobuf"),
        ('syntax = "proto3"; message A { Unknown x = 1; }', "Invalid Protobuf schema"),
        ('syntax = "proto3"; import "missing.proto"; message A { int32 x = 1; }', "Could not find import missing"),
        ('syntax = "proto3"; message A { A a = 1; }', "Recursive messages are not supported: A"),
        ('syntax = "proto3";', "contains no type definitions"),
    ],
)
def test_schemas_that_are_none(registry: InMemoryRegistry, text: str, reason: str) -> None:
    _register(registry, text)
    with pytest.raises(SqlError, match="Unable to verify if the value schema for topic: t is compatible") as failed:
        infer_columns(_PROTOBUF, registry, topic="t", is_key=False)
    assert reason in failed.value.primary


def test_proto2_has_defaults_and_labels() -> None:
    fields = "required int32 x = 1 [default = 5]; optional string y = 2; repeated bool z = 3;"
    messages = load(f'syntax = "proto2"; message A {{ {fields} }}')
    assert [field.name for field in messages.find("A").fields] == ["x", "y", "z"]
    assert messages.find("A").fields[0].default_value == 5
