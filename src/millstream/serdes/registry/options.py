"""What the functions of `Serdes` take beside a type, for type checkers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from millstream.registry.schemas import SchemaReference, SchemaRegistry
from millstream.serdes.registry.subjects import Subject


class RegistryOptions(TypedDict, total=False):
    """Options of all serdes with a registry: see `Serdes.avro`."""

    schema: str | Mapping[str, Any] | None
    registry: SchemaRegistry | Mapping[str, str] | str | None
    subject: Subject
    register: bool | None
    use_latest: bool | None
    references: Iterable[SchemaReference]


class AvroOptions(RegistryOptions, total=False):
    """Options of `Serdes.avro`."""

    namespace: str | None


class ProtobufOptions(AvroOptions, total=False):
    """Options of `Serdes.protobuf`."""

    message: str | None
