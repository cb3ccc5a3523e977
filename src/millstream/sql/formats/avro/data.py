"""Avro data as fastavro reads and writes it, from and to Connect's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from millstream.registry.decimals import bytes_to_decimal, decimal_to_bytes
from millstream.sql.formats.avro.read_schema import Names, branch_name, full_name, is_map_entry, namespace_of
from millstream.sql.formats.connect.values import Conversion
from millstream.sql.schema.types import BaseType, SqlArray, SqlDecimal, SqlMap, SqlStruct, SqlType

Json = Any


def without_logical_types(node: Json) -> Json:
    """A schema that fastavro reads and writes plain numbers and bytes for; how they are meant is known here."""
    if isinstance(node, list):
        return [without_logical_types(part) for part in node]
    if not isinstance(node, dict):
        return node
    return {
        name: part if name in ("default", "symbols") else without_logical_types(part)
        for name, part in node.items()
        if name != "logicalType"
    }


def reading(node: Json, names: Names, namespace: str = "") -> Conversion:
    """How what fastavro reads becomes Connect's data."""
    node, namespace = _resolved(node, names, namespace)
    if isinstance(node, list):
        return _reading_union(node, names, namespace)
    if isinstance(node, str):
        return None
    kind = node["type"]
    if kind == "record":
        return _reading_record(node, names, namespace)
    if kind == "array":
        if is_map_entry(node["items"]):
            return _reading_entries(reading(node["items"], names, namespace))
        return _reading_items(reading(node["items"], names, namespace))
    if kind == "map":
        inner = reading(node["values"], names, namespace)
        if inner is None:
            return None
        return lambda value: {name: inner(part) for name, part in value.items()}
    if is_decimal(node):
        scale = int(node.get("scale", 0))
        return lambda value: bytes_to_decimal(value, scale)
    return None


def is_decimal(node: Json) -> bool:
    """Whether bytes are a decimal."""
    return isinstance(node, dict) and node["type"] in ("bytes", "fixed") and node.get("logicalType") == "decimal"


def _resolved(node: Json, names: Names, namespace: str) -> tuple[Json, str]:
    """A schema behind names and behind `{"type": {...}}`, and the namespace inside of it."""
    while True:
        if isinstance(node, str) and node in names.known:
            node = names.known[node]
        elif isinstance(node, str) and f"{namespace}.{node}" in names.known:
            node = names.known[f"{namespace}.{node}"]
        elif isinstance(node, dict) and isinstance(node["type"], (dict, list)):
            node = node["type"]
        else:
            break
    if isinstance(node, dict) and node["type"] == "record":
        namespace = namespace_of(full_name(node, namespace))
    return node, namespace


def _reading_record(node: Mapping[str, Json], names: Names, namespace: str) -> Conversion:
    inner = [(part["name"], reading(part["type"], names, namespace)) for part in node["fields"]]
    needed = [(name, convert) for name, convert in inner if convert is not None]
    if not needed:
        return None

    def convert_record(value: Any) -> Any:
        for name, convert in needed:
            value[name] = convert(value[name])
        return value

    return convert_record


def _reading_items(inner: Conversion) -> Conversion:
    if inner is None:
        return None
    return lambda value: [inner(part) for part in value]


def _reading_entries(inner: Conversion) -> Conversion:
    if inner is None:
        return lambda value: {entry["key"]: entry["value"] for entry in value}
    return lambda value: {entry["key"]: entry["value"] for entry in map(inner, value)}


def _reading_union(node: list[Json], names: Names, namespace: str) -> Conversion:
    members = [member for member in node if member != "null"]
    if len(members) == 1:
        inner = reading(members[0], names, namespace)
        if inner is None:
            return None
        return lambda value: None if value is None else inner(value)
    branches = [(branch_name(member), _tests(member, names, namespace)) for member in members]
    readers = {branch_name(member): reading(member, names, namespace) for member in members}

    def convert(value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, tuple):  # fastavro names records where a union has several
            name, value = value[0].rpartition(".")[2], value[1]
        else:
            name = next(name for name, fits in branches if fits(value))
        inner = readers[name]
        return {name: value if inner is None else inner(value)}

    return convert


_CLASSES: dict[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "int": (int,),
    "long": (int,),
    "float": (float,),
    "double": (float,),
    "string": (str,),
    "enum": (str,),
    "bytes": (bytes,),
    "fixed": (bytes,),
    "array": (list,),
    "map": (dict,),
    "record": (dict,),
}


def _tests(member: Json, names: Names, namespace: str) -> Callable[[Any], bool]:
    node, _ = _resolved(member, names, namespace)
    kind = node if isinstance(node, str) else node["type"]
    classes = _CLASSES[kind]
    if kind == "record":  # a dict, as maps are
        fields = {part["name"] for part in node["fields"]}
        return lambda value: isinstance(value, dict) and value.keys() == fields
    return lambda value: value.__class__ in classes


def writing(kind: SqlType, node: Json, names: Names, namespace: str = "") -> Conversion:
    """How SQL values become what fastavro writes for a schema.

    Raises:
        ValueError: the schema lacks a field, or wants one that is not there.
    """
    node, namespace = _resolved(node, names, namespace)
    if isinstance(node, list):
        members = [member for member in node if member != "null"]
        inner = writing(kind, members[0], names, namespace) if len(members) == 1 else None
        if inner is None:
            return None
        return lambda value: None if value is None else inner(value)
    if isinstance(kind, SqlStruct):
        return _writing_record(kind, node, names, namespace)
    if isinstance(kind, SqlArray):
        return _reading_items(writing(kind.item, node["items"], names, namespace))
    if isinstance(kind, SqlMap):
        return _writing_map(kind, node, names, namespace)
    if isinstance(kind, SqlDecimal):
        return decimal_to_bytes
    if kind.base is BaseType.DOUBLE:
        return float
    return None


def _writing_map(kind: SqlMap, node: Json, names: Names, namespace: str) -> Conversion:
    if node["type"] == "map":
        inner = writing(kind.value, node["values"], names, namespace)
        if inner is None:
            return None
        return lambda value: {name: inner(part) for name, part in value.items()}
    parts = {part["name"]: part["type"] for part in node["items"]["fields"]}
    item = writing(kind.value, parts["value"], names, namespace)
    if item is None:
        return lambda value: [{"key": name, "value": part} for name, part in value.items()]
    return lambda value: [{"key": name, "value": item(part)} for name, part in value.items()]


def _writing_record(kind: SqlStruct, node: Json, names: Names, namespace: str) -> Callable[[Any], Any]:
    """Fields go by their names; what the schema has more gets its default."""
    places = {part.name: place for place, part in enumerate(kind.fields)}
    fixed: dict[str, Any] = {}
    sources: list[tuple[str, int, Conversion]] = []
    for part in node["fields"]:
        place = places.pop(part["name"], None)
        if place is not None:
            inner = writing(kind.fields[place].type, part["type"], names, namespace)
            sources.append((part["name"], place, inner))
        elif "default" in part or (isinstance(part["type"], list) and "null" in part["type"]):
            fixed[part["name"]] = part.get("default")
        else:
            raise ValueError(
                f"Missing default value for required Avro field: [{part['name']}]. "
                "This field appears in Avro schema in Schema Registry"
            )
    for name in places:
        raise ValueError(f"Schema from Schema Registry misses field with name: {name}")

    def convert(row: Any) -> Any:
        record = dict(fixed)
        for name, place, inner in sources:
            value = row[place]
            record[name] = value if inner is None or value is None else inner(value)
        return record

    return convert
