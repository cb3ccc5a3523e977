"""Protobuf."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, TypeVar

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from millstream.errors import ArgumentError
from millstream.registry.protobuf.indexes import index_of, read_index
from millstream.registry.protobuf.pool import Messages, is_well_known, load_registered
from millstream.registry.schemas import RegisteredSchema, SchemaRegistry
from millstream.registry.wire import SIZE
from millstream.serdes.registry.messages import LEAVES, Enums, MessageConversion
from millstream.serdes.registry.proto_text import proto_text
from millstream.serdes.registry.serde import RegistrySerde
from millstream.serdes.registry.types import from_plain, to_plain

T = TypeVar("T")


class ProtobufSerde(RegistrySerde[T]):
    """Protobuf's encoding, after the number of the schema and the place of the message in it."""

    kind = "PROTOBUF"
    label = "protobuf"

    def _own_schema(self) -> RegisteredSchema | None:
        making = self._making
        self._enums: Enums = {}
        self._generated = isinstance(making.of, type) and issubclass(making.of, Message)
        if self._generated:
            return RegisteredSchema(self.kind, _descriptor_text(making.of, making.references), making.references)
        if making.schema is not None:
            if not isinstance(making.schema, str):
                raise ArgumentError("a Protobuf schema is text", hint="give what stands in a .proto file")
            found = RegisteredSchema(self.kind, making.schema, making.references)
        elif making.of is not None:
            file = proto_text(making.of, making.namespace)
            self._enums = file.enums
            found = RegisteredSchema(self.kind, file.text)
        else:
            return None
        if not making.references:  # what others define is known when the registry is
            self._message(found, None)
        return found

    def _record_name(self, schema: RegisteredSchema) -> str | None:
        if self._generated:
            name: str = self._making.of.DESCRIPTOR.full_name
            return name
        if self._making.message:
            return self._making.message
        registry = self._connected() if schema.references else None
        found: str = self._message(schema, registry).full_name
        return found

    def _message(self, schema: RegisteredSchema, registry: SchemaRegistry | None) -> Any:
        """The message that a schema is about."""
        try:
            return load_registered(schema, registry).find(self._making.message)
        except ValueError as error:
            raise self._refuse("a schema that does not work", error) from error

    def _writer(self, schema: RegisteredSchema, registry: SchemaRegistry) -> Callable[[T], bytes]:
        of = self._making.of
        if self._generated:
            head = index_of(of.DESCRIPTOR)
            return lambda value: head + value.SerializeToString(deterministic=True)  # type: ignore[attr-defined]
        message = self._message(schema, registry)
        make, head = GetMessageClass(message), index_of(message)
        parts = MessageConversion(self._enums).writer(message)
        plain = None if of is None else to_plain(LEAVES)

        def write(value: T) -> bytes:
            given = value if plain is None else plain(value)
            data: bytes = make(**parts(given)).SerializeToString(deterministic=True)
            return head + data

        return write

    def _reader(self, schema: RegisteredSchema, registry: SchemaRegistry) -> Callable[[bytes], T]:
        of = self._making.of
        if self._generated:
            parse = of.FromString
            return lambda data: parse(data[read_index(data, SIZE)[1] :])
        conversion = MessageConversion(self._enums)
        if self._own is None:
            return _by_place(load_registered(schema, registry), conversion)
        message = self._message(self._own, registry)
        parse, plain = GetMessageClass(message).FromString, conversion.reader(message)
        made = None if of is None else from_plain(of, LEAVES)

        def read(data: bytes) -> Any:
            value = plain(parse(data[read_index(data, SIZE)[1] :]))
            return value if made is None else made(value)

        return read


def _by_place(messages: Messages, conversion: MessageConversion) -> Callable[[bytes], Any]:
    """What reads any of a schema's messages."""

    def read(data: bytes) -> Any:
        path, start = read_index(data, SIZE)
        message = messages.at(path)
        return conversion.reader(message)(GetMessageClass(message).FromString(data[start:]))

    return read


def _descriptor_text(of: Any, references: tuple[Any, ...]) -> str:
    """The file of a generated class, as Confluent's Python client registers it."""
    file = of.DESCRIPTOR.file
    named = {reference.name for reference in references}
    missing = [part.name for part in file.dependencies if part.name not in named and not is_well_known(part.name)]
    if missing:
        raise ArgumentError(
            f"the protobuf({of.__name__}) serde needs references to what {file.name} imports",
            detail=f"missing: {', '.join(missing)}",
            hint=f"register it, and give references=(SchemaReference({missing[0]!r}, subject, version),)",
        )
    return base64.standard_b64encode(file.serialized_pb).decode("ascii")
