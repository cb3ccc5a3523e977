"""JSON schemas of a registry as Connect's schemas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from millstream.errors import RegistryError
from millstream.registry.schemas import RegisteredSchema, SchemaRegistry
from millstream.sql.formats.connect.schema import ConnectSchema, Kind

Json = Any

ONE_OF = "io.confluent.connect.json.OneOf"

_KINDS = {
    "int8": Kind.INT8,
    "int16": Kind.INT16,
    "int32": Kind.INT32,
    "int64": Kind.INT64,
    "float32": Kind.FLOAT32,
    "float64": Kind.FLOAT64,
    "bytes": Kind.BYTES,
}
_NULL = {"type": "null"}


class JsonSchemas:
    """A schema, and the ones it refers to."""

    def __init__(self, schema: RegisteredSchema, registry: SchemaRegistry | None) -> None:
        self._root = schema.parsed
        self._others: dict[str, JsonSchemas] = {}
        self._open: list[int] = []
        for reference in schema.references:
            found = registry.version(reference.subject, reference.version) if registry else None
            if found is None:
                raise RegistryError(
                    f"No schema reference found for subject {reference.subject}, version {reference.version}"
                )
            self._others[reference.name] = JsonSchemas(found, registry)

    def connect(self) -> ConnectSchema:
        """Connect's schema of all of it.

        Raises:
            ValueError: Connect has none.
        """
        return self._connect(self._root)

    def _connect(self, node: Json, *, optional: bool = False) -> ConnectSchema:
        if not isinstance(node, dict):
            raise ValueError(f"Unsupported schema: {node}")
        if "$ref" in node:
            return self._referred(node["$ref"], optional=optional)
        for criterion in ("oneOf", "anyOf"):
            if criterion in node:
                return self._one_of(node[criterion], optional=optional)
        if "allOf" in node:
            return self._all_of(node, optional=optional)
        kind = node.get("type")
        if isinstance(kind, list):
            return self._one_of([{**node, "type": each} for each in kind], optional=optional)
        return replace(self._of_type(node, kind), optional=optional, default=node.get("default"))

    def _of_type(self, node: Mapping[str, Json], kind: str | None) -> ConnectSchema:
        name, parameters = node.get("title"), node.get("connect.parameters") or {}
        connect_type = node.get("connect.type")
        if "enum" in node or "const" in node:
            return ConnectSchema(Kind.STRING, name=name)
        if kind == "boolean":
            return ConnectSchema(Kind.BOOLEAN, name=name)
        if kind in ("integer", "number"):
            default = Kind.INT64 if kind == "integer" else Kind.FLOAT64
            return ConnectSchema(_KINDS.get(connect_type or "", default), name=name, parameters=parameters)
        if kind == "string":
            return ConnectSchema(Kind.BYTES if connect_type == "bytes" else Kind.STRING, name=name)
        if kind == "array":
            return self._array(node, connect_type)
        if kind == "object" or "properties" in node:
            return self._object(node, connect_type)
        raise ValueError(f"Unsupported schema type {kind}")

    def _array(self, node: Mapping[str, Json], connect_type: str | None) -> ConnectSchema:
        items = node.get("items")
        if items is None:
            raise ValueError("Array schema did not specify the items type")
        if connect_type == "map":
            parts = items["properties"]
            return ConnectSchema(Kind.MAP, key=self._connect(parts["key"]), value=self._connect(parts["value"]))
        return ConnectSchema(Kind.ARRAY, value=self._connect(items))

    def _object(self, node: Mapping[str, Json], connect_type: str | None) -> ConnectSchema:
        if connect_type == "map":
            value = self._connect(node["additionalProperties"])
            return ConnectSchema(Kind.MAP, key=ConnectSchema(Kind.STRING), value=value)
        if id(node) in self._open:
            raise ValueError("Recursive schemas are not supported")
        self._open.append(id(node))
        places: dict[int, tuple[str, Json]] = {}
        for name, part in node.get("properties", {}).items():
            index = part.get("connect.index") if isinstance(part, dict) else None
            places[len(places) if index is None else index] = (name, part)
        fields = tuple((name, self._connect(part)) for _, (name, part) in sorted(places.items()))
        self._open.pop()
        return ConnectSchema(Kind.STRUCT, name=node.get("title"), fields=fields)

    def _one_of(self, members: list[Json], *, optional: bool) -> ConnectSchema:
        others = [member for member in members if not _is_null(member)]
        has_null = len(others) < len(members)
        if len(others) == 1:
            return self._connect(others[0], optional=optional or has_null)
        fields = tuple(
            (f"{ONE_OF}.field.{place}", self._connect(member, optional=True)) for place, member in enumerate(others)
        )
        return ConnectSchema(Kind.STRUCT, optional=optional or has_null, name=ONE_OF, fields=fields)

    def _all_of(self, node: Mapping[str, Json], *, optional: bool) -> ConnectSchema:
        merged: dict[str, Json] = {name: part for name, part in node.items() if name != "allOf"}
        for member in node["allOf"]:
            target, inner = self._resolve(member)
            if target is not self:
                raise ValueError("allOf with schemas of other subjects is not supported")
            properties = {**merged.get("properties", {}), **inner.get("properties", {})}
            merged = {**merged, **inner}
            if properties:
                merged["properties"] = properties
        return self._connect(merged, optional=optional)

    def _referred(self, reference: str, *, optional: bool) -> ConnectSchema:
        target, node = self._resolve({"$ref": reference})
        return target._connect(node, optional=optional)

    def _resolve(self, node: Json) -> tuple[JsonSchemas, Json]:
        """What a `$ref` stands for, and the schema in which it does."""
        if "$ref" not in node:
            return self, node
        location, _, path = node["$ref"].partition("#")
        target = self._others.get(location) if location else self
        if target is None:
            raise ValueError(f"Unknown reference {node['$ref']}")
        found = target._root
        for step in filter(None, path.split("/")):
            found = found[step.replace("~1", "/").replace("~0", "~")]
        return target, found


def _is_null(member: Json) -> bool:
    return isinstance(member, dict) and member.get("type") == "null"
