"""Connect's schemas, and what they are in SQL."""

from __future__ import annotations

import enum
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from millstream.sql.errors import SqlError
from millstream.sql.schema.columns import Column, Namespace
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
    Field,
    SqlArray,
    SqlDecimal,
    SqlMap,
    SqlStruct,
    SqlType,
)

_LOG = logging.getLogger(__name__)

DECIMAL_NAME = "org.apache.kafka.connect.data.Decimal"
DATE_NAME = "org.apache.kafka.connect.data.Date"
TIME_NAME = "org.apache.kafka.connect.data.Time"
TIMESTAMP_NAME = "org.apache.kafka.connect.data.Timestamp"
PRECISION = "connect.decimal.precision"
SCALE = "scale"
#: Of decimals that do not say how many digits they have.
DEFAULT_PRECISION = 64


class Kind(enum.Enum):
    """Connect's types, by the names that messages use."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"


@dataclass(frozen=True)
class ConnectSchema:
    """A schema.

    Attributes:
        name: a full name, or that of a logical type.
        default: of a field that a record leaves out.
        fields: of a STRUCT.
        key: of a MAP.
        value: of a MAP or an ARRAY.
    """

    kind: Kind
    optional: bool = False
    name: str | None = None
    parameters: dict[str, str] = field(default_factory=dict)
    default: Any = None
    fields: tuple[tuple[str, ConnectSchema], ...] = ()
    key: ConnectSchema | None = None
    value: ConnectSchema | None = None

    @property
    def is_decimal(self) -> bool:
        return self.kind is Kind.BYTES and self.name == DECIMAL_NAME

    @property
    def scale(self) -> int:
        """Of a decimal."""
        return int(self.parameters.get(SCALE, "0"))

    @property
    def precision(self) -> int:
        """Of a decimal."""
        return int(self.parameters.get(PRECISION, DEFAULT_PRECISION))


class Unsupported(SqlError):
    """A schema that no SQL type can hold."""


_PLAIN = {
    Kind.INT8: INTEGER,
    Kind.INT16: INTEGER,
    Kind.INT32: INTEGER,
    Kind.INT64: BIGINT,
    Kind.FLOAT32: DOUBLE,
    Kind.FLOAT64: DOUBLE,
    Kind.BOOLEAN: BOOLEAN,
    Kind.STRING: STRING,
    Kind.BYTES: BYTES,
}
_LOGICAL = {(Kind.INT32, TIME_NAME): TIME, (Kind.INT32, DATE_NAME): DATE, (Kind.INT64, TIMESTAMP_NAME): TIMESTAMP}
_KEYS = {Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64, Kind.BOOLEAN, Kind.STRING}


def to_sql(schema: ConnectSchema, *, upper: bool) -> SqlType:
    """The SQL type of a schema.

    Args:
        schema: Connect's.
        upper: whether names become upper case.

    Raises:
        Unsupported: there is none.
    """
    if schema.is_decimal:
        return SqlDecimal(schema.precision, schema.scale)
    logical = _LOGICAL.get((schema.kind, schema.name or ""))
    if logical is not None:
        return logical
    if schema.kind is Kind.ARRAY:
        return SqlArray(to_sql(_part(schema.value), upper=upper))
    if schema.kind is Kind.MAP:
        if _part(schema.key).kind not in _KEYS:
            raise Unsupported(f"Unsupported type for map key: {_part(schema.key).kind.value}")
        return SqlMap(STRING, to_sql(_part(schema.value), upper=upper))
    if schema.kind is Kind.STRUCT:
        fields = []
        for name, part in schema.fields:
            try:
                fields.append(Field(name.upper() if upper else name, to_sql(part, upper=upper)))
            except Unsupported as error:  # as ksqlDB: what it cannot read it does not see
                _LOG.error("Error inferring schema at field %s: %s", name, error.primary)
        return SqlStruct(tuple(fields))
    return _PLAIN[schema.kind]


def _part(schema: ConnectSchema | None) -> ConnectSchema:
    if schema is None:
        raise Unsupported("Unsupported type: a collection of unknown things")
    return schema


def to_columns(schema: ConnectSchema, *, is_key: bool, unwrapped: bool, upper: bool) -> tuple[Column, ...]:
    """The columns of records of a schema.

    Args:
        schema: Connect's.
        is_key: whether they are key columns.
        unwrapped: the schema is that of the single column, which has no name then.
        upper: whether names become upper case.

    Raises:
        SqlError: the schema is not that of a record, or has no column that SQL can have.
    """
    if unwrapped:
        schema = ConnectSchema(Kind.STRUCT, fields=(("ROWKEY" if is_key else "ROWVAL", schema),))
    if schema.kind is not Kind.STRUCT:
        if is_key:
            raise SqlError("Key schemas are always unwrapped.")
        raise SqlError(
            "Schema returned from schema registry is anonymous type. "
            "To use this schema with ksqlDB, set 'WRAP_SINGLE_VALUE=false' in the WITH clause properties."
        )
    kind = to_sql(schema, upper=upper)
    if not isinstance(kind, SqlStruct) or not kind.fields:
        names = ", ".join(name for name, _ in schema.fields)
        raise SqlError(f"Schema does not include any columns with types that ksqlDB supports.\nschema: {names}")
    namespace = Namespace.KEY if is_key else Namespace.VALUE
    return tuple(Column(part.name, part.type, namespace) for part in kind.fields)


def record_type(columns: Sequence[Column]) -> SqlStruct:
    """The type of whole rows."""
    return SqlStruct(tuple(Field(column.name, column.type) for column in columns))
