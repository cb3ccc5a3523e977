"""`Serdes`: the built-in serdes under one name."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, TypeVar, Unpack, overload

from millstream.durations import milliseconds
from millstream.records import Windowed
from millstream.registry.schemas import SchemaReference, SchemaRegistry
from millstream.serdes import primitives
from millstream.serdes.json import JSON
from millstream.serdes.lists import ListSerde
from millstream.serdes.registry.options import AvroOptions, ProtobufOptions, RegistryOptions
from millstream.serdes.registry.subjects import Subject
from millstream.serdes.serde import Serde, make_constant
from millstream.serdes.windowed import SessionWindowedSerde, TimeWindowedSerde

T = TypeVar("T")


class Serdes:
    r"""The built-in serdes. Their bytes are those of Kafka's own serdes of the same name.

    >>> Serdes.string.serialize("eu"), Serdes.long.serialize(1)
    (b'eu', b'\x00\x00\x00\x00\x00\x00\x00\x01')
    >>> Serdes.json.serialize({"region": "eu"})
    b'{"region":"eu"}'
    """

    #: Text as UTF-8.
    string = primitives.STRING
    #: Bytes as they are.
    bytes = primitives.BYTES
    #: An int in 8 bytes.
    long = primitives.LONG
    #: An int in 4 bytes.
    integer = primitives.INTEGER
    #: An int in 2 bytes.
    short = primitives.SHORT
    #: A float in 8 bytes.
    double = primitives.DOUBLE
    #: A float in 4 bytes: what is read back has single precision.
    float = primitives.FLOAT
    #: True or False in one byte.
    boolean = primitives.BOOLEAN
    #: A `uuid.UUID` as its text.
    uuid = primitives.UUID_TEXT
    #: Nothing but None.
    void = primitives.VOID
    #: JSON as dicts and lists; `Serdes.json(Order)` as objects of a dataclass, a `msgspec.Struct`, a TypedDict ...
    json = JSON
    #: Text in a time window whose size is not known: read back, every window ends at the end of time.
    windowed_string = TimeWindowedSerde(primitives.STRING)
    #: Text in a session.
    session_windowed_string = SessionWindowedSerde(primitives.STRING)

    @staticmethod
    def list_of(inner: Serde[T]) -> Serde[list[T]]:
        """Lists of what another serde takes.

        >>> serde = Serdes.list_of(Serdes.string)
        >>> serde.deserialize(serde.serialize(["a", "b"]))
        ['a', 'b']
        """
        return ListSerde(inner)

    @staticmethod
    def time_windowed(inner: Serde[T], size: timedelta) -> Serde[Windowed[T]]:
        """Keys in time windows of a size, as windowed counts and aggregates have them.

        >>> serde = Serdes.time_windowed(Serdes.string, timedelta(minutes=5))
        >>> print(serde.deserialize(b"eu" + bytes(8)))
        [eu@0/300000]
        """
        return TimeWindowedSerde(inner, milliseconds(size, "a window's size", minimum=1))

    @staticmethod
    def session_windowed(inner: Serde[T]) -> Serde[Windowed[T]]:
        """Keys in sessions."""
        return SessionWindowedSerde(inner)

    @overload
    @staticmethod
    def avro(of: type[T], **options: Unpack[AvroOptions]) -> Serde[T]: ...

    @overload
    @staticmethod
    def avro(of: None = None, **options: Unpack[AvroOptions]) -> Serde[Any]: ...

    @staticmethod
    def avro(
        of: type[Any] | None = None,
        *,
        schema: str | Mapping[str, Any] | None = None,
        registry: SchemaRegistry | Mapping[str, str] | str | None = None,
        subject: Subject = "topic",
        register: bool | None = None,
        use_latest: bool | None = None,
        references: Iterable[SchemaReference] = (),
        namespace: str | None = None,
    ) -> Serde[Any]:
        """Avro, its schema in a schema registry, in Confluent's wire format.

        Args:
            of: what values are: a dataclass, a `msgspec.Struct`, a pydantic model, `str` ...; dicts, if it is missing.
            schema: an Avro schema; by default the one of the type. Without both, the serde reads whatever was written.
            registry: its URL, or settings (`url`, `basic.auth.user.info`, `ssl.ca.location` ...), or an
                `InMemoryRegistry`; by default what `StreamsConfig(client=...)` says (`schema.registry.url` ...).
            subject: where the schema is registered: by "topic" (`orders-value`), by "record" (`shop.Order`), by
                "topic_record" (`orders-shop.Order`), or a function of the topic, whether it is a key, and the record.
            register: register the schema when the first record is written; False: the subject must have it already.
                By default what the setting `auto.register.schemas` says, else True.
            use_latest: write with the newest schema of the subject, whatever the type's. By default what the setting
                `use.latest.version` says, else False.
            references: schemas that `schema` refers to.
            namespace: of the type's schema.
        """
        from millstream.serdes.registry.avro import AvroSerde
        from millstream.serdes.registry.serde import Making

        return AvroSerde(
            Making(of, schema, registry, subject, register, use_latest, tuple(references), namespace=namespace)
        )

    @overload
    @staticmethod
    def protobuf(of: type[T], **options: Unpack[ProtobufOptions]) -> Serde[T]: ...

    @overload
    @staticmethod
    def protobuf(of: None = None, **options: Unpack[ProtobufOptions]) -> Serde[Any]: ...

    @staticmethod
    def protobuf(
        of: type[Any] | None = None,
        *,
        schema: str | Mapping[str, Any] | None = None,
        message: str | None = None,
        registry: SchemaRegistry | Mapping[str, str] | str | None = None,
        subject: Subject = "topic",
        register: bool | None = None,
        use_latest: bool | None = None,
        references: Iterable[SchemaReference] = (),
        namespace: str | None = None,
    ) -> Serde[Any]:
        """Protobuf, its schema in a schema registry, in Confluent's wire format.

        Args:
            of: what values are: a dataclass, a `msgspec.Struct`, a pydantic model, a class made by `protoc`; dicts, if
                it is missing.
            schema: the text of a .proto file; by default the one of the type. Fields are numbered as they come; give a
                number with `Annotated[str, msgspec.Meta(extra={"number": 7})]`.
            message: the full name of the message in `schema`; by default its first.
            registry: see `avro`.
            subject: see `avro`.
            register: see `avro`.
            use_latest: see `avro`.
            references: schemas that `schema` imports.
            namespace: the package of the type's schema.
        """
        from millstream.serdes.registry.protobuf import ProtobufSerde
        from millstream.serdes.registry.serde import Making

        return ProtobufSerde(
            Making(of, schema, registry, subject, register, use_latest, tuple(references), namespace, message)
        )

    @overload
    @staticmethod
    def json_schema(of: type[T], **options: Unpack[RegistryOptions]) -> Serde[T]: ...

    @overload
    @staticmethod
    def json_schema(of: None = None, **options: Unpack[RegistryOptions]) -> Serde[Any]: ...

    @staticmethod
    def json_schema(
        of: type[Any] | None = None,
        *,
        schema: str | Mapping[str, Any] | None = None,
        registry: SchemaRegistry | Mapping[str, str] | str | None = None,
        subject: Subject = "topic",
        register: bool | None = None,
        use_latest: bool | None = None,
        references: Iterable[SchemaReference] = (),
    ) -> Serde[Any]:
        """JSON, its schema in a schema registry, in Confluent's wire format.

        Args:
            of: what values are: a dataclass, a `msgspec.Struct`, a pydantic model; dicts, if it is missing, which are
                checked by the schema when they are written and read.
            schema: a JSON Schema; by default the one of the type.
            registry: see `avro`.
            subject: see `avro`; a schema's record is its title.
            register: see `avro`.
            use_latest: see `avro`.
            references: schemas that `schema` refers to.
        """
        from millstream.serdes.registry.json_schema import JsonSchemaSerde
        from millstream.serdes.registry.serde import Making

        return JsonSchemaSerde(Making(of, schema, registry, subject, register, use_latest, tuple(references)))

    @staticmethod
    def of(
        serialize: Callable[[T], builtins.bytes],
        deserialize: Callable[[builtins.bytes], T],
        hashable: bool = False,
        immutable: bool = False,
    ) -> Serde[T]:
        """A serde of two functions.

        Args:
            serialize: object to bytes; never called with None.
            deserialize: bytes to object; never called with None.
            hashable: objects can be dict keys, and are equal exactly when their bytes are.
            immutable: objects cannot be changed in place. Both make caches faster, and wrong if they are not true.

        >>> hexadecimal = Serdes.of(lambda n: b"%x" % n, lambda data: int(data, 16))
        >>> hexadecimal.serialize(255)
        b'ff'
        """
        return Serde(serialize, deserialize, hashable=hashable, immutable=immutable)


for _name, _serde in vars(Serdes).items():
    if isinstance(_serde, Serde):
        make_constant(_name, _serde)
