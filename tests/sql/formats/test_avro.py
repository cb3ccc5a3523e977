"""AVRO."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from millstream.sql.errors import SqlError
from millstream.sql.formats import InMemoryRegistry, RegisteredSchema, SchemaReference, check, infer_columns, serde
from millstream.sql.schema.formats import Encoding, Feature, FormatInfo

_AVRO = Encoding(FormatInfo("AVRO"))


def _register(registry: InMemoryRegistry, schema: Any, subject: str = "t-value", **options: Any) -> int:
    return registry.register(subject, RegisteredSchema("AVRO", json.dumps(schema), **options))


def _written(schema: Any, schema_id: int, value: Any) -> bytes:
    stream = io.BytesIO()
    stream.write(b"\0" + schema_id.to_bytes(4, "big"))
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return stream.getvalue()


def test_the_schema_that_is_registered(make: Any, registry: InMemoryRegistry) -> None:
    serde = make("AVRO", "A INT, S STRUCT<T TIMESTAMP>, M MAP<STRING, DECIMAL(4, 2)>")
    data = serde.serialize((1, (5,), {"k": Decimal("1.50")}))
    schema = registry.latest("t-value")
    assert schema is not None
    name = "io.confluent.ksql.avro_schemas.KsqlDataSourceSchema"
    timestamp = {
        "type": "long",
        "connect.version": 1,
        "connect.name": "org.apache.kafka.connect.data.Timestamp",
        "logicalType": "timestamp-millis",
    }
    number = {
        "type": "bytes",
        "scale": 2,
        "precision": 4,
        "connect.version": 1,
        "connect.parameters": {"scale": "2", "connect.decimal.precision": "4"},
        "connect.name": "org.apache.kafka.connect.data.Decimal",
        "logicalType": "decimal",
    }
    entry = {
        "type": "record",
        "name": "KsqlDataSourceSchema_M",
        "fields": [
            {"name": "key", "type": ["null", "string"], "default": None},
            {"name": "value", "type": ["null", number], "default": None},
        ],
        "connect.internal.type": "MapEntry",
    }
    inner = {
        "type": "record",
        "name": "KsqlDataSourceSchema_S",
        "fields": [{"name": "T", "type": ["null", timestamp], "default": None}],
        "connect.name": f"{name}_S",
    }
    entries = {"type": "array", "items": entry, "connect.name": f"{name}_M"}
    assert schema.parsed == {
        "type": "record",
        "name": "KsqlDataSourceSchema",
        "namespace": "io.confluent.ksql.avro_schemas",
        "fields": [
            {"name": "A", "type": ["null", "int"], "default": None},
            {"name": "S", "type": ["null", inner], "default": None},
            {"name": "M", "type": ["null", entries], "default": None},
        ],
        "connect.name": name,
    }
    # Others can read it, as the schema says.
    read = fastavro.schemaless_reader(io.BytesIO(data[5:]), fastavro.parse_schema(schema.parsed))
    assert read["A"] == 1  # type: ignore[index, call-overload]
    assert read["M"] == [{"key": "k", "value": Decimal("1.50")}]  # type: ignore[index, call-overload]


def test_schemas_have_the_name_they_are_given(make: Any, registry: InMemoryRegistry) -> None:
    make("AVRO", "A INT", fullSchemaName="com.acme.Order").serialize((1,))
    schema = registry.latest("t-value")
    assert schema is not None
    assert (schema.parsed["namespace"], schema.parsed["name"]) == ("com.acme", "Order")


def test_a_bare_column_has_no_record(make: Any, registry: InMemoryRegistry) -> None:
    serde = make("AVRO", "K STRING KEY", unwrapped=True, is_key=True)
    assert serde.serialize(("x",)) == b"\0\0\0\0\1\2x"
    assert serde.serialize((None,)) is None
    schema = registry.latest("t-key")
    assert schema is not None
    assert schema.parsed == "string"


def test_dots_in_names_become_underscores(make: Any, registry: InMemoryRegistry) -> None:
    serde = make("AVRO", "`a.b` INT, S STRUCT<`c.d` INT>")
    assert serde.deserialize(serde.serialize((1, (2,)))) == (1, (2,))
    schema = registry.latest("t-value")
    assert schema is not None
    assert [field["name"] for field in schema.parsed["fields"]] == ["a_b", "S"]


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("M MAP<INT, INT>", "Avro only supports MAPs with STRING keys"),
        ("`1st` INT", "Schema is not compatible with Avro: Illegal initial character: 1st"),
        ("`a-b` INT", "Schema is not compatible with Avro: Illegal character in: a-b"),
        ("`a.b` INT, `a_b` INT", "Cannot create field because of field name duplication a_b"),
    ],
)
def test_what_avro_cannot_hold(columns: Any, schema: str, reason: str) -> None:
    with pytest.raises(SqlError) as failed:
        check(_AVRO, columns(schema), is_key=False)
    assert failed.value.primary.endswith(f"reason: {reason}")


_FOREIGN = {
    "type": "record",
    "name": "Foreign",
    "namespace": "a.b",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "suit", "type": {"type": "enum", "name": "Suit", "symbols": ["HEARTS", "SPADES"]}},
        {"name": "other", "type": ["null", "Suit"], "default": None},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "single", "type": "float"},
        {"name": "tags", "type": {"type": "map", "values": "long"}},
        {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "Line", "fields": []}}},
        {"name": "choice", "type": ["null", "int", "string"]},
    ],
}


def test_columns_of_a_schema(registry: InMemoryRegistry) -> None:
    schema_id = _register(registry, _FOREIGN)
    inferred = infer_columns(_AVRO, registry, topic="t", is_key=False)
    assert [str(column) for column in inferred.columns] == [
        "`ID` INTEGER",
        "`SUIT` STRING",
        "`OTHER` STRING",
        "`PRICE` DECIMAL(6, 2)",
        "`DAY` DATE",
        "`AT` TIMESTAMP",
        "`SINGLE` DOUBLE",
        "`TAGS` MAP<STRING, BIGINT>",
        "`LINES` ARRAY<STRUCT< >>",
        "`CHOICE` STRUCT<`INT` INTEGER, `STRING` STRING>",
    ]
    assert inferred.names == ("a.b.Foreign",)
    by_id = infer_columns(_AVRO, registry, topic=None, is_key=False, schema_id=schema_id)
    assert by_id.columns[0].name == "id"


def test_data_of_a_foreign_schema(registry: InMemoryRegistry) -> None:
    schema_id = _register(registry, _FOREIGN)
    values = {
        "id": 1,
        "suit": "SPADES",
        "other": "HEARTS",
        "price": Decimal("12.50"),
        "day": 3,
        "at": 1500,
        "single": 0.5,
        "tags": {"a": 1},
        "lines": [{}],
        "choice": "x",
    }
    columns = infer_columns(_AVRO, registry, topic="t", is_key=False).columns
    reader = serde(_AVRO, columns, is_key=False, registry=registry, topic="t")
    row = (1, "SPADES", "HEARTS", Decimal("12.50"), 3, 1500, 0.5, {"a": 1}, [()], (None, "x"))
    assert reader.deserialize(_written(_FOREIGN, schema_id, values)) == row


def test_columns_take_what_fits_from_other_schemas(make: Any, registry: InMemoryRegistry) -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "boolean"}, {"name": "c", "type": "float"}],
    }
    schema_id = _register(registry, schema)
    data = _written(schema, schema_id, {"a": 1, "b": True, "c": 1.1})
    assert make("AVRO", "A BIGINT, B STRING, C STRING, D INT").deserialize(data) == (1, "true", "1.1", None)
    with pytest.raises(ValueError, match="Cannot deserialize type boolean as type int32 for path: ->B"):
        make("AVRO", "B INT").deserialize(data)


def test_rows_are_written_with_the_schema_of_a_number(make: Any, registry: InMemoryRegistry) -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "extra", "type": "string", "default": "x"},
            {"name": "a", "type": "int"},
            {"name": "none", "type": ["null", "int"]},
        ],
    }
    schema_id = _register(registry, schema, subject="other")
    data = make("AVRO", "`a` INT", schemaId=schema_id).serialize((7,))
    read = fastavro.schemaless_reader(io.BytesIO(data[5:]), fastavro.parse_schema(schema))
    assert read == {"extra": "x", "a": 7, "none": None}
    with pytest.raises(ValueError, match="Schema from Schema Registry misses field with name: b"):
        make("AVRO", "`a` INT, `b` INT", schemaId=schema_id).serialize((1, 2))


def test_a_required_field_without_default_must_be_a_column(make: Any, registry: InMemoryRegistry) -> None:
    schema_id = _register(registry, {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]})
    nothing = serde(Encoding(FormatInfo("AVRO", (("schemaId", str(schema_id)),))), [], is_key=False, registry=registry)
    with pytest.raises(ValueError, match=r"Missing default value for required Avro field: \[a\]"):
        nothing.serialize(())


def test_schemas_may_refer_to_others(registry: InMemoryRegistry) -> None:
    unit = {"type": "enum", "name": "Unit", "symbols": ["KG", "G"]}
    fields = [{"name": "x", "type": "int"}, {"name": "u", "type": unit}]
    _register(registry, {"type": "record", "name": "a.Inner", "fields": fields}, "inner")
    inner = SchemaReference("a.Inner", "inner", 1)
    middle = {"type": "record", "name": "a.Middle", "fields": [{"name": "i", "type": "Inner"}]}
    _register(registry, middle, "middle", references=(inner,))
    outer = {
        "type": "record",
        "name": "b.Outer",
        "fields": [
            {"name": "m", "type": "a.Middle"},
            {"name": "i", "type": "a.Inner"},
            {"name": "u", "type": "a.Unit"},
        ],
    }
    schema_id = _register(registry, outer, references=(SchemaReference("a.Middle", "middle", 1), inner))
    columns = infer_columns(_AVRO, registry, topic="t", is_key=False).columns
    shown = "STRUCT<`X` INTEGER, `U` STRING>"
    assert [str(column) for column in columns] == [f"`M` STRUCT<`I` {shown}>", f"`I` {shown}", "`U` STRING"]
    reader = serde(_AVRO, columns, is_key=False, registry=registry)
    data = b"\0" + schema_id.to_bytes(4, "big") + bytes([10, 0, 12, 2, 0])
    assert reader.deserialize(data) == (((5, "KG"),), (6, "G"), "KG")


def test_bytes_without_a_schema_are_an_error(make: Any) -> None:
    serde = make("AVRO", "A INT")
    for data in (b"", b"\0\0\0", b"\1\0\0\0\1\2\2"):
        with pytest.raises(ValueError, match="Unknown magic byte"):
            serde.deserialize(data)
    with pytest.raises(SqlError, match="using schema id: 77"):
        serde.deserialize(b"\0\0\0\0\x4d\2")


def test_an_anonymous_schema_needs_unwrapping(registry: InMemoryRegistry) -> None:
    _register(registry, "int")
    with pytest.raises(SqlError, match="set 'WRAP_SINGLE_VALUE=false' in the WITH clause properties"):
        infer_columns(_AVRO, registry, topic="t", is_key=False)
    bare = Encoding(FormatInfo("AVRO"), frozenset({Feature.UNWRAP_SINGLES}))
    assert str(infer_columns(bare, registry, topic="t", is_key=False).columns[0]) == "`ROWVAL` INTEGER"
