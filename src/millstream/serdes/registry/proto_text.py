"""Protobuf schemas of Python types."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from msgspec import inspect

from millstream.errors import ArgumentError
from millstream.serdes.registry.types import Part, bare, fits_int32, parts_of, record_class, split_optional, type_of

_SCALARS: dict[type[inspect.Type], str] = {
    inspect.BoolType: "bool",
    inspect.FloatType: "double",
    inspect.StrType: "string",
    inspect.BytesType: "bytes",
    inspect.UUIDType: "string",
}
_MESSAGES: dict[type[inspect.Type], tuple[str, str]] = {
    inspect.DateTimeType: ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
    inspect.TimeDeltaType: ("google.protobuf.Duration", "google/protobuf/duration.proto"),
    inspect.DateType: ("google.type.Date", "google/type/date.proto"),
    inspect.TimeType: ("google.type.TimeOfDay", "google/type/timeofday.proto"),
    inspect.DecimalType: ("confluent.type.Decimal", "confluent/type/decimal.proto"),
}
_LISTS = (inspect.ListType, inspect.VarTupleType, inspect.SetType, inspect.FrozenSetType)
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass
class ProtoText:
    """A .proto file.

    Attributes:
        enums: the values of Python's enums by their numbers, by the enums' full names.
    """

    text: str
    enums: dict[str, dict[int, Any]] = field(default_factory=dict)


def proto_text(of: Any, namespace: str | None = None) -> ProtoText:
    """The .proto file of a type: its message comes first.

    Raises:
        ArgumentError: Protobuf has nothing for some of it; the place is named.
    """
    who = getattr(of, "__name__", str(of))
    node, _ = bare(type_of(of, who))
    if record_class(node) is None:
        raise _refused(who, "only types with fields make messages", "give a dataclass, a msgspec.Struct or a model")
    return _File(namespace).write(node, who)


class _File:
    def __init__(self, namespace: str | None) -> None:
        self._namespace = namespace
        self._imports: set[str] = set()
        self._named: dict[str, Any] = {}
        self._blocks: dict[str, str] = {}
        self._enums: dict[str, dict[int, Any]] = {}

    def write(self, node: inspect.Type, who: str) -> ProtoText:
        self._message(node, who)
        lines = ['syntax = "proto3";']
        if self._namespace:
            lines.append(f"package {self._namespace};")
        lines += [f'import "{name}";' for name in sorted(self._imports)]
        return ProtoText("\n".join([*lines, "", *self._blocks.values()]), self._enums)

    def _message(self, node: Any, where: str) -> str:
        name: str = node.cls.__name__
        if not self._new(node.cls, where):
            return name
        self._blocks[name] = ""  # its place
        lines, number, taken = [], 0, set()
        for part in parts_of(node, where):
            number = part.extra.get("number", number + 1)
            if number in taken:
                raise _refused(f"{where}.{part.name}", f"number {number} is taken", "give each field its own number")
            taken.add(number)
            lines.append(f"  {self._field(part, f'{where}.{part.name}')} {part.name} = {number};")
        self._blocks[name] = "\n".join([f"message {name} {{", *lines, "}", ""])
        return name

    def _field(self, part: Part, where: str) -> str:
        node, optional = split_optional(part.type)
        node, _ = bare(node)
        if isinstance(node, (*_LISTS, inspect.DictType)):
            if optional:
                raise _refused(where, "Protobuf cannot tell None from an empty list or map", "leave out None")
            if isinstance(node, inspect.DictType):
                return f"map<{self._map_key(node.key_type, where)}, {self._single(node.value_type, where)}>"
            return f"repeated {self._single(node.item_type, where)}"
        kind = self._single(node, where)
        return f"optional {kind}" if optional else kind

    def _single(self, node: inspect.Type, where: str) -> str:
        node, _ = bare(node)
        if type(node) in _SCALARS:
            return _SCALARS[type(node)]
        if isinstance(node, inspect.IntType):
            return "int32" if fits_int32(node) else "int64"
        if type(node) in _MESSAGES:
            name, file = _MESSAGES[type(node)]
            self._imports.add(file)
            return name
        if isinstance(node, inspect.EnumType):
            return self._enum(node.cls, where)
        if isinstance(node, inspect.LiteralType) and all(isinstance(value, str) for value in node.values):
            return "string"
        if record_class(node) is not None:
            return self._message(node, where)
        raise _refused(
            where,
            f"Protobuf has nothing for {type(node).__name__.removesuffix('Type')} here",
            "use one type; lists and maps are fields, and hold neither each other nor None",
        )

    def _map_key(self, node: inspect.Type, where: str) -> str:
        if not isinstance(node, inspect.StrType | inspect.IntType | inspect.BoolType):
            raise _refused(where, "Protobuf's maps have text, integers or booleans as keys", "use dict[str, ...]")
        return self._single(node, where)

    def _enum(self, cls: Any, where: str) -> str:
        name: str = cls.__name__
        if not self._new(cls, where):
            return name
        front = _WORDS.sub("_", name).upper()
        numbered = all(isinstance(member.value, int) for member in cls)
        members = {(member.value if numbered else place): member for place, member in enumerate(cls, 1)}
        lines = [f"  {front}_{member.name} = {number};" for number, member in sorted(members.items()) if number]
        zero = members[0].name if 0 in members else "UNSPECIFIED"  # an enum begins with a zero
        self._blocks[name] = "\n".join([f"enum {name} {{", f"  {front}_{zero} = 0;", *lines, "}", ""])
        full_name = f"{self._namespace}.{name}" if self._namespace else name
        self._enums[full_name] = {number: member.value for number, member in members.items()}
        return name

    def _new(self, cls: Any, where: str) -> bool:
        """Whether a type is met for the first time."""
        known = self._named.setdefault(cls.__name__, cls)
        if known is not cls:
            raise _refused(where, f"there are two types called {cls.__name__}", "give one of them another name")
        return cls.__name__ not in self._blocks


def _refused(where: str, detail: str, hint: str) -> ArgumentError:
    return ArgumentError(f"no Protobuf schema can be made of {where}", detail=detail, hint=hint)
