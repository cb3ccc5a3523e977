"""How rows are encoded: the formats, their serdes, and the schemas that a registry keeps of them."""

from millstream.sql.formats.catalogue import FORMATS, format_of
from millstream.sql.formats.delimited import parse_delimiter
from millstream.sql.formats.features import key_encoding, key_features, value_features
from millstream.sql.formats.format import Format, Row
from millstream.sql.formats.registry import InMemoryRegistry, Reference, RegisteredSchema, SchemaRegistry
from millstream.sql.formats.row_serde import RowSerde, check, serde

__all__ = [
    "FORMATS",
    "Format",
    "InMemoryRegistry",
    "Reference",
    "RegisteredSchema",
    "Row",
    "RowSerde",
    "SchemaRegistry",
    "check",
    "format_of",
    "key_encoding",
    "key_features",
    "parse_delimiter",
    "serde",
    "value_features",
]
