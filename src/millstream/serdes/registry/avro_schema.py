"""Avro schemas of Python types."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import inspect

from millstream.errors import ArgumentError
from millstream.serdes.registry.types import Part, bare, fits_int32, parts_of, record_class, split_optional, type_of

Json = Any

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LEAVES: dict[type[inspect.Type], Json] = {
    inspect.NoneType: "null",
    inspect.BoolType: "boolean",
    inspect.FloatType: "double",
    inspect.StrType: "string",
    inspect.BytesType: "bytes",
    inspect.DateTimeType: {"type": "long", "logicalType": "timestamp-micros"},
    inspect.DateType: {"type": "int", "logicalType": "date"},
    inspect.TimeType: {"type": "long", "logicalType": "time-micros"},
    inspect.UUIDType: {"type": "string", "logicalType": "uuid"},
}
_LISTS = (inspect.ListType, inspect.VarTupleType, inspect.SetType, inspect.FrozenSetType)
#: What may stand as a default in a schema as it is.
_PLAIN = (bool, int, float, str, type(None))


def avro_schema(of: Any, namespace: str | None = None) -> Json:
    """The Avro schema of a type.

    Raises:
        ArgumentError: Avro has nothing for some of it; the place is named.

    >>> import dataclasses
    >>> @dataclasses.dataclass
    ... class Order:
    ...     region: str
    ...     amount: int = 1
    >>> avro_schema(Order)["fields"]
    [{'name': 'region', 'type': 'string'}, {'name': 'amount', 'type': 'long', 'default': 1}]
    """
    who = getattr(of, "__name__", str(of))
    return _Schema(namespace).of(*bare(type_of(of, who)), who)


class _Schema:
    def __init__(self, namespace: str | None) -> None:
        self._namespace = namespace
        self._named: dict[str, Any] = {}
        self._met: set[str] = set()

    def of(self, node: inspect.Type, extra: dict[str, Any], where: str) -> Json:
        leaf = _LEAVES.get(type(node))
        if leaf is not None:
            return dict(leaf) if isinstance(leaf, dict) else leaf
        if isinstance(node, inspect.IntType):
            return "int" if fits_int32(node) else "long"
        if isinstance(node, inspect.DecimalType):
            return _decimal(extra, where)
        if isinstance(node, inspect.EnumType):
            return self._enum(node.cls)
        if isinstance(node, inspect.LiteralType):
            return _literal(node, where)
        if isinstance(node, _LISTS):
            return {"type": "array", "items": self.of(*bare(node.item_type), f"{where}[]")}
        if isinstance(node, inspect.DictType):
            if not isinstance(node.key_type, inspect.StrType):
                raise _refused(where, "Avro's maps have text as keys", "use dict[str, ...]")
            return {"type": "map", "values": self.of(*bare(node.value_type), f"{where}[]")}
        if isinstance(node, inspect.UnionType):
            return self._union(node, extra, where)
        if record_class(node) is not None:
            return self._record(node, where)
        raise _refused(where, f"Avro has nothing for {type(node).__name__.removesuffix('Type')}", "use another type")

    def _record(self, node: Any, where: str) -> Json:
        if self._known(node.cls, where):
            return node.cls.__name__
        found: dict[str, Any] = {"type": "record", "name": node.cls.__name__}
        if self._namespace and len(self._named) == 1:  # the ones inside of it are in the same
            found["namespace"] = self._namespace
        found["fields"] = [self._field(part, f"{where}.{part.name}") for part in parts_of(node, where)]
        return found

    def _field(self, part: Part, where: str) -> Json:
        if not _NAME.fullmatch(part.name):
            raise _refused(where, f"Avro takes no field called {part.name!r}", "use letters, digits and _")
        kind = self.of(part.type, part.extra, where)
        field: dict[str, Any] = {"name": part.name, "type": kind}
        if part.default is msgspec.NODEFAULT:
            return field
        default = msgspec.to_builtins(part.default, enc_hook=str)
        if isinstance(kind, list) and "null" in kind and default is not None:
            kind.remove("null")  # a default is of the first type
            kind.append("null")
        first = kind[0] if isinstance(kind, list) else kind
        logical = isinstance(first, dict) and "logicalType" in first
        if (isinstance(default, _PLAIN) and first != "bytes" and not logical) or default in ([], {}):
            field["default"] = default
        return field

    def _enum(self, cls: Any) -> Json:
        values = [member.value for member in cls]
        if all(isinstance(value, int) for value in values):
            return "long"
        if not all(isinstance(value, str) and _NAME.fullmatch(value) for value in values):
            return "string"
        if self._known(cls, cls.__name__):
            return cls.__name__
        return {"type": "enum", "name": cls.__name__, "symbols": values}

    def _union(self, node: inspect.UnionType, extra: dict[str, Any], where: str) -> Json:
        rest, optional = split_optional(node)
        members = rest.types if isinstance(rest, inspect.UnionType) else (rest,)
        kinds = []
        for member in members:
            inner, more = bare(member)
            kinds.append(self.of(inner, extra | more, where))
        names = [kind if isinstance(kind, str) else kind["type"] for kind in kinds]
        if len(set(names)) < len(names):
            raise _refused(where, "of several records, lists or the like, nobody can say which one is meant", _ONE)
        return ["null", *kinds] if optional else kinds

    def _known(self, cls: Any, where: str) -> bool:
        name = cls.__name__
        if not _NAME.fullmatch(name):
            raise _refused(where, f"Avro takes no type called {name!r}", "use letters, digits and _")
        if self._named.setdefault(name, cls) is not cls:
            raise _refused(where, f"there are two types called {name}", "give one of them another name")
        known = name in self._met
        self._met.add(name)
        return known


_ONE = "use one type, or one type and None"


def _decimal(extra: dict[str, Any], where: str) -> Json:
    if "precision" not in extra:
        raise _refused(
            where,
            "Avro's decimals have a precision and a scale",
            "use Annotated[Decimal, msgspec.Meta(extra={'precision': 10, 'scale': 2})]",
        )
    return {
        "type": "bytes",
        "logicalType": "decimal",
        "precision": extra["precision"],
        "scale": extra.get("scale", 0),
    }


def _literal(node: inspect.LiteralType, where: str) -> Json:
    if all(isinstance(value, str) for value in node.values):
        return "string"
    if all(isinstance(value, int) for value in node.values):
        return "long"
    raise _refused(where, "its values are of several types", _ONE)


def _refused(where: str, detail: str, hint: str) -> ArgumentError:
    return ArgumentError(f"no Avro schema can be made of {where}", detail=detail, hint=hint)
