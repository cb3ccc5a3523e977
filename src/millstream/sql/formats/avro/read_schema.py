"""Avro schemas of a registry as Connect's schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from millstream.registry.schemas import RegisteredSchema, SchemaRegistry, referred
from millstream.sql.formats.avro.write_schema import INTERNAL_TYPE, MAP_ENTRY
from millstream.sql.formats.connect.schema import (
    DATE_NAME,
    DECIMAL_NAME,
    DEFAULT_PRECISION,
    PRECISION,
    SCALE,
    TIME_NAME,
    TIMESTAMP_NAME,
    ConnectSchema,
    Kind,
)

Json = Any

UNION = "io.confluent.connect.avro.Union"
_CONNECT_NAMESPACE = "io.confluent.connect.avro"

_PRIMITIVES = {
    "boolean": Kind.BOOLEAN,
    "int": Kind.INT32,
    "long": Kind.INT64,
    "float": Kind.FLOAT32,
    "double": Kind.FLOAT64,
    "string": Kind.STRING,
    "bytes": Kind.BYTES,
    "fixed": Kind.BYTES,
    "enum": Kind.STRING,
}
_NARROW = {"int8": Kind.INT8, "int16": Kind.INT16}
_LOGICAL = {
    ("int", "date"): DATE_NAME,
    ("int", "time-millis"): TIME_NAME,
    ("long", "timestamp-millis"): TIMESTAMP_NAME,
}


class Names:
    """The named types that have been met.

    Attributes:
        known: by full name.
        referred: the schemas that a schema refers to, each after those that it refers to itself.
    """

    def __init__(self) -> None:
        self.known: dict[str, Json] = {}
        self.referred: list[Json] = []

    def add(self, node: Mapping[str, Json], namespace: str) -> str:
        """Remember a type, and say its full name."""
        name = full_name(node, namespace)
        self.known[name] = node
        return name

    def resolve(self, name: str, namespace: str) -> Json:
        """A type by a name that another one uses.

        Raises:
            ValueError: there is none.
        """
        for candidate in (name if "." in name else f"{namespace}.{name}", name):
            if candidate in self.known:
                return self.known[candidate]
        raise ValueError(f"Undefined name: {name}")


def full_name(node: Mapping[str, Json], namespace: str) -> str:
    """The full name of a record, enum or fixed."""
    name: str = node["name"]
    space = node.get("namespace", namespace)
    return name if "." in name or not space else f"{space}.{name}"


def namespace_of(name: str) -> str:
    """Where a type with that full name is."""
    return name.rpartition(".")[0]


def parse_avro(schema: RegisteredSchema, registry: SchemaRegistry | None) -> tuple[Json, Names]:
    """A registered schema's JSON, and the types of the schemas that it refers to."""
    names = Names()
    for _, found in referred(schema, registry):
        node = json.loads(found.text)
        connect_of(node, names)  # meets its named types
        names.referred.append(node)
    return json.loads(schema.text), names


def connect_of(node: Json, names: Names, namespace: str = "") -> ConnectSchema:
    """Connect's schema of an Avro schema.

    Raises:
        ValueError: Connect has none.
    """
    if isinstance(node, list):
        return _union(node, names, namespace)
    if isinstance(node, str):
        if node in _PRIMITIVES:
            return ConnectSchema(_PRIMITIVES[node])
        found = names.resolve(node, namespace)
        return connect_of(found, names, namespace)
    kind = node["type"]
    if isinstance(kind, (dict, list)):
        return connect_of(kind, names, namespace)
    if kind == "record":
        return _record(node, names, namespace)
    if kind == "array":
        return _array(node, names, namespace)
    if kind == "map":
        value = connect_of(node["values"], names, namespace)
        return ConnectSchema(Kind.MAP, key=ConnectSchema(Kind.STRING), value=value, name=node.get("connect.name"))
    if kind in ("enum", "fixed"):
        names.add(node, namespace)
    if kind not in _PRIMITIVES:
        return connect_of(kind, names, namespace)
    return _primitive(node, kind)


def _primitive(node: Mapping[str, Json], kind: str) -> ConnectSchema:
    connect = _NARROW.get(node.get("connect.type", ""), _PRIMITIVES[kind])
    name = node.get("connect.name") or _LOGICAL.get((kind, node.get("logicalType", "")))
    if connect is Kind.BYTES and (node.get("logicalType") == "decimal" or name == DECIMAL_NAME):
        given = node.get("connect.parameters", {})
        scale = str(node.get("scale", given.get(SCALE, 0)))
        precision = str(node.get("precision", given.get(PRECISION, DEFAULT_PRECISION)))
        return ConnectSchema(connect, name=DECIMAL_NAME, parameters={SCALE: scale, PRECISION: precision})
    return ConnectSchema(connect, name=name)


def _array(node: Mapping[str, Json], names: Names, namespace: str) -> ConnectSchema:
    items = node["items"]
    if is_map_entry(items):
        entry = connect_of(items, names, namespace)
        parts = dict(entry.fields)
        return ConnectSchema(Kind.MAP, key=parts["key"], value=parts["value"], name=node.get("connect.name"))
    return ConnectSchema(Kind.ARRAY, value=connect_of(items, names, namespace))


def is_map_entry(node: Json) -> bool:
    """Whether arrays of it are maps, as Connect writes them when keys may be null or are no text."""
    if not isinstance(node, dict) or node.get("type") != "record":
        return False
    if {part["name"] for part in node["fields"]} != {"key", "value"}:
        return False
    marked = node.get(INTERNAL_TYPE) == MAP_ENTRY
    return marked or (node["name"] == MAP_ENTRY and node.get("namespace") == _CONNECT_NAMESPACE)


def _record(node: Mapping[str, Json], names: Names, namespace: str) -> ConnectSchema:
    name = full_name(node, namespace)
    if name in names.known and names.known[name] is None:
        raise ValueError(f"Recursive schemas are not supported: {name}")
    names.known[name] = None  # it is being read: who refers to it now would never end
    fields = []
    for part in node["fields"]:
        inner = connect_of(part["type"], names, namespace_of(name))
        if part.get("default") is not None:
            inner = replace(inner, default=part["default"])
        fields.append((part["name"], inner))
    names.known[name] = node
    return ConnectSchema(Kind.STRUCT, name=node.get("connect.name", name), fields=tuple(fields))


def _union(node: list[Json], names: Names, namespace: str) -> ConnectSchema:
    members = [member for member in node if member != "null"]
    optional = len(members) < len(node)
    if len(members) == 1:
        return replace(connect_of(members[0], names, namespace), optional=optional)
    fields = [(branch_name(member), replace(connect_of(member, names, namespace), optional=True)) for member in members]
    return ConnectSchema(Kind.STRUCT, optional=optional, name=UNION, fields=tuple(fields))


def branch_name(member: Json) -> str:
    """What Connect calls a branch of a union."""
    if isinstance(member, str):
        return member.rpartition(".")[2]
    if member["type"] in ("record", "enum", "fixed"):
        return str(member["name"]).rpartition(".")[2]
    return str(member["type"])
