"""How rows are encoded: the formats, their serdes, and the schemas that a registry keeps of them."""

from millstream.registry.memory import InMemoryRegistry
from millstream.registry.schemas import RegisteredSchema, SchemaReference, SchemaRegistry
from millstream.sql.formats.catalogue import FORMATS, format_of
from millstream.sql.formats.delimited import parse_delimiter
from millstream.sql.formats.features import internal_encoding, key_encoding, key_features, value_features
from millstream.sql.formats.format import Format, RegistryFormat, Row
from millstream.sql.formats.row_serde import RowSerde, check, serde
from millstream.sql.formats.schemas import (
    Inferred,
    check_schema_kind,
    infer_columns,
    new_schema,
    schema_of,
    subject,
)

__all__ = [
    "FORMATS",
    "Format",
    "InMemoryRegistry",
    "Inferred",
    "RegisteredSchema",
    "RegistryFormat",
    "Row",
    "RowSerde",
    "SchemaReference",
    "SchemaRegistry",
    "check",
    "check_schema_kind",
    "format_of",
    "infer_columns",
    "internal_encoding",
    "key_encoding",
    "key_features",
    "new_schema",
    "parse_delimiter",
    "schema_of",
    "serde",
    "subject",
    "value_features",
]
