"""Types and columns, as entities show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.sql.schema.columns import Column, Namespace, Schema
from millstream.sql.schema.types import SqlArray, SqlDecimal, SqlMap, SqlStruct, SqlType


@dataclass(frozen=True)
class SchemaInfo:
    """A type, as descriptions show it."""

    type: str
    fields: tuple[FieldInfo, ...] | None = None
    member_schema: SchemaInfo | None = None
    parameters: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The server's form: parameters only where there are some."""
        shown: dict[str, Any] = {
            "type": self.type,
            "fields": None if self.fields is None else [item.to_json() for item in self.fields],
            "memberSchema": None if self.member_schema is None else self.member_schema.to_json(),
        }
        return {**shown, "parameters": dict(self.parameters)} if self.parameters else shown

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

    def to_json(self) -> dict[str, Any]:
        """The server's form: what is not of the value says so, what is says nothing."""
        shown: dict[str, Any] = {"name": self.name, "schema": self.schema.to_json()}
        if self.type is not None:
            shown["type"] = self.type
        if self.header_key is not None:
            shown["headerKey"] = self.header_key
        return shown

    @classmethod
    def of(cls, column: Column) -> FieldInfo:
        """The description of a column."""
        kinds = {Namespace.KEY: "KEY", Namespace.HEADERS: "HEADER", Namespace.VALUE: None}
        return cls(column.name, SchemaInfo.of(column.type), kinds[column.namespace], column.header)

    @classmethod
    def all_of(cls, schema: Schema) -> tuple[FieldInfo, ...]:
        """The descriptions of a schema's columns."""
        return tuple(map(cls.of, schema.columns))
