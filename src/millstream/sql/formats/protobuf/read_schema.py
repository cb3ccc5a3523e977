"""Messages as Connect's schemas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

from millstream.registry.protobuf.pool import Messages
from millstream.sql.formats.connect.schema import (
    DATE_NAME,
    DECIMAL_NAME,
    PRECISION,
    SCALE,
    TIME_NAME,
    TIMESTAMP_NAME,
    ConnectSchema,
    Kind,
)

_INT32 = ConnectSchema(Kind.INT32)
_INT64 = ConnectSchema(Kind.INT64)
_SCALARS = {
    FieldDescriptor.TYPE_INT32: _INT32,
    FieldDescriptor.TYPE_SINT32: _INT32,
    FieldDescriptor.TYPE_SFIXED32: _INT32,
    FieldDescriptor.TYPE_UINT32: _INT64,
    FieldDescriptor.TYPE_FIXED32: _INT64,
    FieldDescriptor.TYPE_INT64: _INT64,
    FieldDescriptor.TYPE_UINT64: _INT64,
    FieldDescriptor.TYPE_SINT64: _INT64,
    FieldDescriptor.TYPE_FIXED64: _INT64,
    FieldDescriptor.TYPE_SFIXED64: _INT64,
    FieldDescriptor.TYPE_FLOAT: ConnectSchema(Kind.FLOAT32),
    FieldDescriptor.TYPE_DOUBLE: ConnectSchema(Kind.FLOAT64),
    FieldDescriptor.TYPE_BOOL: ConnectSchema(Kind.BOOLEAN),
    FieldDescriptor.TYPE_STRING: ConnectSchema(Kind.STRING),
    FieldDescriptor.TYPE_BYTES: ConnectSchema(Kind.BYTES),
    FieldDescriptor.TYPE_ENUM: ConnectSchema(Kind.STRING),
}
_LOGICAL = {
    "google.type.Date": ConnectSchema(Kind.INT32, name=DATE_NAME),
    "google.type.TimeOfDay": ConnectSchema(Kind.INT32, name=TIME_NAME),
    "google.protobuf.Timestamp": ConnectSchema(Kind.INT64, name=TIMESTAMP_NAME),
}
DECIMAL = "confluent.type.Decimal"
WRAPPERS = {
    "google.protobuf.DoubleValue": ConnectSchema(Kind.FLOAT64),
    "google.protobuf.FloatValue": ConnectSchema(Kind.FLOAT32),
    "google.protobuf.Int64Value": _INT64,
    "google.protobuf.UInt64Value": _INT64,
    "google.protobuf.Int32Value": _INT32,
    "google.protobuf.UInt32Value": _INT64,
    "google.protobuf.BoolValue": ConnectSchema(Kind.BOOLEAN),
    "google.protobuf.StringValue": ConnectSchema(Kind.STRING),
    "google.protobuf.BytesValue": ConnectSchema(Kind.BYTES),
}


@dataclass(frozen=True)
class FieldInfo:
    """A field, with what its descriptor does not say in all versions of the library.

    Attributes:
        optional: NULL when it is not set: marked so, or a message.
        oneof: the name that Connect gives to the choice it belongs to, if it does.
    """

    descriptor: Any
    repeated: bool
    optional: bool
    oneof: str | None

    @property
    def name(self) -> str:
        return str(self.descriptor.name)

    @property
    def message(self) -> Any:
        """The descriptor of the message that it holds, if it holds one."""
        return self.descriptor.message_type

    @property
    def is_map(self) -> bool:
        """Whether it is a map: a real one, or entries as Connect writes them."""
        return self.repeated and self.message is not None and is_entry(self.message)


def is_entry(message: Any) -> bool:
    """Whether repeated messages of this kind make a map."""
    parts = fields_of(message)
    return (
        message.name.endswith("Entry")
        and [part.name for part in parts] == ["key", "value"]
        and not any(part.repeated for part in parts)
    )


def fields_of(message: Any) -> list[FieldInfo]:
    """The fields of a message, in order."""
    proto = DescriptorProto()
    message.CopyToProto(proto)
    found = []
    for descriptor, part in zip(message.fields, proto.field, strict=True):
        choice = descriptor.containing_oneof
        oneof = None if choice is None or part.proto3_optional else f"{choice.name}_{choice.index}"
        repeated = part.label == FieldDescriptorProto.LABEL_REPEATED
        is_message = descriptor.message_type is not None
        found.append(FieldInfo(descriptor, repeated, part.proto3_optional or (is_message and not repeated), oneof))
    return found


def connect_of(message: Any, messages: Messages, *, unwrap: bool, path: tuple[str, ...] = ()) -> ConnectSchema:
    """Connect's schema of a message.

    Args:
        message: its descriptor.
        messages: where it is from.
        unwrap: whether messages around single values are these values, which may be null.
        path: the messages around it.

    Raises:
        ValueError: it contains itself.
    """
    if message.full_name in path:
        raise ValueError(f"Recursive messages are not supported: {message.full_name}")
    inner = (*path, message.full_name)
    fields: list[tuple[str, ConnectSchema]] = []
    choices: dict[str, list[tuple[str, ConnectSchema]]] = {}
    for part in fields_of(message):
        schema = _field(part, messages, unwrap=unwrap, path=inner)
        if part.oneof is None:
            fields.append((part.name, schema))
        else:
            choices.setdefault(part.oneof, []).append((part.name, schema))
    unions = [
        (
            name,
            ConnectSchema(
                Kind.STRUCT, optional=True, name=f"io.confluent.connect.protobuf.Union.{name}", fields=tuple(parts)
            ),
        )
        for name, parts in choices.items()
    ]
    return ConnectSchema(Kind.STRUCT, name=message.full_name, fields=(*unions, *fields))


def _field(part: FieldInfo, messages: Messages, *, unwrap: bool, path: tuple[str, ...]) -> ConnectSchema:
    if part.is_map:
        key, value = (_field(inner, messages, unwrap=unwrap, path=path) for inner in fields_of(part.message))
        return ConnectSchema(Kind.MAP, optional=True, key=key, value=value)
    schema = _single(part, messages, unwrap=unwrap, path=path)
    if part.repeated:
        return ConnectSchema(Kind.ARRAY, optional=True, value=replace(schema, optional=True))
    return replace(schema, optional=True)


def _single(part: FieldInfo, messages: Messages, *, unwrap: bool, path: tuple[str, ...]) -> ConnectSchema:
    if part.message is None:
        return _SCALARS[part.descriptor.type]
    name = part.message.full_name
    if name == DECIMAL:
        return _decimal(messages.meta.get(part.descriptor.full_name, {}))
    if name in _LOGICAL:
        return _LOGICAL[name]
    if unwrap and name in WRAPPERS:
        return WRAPPERS[name]
    return connect_of(part.message, messages, unwrap=unwrap, path=path)


def _decimal(meta: Mapping[str, str]) -> ConnectSchema:
    parameters = {SCALE: meta.get("scale", "0")}
    if "precision" in meta:
        parameters[PRECISION] = meta["precision"]
    return ConnectSchema(Kind.BYTES, name=DECIMAL_NAME, parameters=parameters)
