"""Types and columns, as entities show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from millstream.sql.schema.columns import Column, Namespace, Schema
from millstream.sql.schema.types import SqlArray, SqlDecimal, SqlMap, SqlStruct, SqlType


@dataclass(frozen=True)
class SchemaInfo:
    """A type, as descriptions show it."""

    type: str
    fields: tuple[FieldInfo, ...] | None = None
    member_schema: SchemaInfo | None = None
    parameters: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, kind: SqlType) -> SchemaInfo:
        """The description of a type."""
        name = kind.base.value
        if isinstance(kind, SqlDecimal):
            return cls(name, parameters={"precision": kind.precision, "scale": kind.scale})
        if isinstance(kind, SqlArray):
            return cls(name, member_schema=cls.of(kind.item))
        if isinstance(kind, SqlMap):
            return cls(name, member_schema=cls.of(kind.value))
        if isinstance(kind, SqlStruct):
            return cls(name, tuple(FieldInfo(inner.name, cls.of(inner.type)) for inner in kind.fields))
        return cls(name)


@dataclass(frozen=True)
class FieldInfo:
    """A column or field. `type` says KEY or HEADER for columns that are not of the value."""

    name: str
    schema: SchemaInfo
    type: str | None = None
    header_key: str | None = None

    @classmethod
    def of(cls, column: Column) -> FieldInfo:
        """The description of a column."""
        kinds = {Namespace.KEY: "KEY", Namespace.HEADERS: "HEADER", Namespace.VALUE: None}
        return cls(column.name, SchemaInfo.of(column.type), kinds[column.namespace], column.header)

    @classmethod
    def all_of(cls, schema: Schema) -> tuple[FieldInfo, ...]:
        """The descriptions of a schema's columns."""
        return tuple(map(cls.of, schema.columns))
