"""Texts of .proto files as descriptors."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from lark import Lark, Token, Tree
from lark.exceptions import LarkError

_SCALARS = {
    name: getattr(FieldDescriptorProto, f"TYPE_{name.upper()}")
    for name in (
        "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64",
        "sfixed32", "sfixed64", "bool", "string", "bytes",
    )
}  # fmt: skip
_LABELS = {
    "optional": FieldDescriptorProto.LABEL_OPTIONAL,
    "required": FieldDescriptorProto.LABEL_REQUIRED,
    "repeated": FieldDescriptorProto.LABEL_REPEATED,
}
FIELD_META = "confluent.field_meta"


@dataclass
class ProtoFile:
    """A parsed file.

    Attributes:
        meta: what the options `confluent.field_meta` say of fields, by the fields' full names.
    """

    descriptor: FileDescriptorProto
    meta: dict[str, dict[str, str]] = field(default_factory=dict)


def parse_proto(text: str, name: str) -> ProtoFile:
    """A file's text as a descriptor.

    Raises:
        ValueError: it is no .proto file.
    """
    try:
        tree = _parser().parse(text)
    except LarkError as error:
        raise ValueError(f"Could not parse Protobuf - {str(error).splitlines()[0]}") from error
    return _Builder(name).build(tree)


@cache
def _parser() -> Lark:
    grammar = Path(__file__).with_name("proto.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", maybe_placeholders=True)


class _Builder:
    """Makes a descriptor of a syntax tree."""

    def __init__(self, name: str) -> None:
        self._file = ProtoFile(FileDescriptorProto(name=name, syntax="proto2"))

    def build(self, tree: Tree[Token]) -> ProtoFile:
        proto = self._file.descriptor
        for node in _trees(tree):
            if node.data == "syntax":
                proto.syntax = _string(node.children[0])
            elif node.data == "import_":
                proto.dependency.append(_string(node.children[0]))
            elif node.data == "package":
                proto.package = str(node.children[0])
        for node in _trees(tree):
            if node.data == "message":
                self._message(node, proto.message_type.add(), proto.package)
            elif node.data == "enum":
                _enum(node, proto.enum_type.add())
        return self._file

    def _message(self, tree: Tree[Token], proto: DescriptorProto, scope: str) -> None:
        proto.name = str(tree.children[0])
        full_name = f"{scope}.{proto.name}" if scope else proto.name
        for node in _trees(tree):
            if node.data == "field":
                self._field(node, proto.field.add(), full_name)
            elif node.data == "map_field":
                self._map_field(node, proto, full_name)
            elif node.data == "oneof":
                index = len(proto.oneof_decl)
                proto.oneof_decl.add(name=str(node.children[0]))
                for part in _trees(node):
                    if part.data == "field":
                        self._field(part, proto.field.add(oneof_index=index), full_name)
            elif node.data == "message":
                self._message(node, proto.nested_type.add(), full_name)
            elif node.data == "enum":
                _enum(node, proto.enum_type.add())
        for part in proto.field:  # after all others, as protoc does
            if part.proto3_optional:
                part.oneof_index = len(proto.oneof_decl)
                proto.oneof_decl.add(name=f"_{part.name}")

    def _field(self, tree: Tree[Token], proto: FieldDescriptorProto, scope: str) -> None:
        label, kind, name, number, options = tree.children
        proto.name, proto.number = str(name), _int(number)
        proto.label = _LABELS[str(label or "optional")]
        if label == "optional" and self._file.descriptor.syntax == "proto3":
            proto.proto3_optional = True
        _set_type(proto, str(kind))
        self._options(options, proto, scope)

    def _map_field(self, tree: Tree[Token], message: DescriptorProto, scope: str) -> None:
        key, value, name, number, options = tree.children
        words = str(name).split("_")
        entry = message.nested_type.add(name="".join(word[:1].upper() + word[1:] for word in words) + "Entry")
        entry.options.map_entry = True
        for part, (part_name, kind) in enumerate((("key", key), ("value", value)), 1):
            field_proto = entry.field.add(name=part_name, number=part, label=FieldDescriptorProto.LABEL_OPTIONAL)
            _set_type(field_proto, str(kind))
        proto = message.field.add(name=str(name), number=_int(number), label=FieldDescriptorProto.LABEL_REPEATED)
        proto.type, proto.type_name = FieldDescriptorProto.TYPE_MESSAGE, entry.name
        self._options(options, proto, scope)

    def _options(self, tree: Any, proto: FieldDescriptorProto, scope: str) -> None:
        """What of a field's options counts: its default, and what Confluent says of it."""
        for option in _trees(tree) if tree is not None else ():
            name, value = option.children[0], option.children[1]
            if not isinstance(name, Tree) or not isinstance(value, Tree):
                continue
            option_name = str(name.children[0]).lstrip(".")
            if option_name == FIELD_META:
                self._file.meta[f"{scope}.{proto.name}"] = _meta_params(value)
            elif option_name == "default":
                proto.default_value = _constant_text(value)


def _trees(tree: Any) -> list[Tree[Token]]:
    return [child for child in tree.children if isinstance(child, Tree)]


def _string(token: Any) -> str:
    return str(ast.literal_eval(str(token)))


def _int(token: Any) -> int:
    return int(str(token), 0) if str(token)[:2].lower() == "0x" else int(str(token))


def _set_type(proto: FieldDescriptorProto, kind: str) -> None:
    if kind in _SCALARS:
        proto.type = _SCALARS[kind]
    else:
        proto.type_name = kind  # the pool finds out whether it is a message or an enum, and where


def _enum(tree: Tree[Token], proto: EnumDescriptorProto) -> None:
    proto.name = str(tree.children[0])
    for node in _trees(tree):
        if node.data == "enum_value":
            sign, number = node.children[1].children  # type: ignore[union-attr]  # a `signed_int`
            proto.value.add(name=str(node.children[0]), number=-_int(number) if sign == "-" else _int(number))
        elif node.data == "option" and "allow_alias" in str(node.children[0]):
            proto.options.allow_alias = True


def _constant_text(tree: Tree[Token]) -> str:
    if tree.data == "string":
        return "".join(map(_string, tree.children))
    return "".join(str(child) for child in tree.children if child is not None)


def _meta_params(tree: Tree[Token]) -> dict[str, str]:
    """The entries of `params: [{key: "a", value: "b"}, ...]`, however they are grouped."""
    params: dict[str, str] = {}
    for entry in tree.iter_subtrees():
        if entry.data != "aggregate":
            continue
        found = {}
        for part in _trees(entry):
            value = part.children[-1]
            if part.data == "entry" and isinstance(value, Tree) and value.data == "string":
                found[str(part.children[0])] = _constant_text(value)
        if "key" in found:
            params[found["key"]] = found.get("value", "")
    return params
