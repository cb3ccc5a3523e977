"""What a format is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from millstream.registry.schemas import RegisteredSchema, SchemaRegistry
from millstream.sql.errors import SqlError
from millstream.sql.formats.connect.schema import ConnectSchema
from millstream.sql.schema.columns import Column
from millstream.sql.schema.formats import Encoding, Feature, FormatInfo
from millstream.sql.schema.types import BaseType, SqlArray, SqlMap, SqlStruct, SqlType

#: The values of columns, in their order.
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Target:
    """What a serde is made for: the key or value columns of a topic.

    Attributes:
        columns: in the order of the rows.
        registry: where schemas are, for the formats that need one.
    """

    encoding: Encoding
    columns: tuple[Column, ...]
    is_key: bool
    registry: SchemaRegistry | None = None
    topic: str = ""

    @property
    def unwrapped(self) -> bool:
        """Whether the single column is written bare."""
        return Feature.UNWRAP_SINGLES in self.encoding.features

    @property
    def schema_id(self) -> int | None:
        """The number of the schema that rows must be written with, if one is given."""
        found = self.encoding.format.get("schemaId")
        return None if found is None else int(found)

    @property
    def what(self) -> str:
        """Whether it is about keys or values, as messages say it."""
        return "key" if self.is_key else "value"

    @property
    def subject(self) -> str:
        """Where the registry keeps the schemas of this topic."""
        return f"{self.topic}-{self.what}"


@dataclass(frozen=True)
class Codec:
    """How rows become bytes and back.

    Attributes:
        serialize: a row to bytes; None for a bare NULL.
        deserialize: bytes to a row; any exception says that the bytes are not of the format.
        distinct: different rows have different bytes.
    """

    serialize: Callable[[Row], bytes | None]
    deserialize: Callable[[bytes], Row]
    distinct: bool = True


class Format:
    """A way to encode rows."""

    name: ClassVar[str]
    supported_features: ClassVar[frozenset[Feature]] = frozenset()
    #: What the format can be told, by the names in `FormatInfo.properties`.
    supported_properties: ClassVar[frozenset[str]] = frozenset()
    #: What of it a sink takes over from its source when both have the format.
    inherited_properties: ClassVar[frozenset[str]] = frozenset()
    #: Columns can be taken from a registry.
    infers_schemas: ClassVar[bool] = False
    #: Keys can have more than one column.
    supports_multiple_columns: ClassVar[bool] = True

    def supports_key_type(self, kind: SqlType) -> bool:
        """Whether a key column can have the type."""
        return True

    def supports(self, feature: Feature) -> bool:
        """Whether columns can be encoded in that way."""
        return feature in self.supported_features

    def check_properties(self, info: FormatInfo) -> None:
        """See that the format knows what it is told.

        Raises:
            SqlError: an unknown or an empty setting.
        """
        unknown = [name for name, _ in info.properties if name not in self.supported_properties]
        if unknown:
            raise SqlError(f"{self.name} does not support the following configs: [{', '.join(unknown)}]")
        for name, value in info.properties:
            if not value.strip():
                shown = ", ".join(f"{key}={text}" for key, text in info.properties)
                raise SqlError(f"{name} cannot be empty. Format configuration: {{{shown}}}")

    def check(self, target: Target) -> None:
        """See that the columns can be encoded.

        Raises:
            SqlError: they cannot; ksqlDB's words for it.
        """
        raise NotImplementedError

    def read_failure(self, target: Target, reason: str) -> str:
        """What ksqlDB says when a record cannot be read."""
        return f"Error deserializing message from topic: {target.topic}"

    def write_failure(self, target: Target, reason: str) -> str:
        """What ksqlDB says when a row cannot be written."""
        return f"Error serializing message to topic: {target.topic}. {reason}"

    def codec(self, target: Target) -> Codec:
        """How rows of the columns are written and read. The columns have been checked."""
        raise NotImplementedError


class RegistryFormat(Format):
    """A format whose schemas are in a registry, and can be taken from there."""

    infers_schemas = True
    #: The registry's name for schemas of the format.
    schema_kind: ClassVar[str]

    def schema_of(self, target: Target) -> RegisteredSchema:
        """The schema of columns, as it is registered.

        Raises:
            SqlError: the format has none for them.
        """
        raise NotImplementedError

    def connect_schema(
        self, schema: RegisteredSchema, registry: SchemaRegistry | None, info: FormatInfo
    ) -> ConnectSchema:
        """What a registered schema is in Connect's terms.

        Raises:
            ValueError: nothing that Connect knows.
            SqlError: a schema that it refers to is missing.
        """
        raise NotImplementedError

    def schema_names(self, schema: RegisteredSchema) -> tuple[str, ...]:
        """The full names of the records that a schema describes, if they have names."""
        return ()


def check_features(format: Format, target: Target) -> None:
    """See that the encoding's features fit.

    Raises:
        SqlError: the format does not know them, or there are not as many columns as they want.
    """
    unsupported = sorted(feature.value for feature in target.encoding.features - format.supported_features)
    if unsupported:
        raise SqlError(f"Unsupported features: [{', '.join(unsupported)}]")
    if target.encoding.features and len(target.columns) != 1:
        raise SqlError("Unwrapping only valid for single field")


def check_map_keys(kinds: Sequence[SqlType], message: str) -> None:
    """See that all MAPs, however deep, have STRING keys.

    Raises:
        SqlError: one has not.
    """
    for kind in kinds:
        if isinstance(kind, SqlMap):
            if kind.key.base is not BaseType.STRING:
                raise SqlError(message)
            check_map_keys([kind.value], message)
        elif isinstance(kind, SqlArray):
            check_map_keys([kind.item], message)
        elif isinstance(kind, SqlStruct):
            check_map_keys([field.type for field in kind.fields], message)


def show_columns(columns: Sequence[Column]) -> str:
    """Columns as ksqlDB's messages show them."""
    return f"[{', '.join(map(str, columns))}]"
