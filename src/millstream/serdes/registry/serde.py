"""What all serdes with a schema registry do: find the registry, register, look schemas up by number."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar, cast

from millstream.errors import ArgumentError, RegistryError, SerdeError
from millstream.registry.schemas import RegisteredSchema, SchemaReference, SchemaRegistry
from millstream.registry.settings import connect, registry_settings
from millstream.registry.wire import SIZE, prefix, schema_id_of
from millstream.serdes.json import is_immutable
from millstream.serdes.registry.subjects import Subject, check_subject, subject_of
from millstream.serdes.serde import Serde, shorten

T = TypeVar("T")

_METHODS = {"AVRO": "Serdes.avro", "PROTOBUF": "Serdes.protobuf", "JSON": "Serdes.json_schema"}


@dataclass(frozen=True)
class Making:
    """What a serde is made of; see the functions of `Serdes`."""

    of: Any = None
    schema: Any = None
    registry: SchemaRegistry | Mapping[str, str] | str | None = None
    subject: Subject = "topic"
    register: bool | None = None
    use_latest: bool | None = None
    references: tuple[SchemaReference, ...] = ()
    namespace: str | None = None
    message: str | None = None
    topic: str | None = None
    is_key: bool = False

    def __post_init__(self) -> None:
        check_subject(self.subject)
        object.__setattr__(self, "references", tuple(self.references))
        if isinstance(self.registry, str):
            object.__setattr__(self, "registry", {"url": self.registry})
        elif isinstance(self.registry, Mapping):
            prefixed = {
                f"schema.registry.{name.removeprefix('schema.registry.')}": value
                for name, value in self.registry.items()
            }
            object.__setattr__(self, "registry", registry_settings(prefixed))

    def flag(self, own: bool | None, setting: str, default: bool) -> bool:
        """A choice: the serde's own, or that of the settings."""
        if own is not None:
            return own
        settings = self.registry if isinstance(self.registry, Mapping) else {}
        return settings.get(setting, str(default)).lower() == "true"


class RegistrySerde(Serde[T]):
    """Data that begins with the number of its schema.

    The registry is asked when the first record is written, and when a schema's number is first seen.
    """

    #: The registry's name of the kind of schema.
    kind: ClassVar[str]
    #: What errors call it.
    label: ClassVar[str]

    def __init__(self, making: Making) -> None:
        self._making = making
        of = making.of
        name = self.label if of is None else f"{self.label}({getattr(of, '__name__', of)})"
        self._readers: dict[bytes, Callable[[bytes], T]] = {}
        serialize, deserialize = self._functions()
        super().__init__(serialize, deserialize, immutable=of is not None and is_immutable(of), name=name)
        self._own = self._own_schema()

    @abstractmethod
    def _own_schema(self) -> RegisteredSchema | None:
        """The schema that was given, or is made of the type."""

    @abstractmethod
    def _record_name(self, schema: RegisteredSchema) -> str | None:
        """The full name of a schema's record."""

    @abstractmethod
    def _writer(self, schema: RegisteredSchema, registry: SchemaRegistry) -> Callable[[T], bytes]:
        """What writes values, without the bytes in front."""

    @abstractmethod
    def _reader(self, schema: RegisteredSchema, registry: SchemaRegistry) -> Callable[[bytes], T]:
        """What reads values that were written with a schema, with the bytes in front."""

    def for_topic(self, topic: str, is_key: bool) -> Serde[T]:
        """The serde that registers schemas for that topic."""
        making = self._making
        if (topic, is_key) == (making.topic, making.is_key):
            return self
        return self._again(topic=topic, is_key=is_key)

    def configured(self, settings: Mapping[str, object]) -> Serde[T]:
        """The serde that uses the registry of an application, unless it has its own.

        Raises:
            SerdeError: neither says where it is.
        """
        if self._making.registry is not None:
            return self
        found = registry_settings(settings)
        if "url" not in found:
            raise self._homeless()
        return self._again(registry=found)

    def _again(self, **changes: Any) -> Self:
        return type(self)(replace(self._making, **changes))

    def _functions(self) -> tuple[Callable[[T], bytes], Callable[[bytes], T]]:
        """`serialize` and `deserialize`, with all that they need in reach."""
        head, write = b"", cast("Callable[[T], bytes] | None", None)
        readers, open_reader = self._readers, self._open_reader

        def serialize(value: T) -> bytes:
            nonlocal head, write
            if write is None:
                head, write = self._open_writer()
            return head + write(value)

        def deserialize(data: bytes) -> T:
            found: T = (readers.get(data[:SIZE]) or open_reader(data))(data)
            return found

        return serialize, deserialize

    def _open_writer(self) -> tuple[bytes, Callable[[T], bytes]]:
        registry = self._connected()
        schema, number = self._registered(registry)
        return prefix(number), self._writer(schema, registry)

    def _registered(self, registry: SchemaRegistry) -> tuple[RegisteredSchema, int]:
        """The schema to write with, and its number."""
        making, own = self._making, self._own
        record = None if own is None else self._record_name(own)
        if making.flag(making.use_latest, "use.latest.version", False):
            subject = subject_of(making.subject, making.topic, making.is_key, record, self.name)
            latest = registry.latest(subject)
            if latest is None or latest.id is None:
                raise RegistryError(
                    f"subject '{subject}' has no schema, and the {self.name} serde is to write with its newest one",
                    hint="register a schema, or leave out use_latest",
                )
            self._check_kind(latest)
            return latest, latest.id
        if own is None:
            raise SerdeError(
                f"the {self.name} serde has no schema to write with",
                hint=f"give {_METHODS[self.kind]} a type, or schema=..., or use_latest=True",
            )
        subject = subject_of(making.subject, making.topic, making.is_key, record, self.name)
        if making.flag(making.register, "auto.register.schemas", True):
            return own, registry.register(subject, own)
        number = registry.lookup(subject, own)
        if number is None:
            raise RegistryError(
                f"subject '{subject}' does not have the schema of the {self.name} serde",
                detail=f"it is not to be registered; the schema is {shorten(own.text)}",
                hint="register it, or let the serde do so with register=True, or write with use_latest=True",
            )
        return own, number

    def _open_reader(self, data: bytes) -> Callable[[bytes], T]:
        try:
            number = schema_id_of(data)
        except ValueError:
            raise SerdeError(
                f"the {self.name} serde cannot read these bytes: no number of a schema is in front of them",
                detail=f"they begin with {shorten(data[:SIZE])}, and not with a zero and four bytes more",
                hint="they were written without a schema registry; give the serde that fits the data",
            ) from None
        registry = self._connected()
        schema = registry.by_id(number)
        if schema is None:
            raise RegistryError(
                f"the schema registry has no schema {number}, which a record was written with",
                hint="check that it is the registry that the writer uses",
            )
        self._check_kind(schema)
        reader = self._readers[data[:SIZE]] = self._reader(schema, registry)
        return reader

    def _check_kind(self, schema: RegisteredSchema) -> None:
        if schema.kind != self.kind:
            raise SerdeError(
                f"the {self.name} serde cannot use schema {schema.id}, which is {schema.kind}, not {self.kind}",
                hint=f"use {_METHODS.get(schema.kind, 'another serde')}",
            )

    def _connected(self) -> SchemaRegistry:
        registry = self._making.registry
        if registry is None:
            raise self._homeless()
        return connect(registry) if isinstance(registry, Mapping) else cast("SchemaRegistry", registry)

    def _homeless(self) -> SerdeError:
        return SerdeError(
            f"the {self.name} serde has no schema registry",
            hint="give registry='http://host:8081', or set StreamsConfig(client={'schema.registry.url': ...})",
        )

    def _refuse(self, what: str, error: Exception) -> ArgumentError:
        return ArgumentError(f"the {self.name} serde was given {what}", detail=str(error))
