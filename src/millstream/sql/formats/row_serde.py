"""Serdes of rows."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.errors import RegistryError, SerdeError
from millstream.registry.schemas import SchemaRegistry
from millstream.serdes.serde import Serde
from millstream.sql.errors import SqlError
from millstream.sql.formats.catalogue import format_of
from millstream.sql.formats.format import Row, Target, check_features, show_columns
from millstream.sql.schema.columns import Column
from millstream.sql.schema.formats import Encoding
from millstream.sql.schema.types import BaseType, SqlArray, SqlMap, SqlStruct, SqlType, quote

#: 0.0 equals -0.0 and NaN nothing, whatever their bytes; lists and dicts have no hash.
_NOT_HASHABLE = {BaseType.DOUBLE, BaseType.ARRAY, BaseType.MAP}


class RowSerde(Serde[Row]):
    """The rows of a topic's keys or values. It is picklable: another process makes it again.

    Args:
        encoding: the format, with its features.
        columns: of the rows.
        is_key: whether the rows are keys.
        registry: where schemas are; only some formats need it.
        topic: whose records they are; a registry keeps schemas by topic.
    """

    def __init__(
        self,
        encoding: Encoding,
        columns: Sequence[Column],
        *,
        is_key: bool,
        registry: SchemaRegistry | None = None,
        topic: str = "",
    ) -> None:
        target = Target(encoding, tuple(columns), is_key, registry, topic)
        check(encoding, columns, is_key=is_key)
        self._format = format_of(encoding.format.name)
        codec = self._format.codec(target)
        super().__init__(
            codec.serialize,  # type: ignore[arg-type]  # a bare NULL has no bytes, which the engine takes as None
            codec.deserialize,
            hashable=codec.distinct and all(_hashable(column.type) for column in columns),
            immutable=True,  # lists and dicts too: see `sql.schema.types`, values are never changed in place
            name=encoding.format.name,
        )
        self._target = target

    @property
    def encoding(self) -> Encoding:
        """The format, with its features."""
        return self._target.encoding

    def for_topic(self, topic: str, is_key: bool) -> Serde[Row]:
        """The serde for a topic: a registry keeps schemas by topic, and errors say which one it is."""
        of = self._target
        if topic == of.topic and is_key == of.is_key:
            return self
        return RowSerde(of.encoding, of.columns, is_key=is_key, registry=of.registry, topic=topic)

    def serialization_error(self, data: object, cause: BaseException) -> SerdeError:
        return _failed(self._format.write_failure(self._target, _reason(cause)), cause)

    def deserialization_error(self, data: object, cause: BaseException) -> SerdeError:
        return _failed(self._format.read_failure(self._target, _reason(cause)), cause)


def _reason(cause: BaseException) -> str:
    return cause.primary if isinstance(cause, (SqlError, RegistryError)) else str(cause)


def _failed(what: str, cause: BaseException) -> SerdeError:
    error = SerdeError(what, detail=_reason(cause))
    error.__cause__ = cause
    return error


def _hashable(kind: SqlType) -> bool:
    if isinstance(kind, SqlStruct):
        return all(_hashable(field.type) for field in kind.fields)
    return kind.base not in _NOT_HASHABLE


def serde(
    encoding: Encoding,
    columns: Sequence[Column],
    *,
    is_key: bool,
    registry: SchemaRegistry | None = None,
    topic: str = "",
) -> RowSerde:
    """The serde of a topic's keys or values: see `RowSerde`.

    Raises:
        SqlError: the format cannot hold the columns.
    """
    return RowSerde(encoding, tuple(columns), is_key=is_key, registry=registry, topic=topic)


def check(encoding: Encoding, columns: Sequence[Column], *, is_key: bool) -> None:
    """See that a format can hold columns.

    Raises:
        SqlError: it cannot.
    """
    format = format_of(encoding.format.name)
    format.check_properties(encoding.format)
    if is_key:
        _check_no_maps(columns)
    target = Target(encoding, tuple(columns), is_key)
    try:
        check_features(format, target)
        format.check(target)
    except SqlError as error:
        features = ", ".join(sorted(feature.value for feature in encoding.features))
        raise SqlError(
            f"{'Key' if is_key else 'Value'} format does not support schema.\n"
            f"format: {format.name}\n"
            f"schema: Persistence{{columns={show_columns(columns)}, features=[{features}]}}\n"
            f"reason: {error.primary}"
        ) from error


def _check_no_maps(columns: Sequence[Column]) -> None:
    for column in columns:
        if _contains_map(column.type):
            name = quote(column.name)
            raise SqlError(
                "Map keys, including types that contain maps, are not supported as they may lead to unexpected "
                f"behavior due to inconsistent serialization. Key column name: {name}. Column type: {column.type}. "
                "See https://github.com/confluentinc/ksql/issues/6621 for more."
            )


def _contains_map(kind: SqlType) -> bool:
    if isinstance(kind, SqlArray):
        return _contains_map(kind.item)
    if isinstance(kind, SqlStruct):
        return any(_contains_map(field.type) for field in kind.fields)
    return isinstance(kind, SqlMap)
