"""Descriptors of messages, from texts and what they import."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from millstream.registry.protobuf.parse import ProtoFile, parse_proto
from millstream.registry.schemas import RegisteredSchema, SchemaRegistry, referred

#: What every schema may import without a reference: files of Google's that come with the library ...
_GOOGLE = {
    module.DESCRIPTOR.name: module.DESCRIPTOR
    for module in (
        any_pb2,
        descriptor_pb2,
        duration_pb2,
        empty_pb2,
        field_mask_pb2,
        struct_pb2,
        timestamp_pb2,
        wrappers_pb2,
    )
}
#: ... and the types that Connect writes dates, times and decimals as.
_TYPES = {
    "google/type/date.proto": (
        'syntax = "proto3"; package google.type; message Date { int32 year = 1; int32 month = 2; int32 day = 3; }'
    ),
    "google/type/timeofday.proto": (
        'syntax = "proto3"; package google.type; '
        "message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }"
    ),
    "confluent/type/decimal.proto": (
        'syntax = "proto3"; package confluent.type; '
        "message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }"
    ),
    "confluent/meta.proto": (
        'syntax = "proto3"; package confluent; '
        "message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }"
    ),
}

FILE = "default.proto"
_BASE64 = re.compile(r"[A-Za-z0-9+/]+=*\s*")


@dataclass
class Messages:
    """The messages of a schema.

    Attributes:
        top: the descriptors of its own messages that are in no other one.
        meta: see `ProtoFile`.
    """

    pool: DescriptorPool
    top: list[Any]
    meta: dict[str, dict[str, str]] = field(default_factory=dict)

    def find(self, name: str | None) -> Any:
        """A message by its full name; the first one, if none is given.

        Raises:
            ValueError: there is none.
        """
        if not name:
            if not self.top:
                raise ValueError("Protobuf schema definition contains no type definitions")
            return self.top[0]
        try:
            return self.pool.FindMessageTypeByName(name)
        except KeyError:
            raise ValueError(f"Could not find message {name}") from None

    def at(self, path: tuple[int, ...]) -> Any:
        """The message at a place: see `indexes`.

        Raises:
            ValueError: there is none.
        """
        try:
            message = self.top[path[0]]
            for index in path[1:]:
                message = message.nested_types[index]
        except IndexError:
            raise ValueError(f"The schema has no message at {list(path)}") from None
        return message


def is_well_known(name: str) -> bool:
    """Whether every schema may import a file without a reference."""
    return name in _GOOGLE or name in _TYPES


def load(text: str, references: Iterable[tuple[str, str]] = ()) -> Messages:
    """The messages of a schema.

    Args:
        text: a .proto file.
        references: the files it imports beside the well-known ones: their names and texts.

    Raises:
        ValueError: a text is no .proto file, or something it names is missing.
    """
    pool = DescriptorPool()
    meta: dict[str, dict[str, str]] = {}
    texts = {**_TYPES, **dict(references)}
    done: set[str] = set()

    def add(file: ProtoFile) -> None:
        for name in file.descriptor.dependency:
            if name in done:
                continue
            done.add(name)
            if name in _GOOGLE:
                _add_google(pool, name, done)
            elif name in texts:
                add(_file(texts[name], name))
            else:
                raise ValueError(f"Could not find import {name}")
        meta.update(file.meta)
        try:
            pool.AddSerializedFile(file.descriptor.SerializeToString())
        except TypeError as error:
            raise ValueError(f"Invalid Protobuf schema: {error}") from error

    main = _file(text, FILE)
    add(main)
    found = pool.FindFileByName(FILE)
    top = [found.message_types_by_name[message.name] for message in main.descriptor.message_type]
    return Messages(pool, top, meta)


def _file(text: str, name: str) -> ProtoFile:
    """A file's text; some clients register descriptors in Base64 in its place."""
    if not _BASE64.fullmatch(text):
        return parse_proto(text, name)
    try:
        file = ProtoFile(descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text)))
    except (DecodeError, binascii.Error) as error:
        raise ValueError(f"Invalid Protobuf schema: {error}") from error
    file.descriptor.name = name
    return file


def _add_google(pool: DescriptorPool, name: str, done: set[str]) -> None:
    for inner in _GOOGLE[name].dependencies:
        if inner.name not in done:
            done.add(inner.name)
            _add_google(pool, inner.name, done)
    pool.AddSerializedFile(_GOOGLE[name].serialized_pb)


def load_registered(schema: RegisteredSchema, registry: SchemaRegistry | None) -> Messages:
    """The messages of a registered schema.

    Raises:
        ValueError: see `load`.
        RegistryError: a schema that it refers to is missing.
    """
    return load(schema.text, [(part.name, other.text) for part, other in referred(schema, registry)])
