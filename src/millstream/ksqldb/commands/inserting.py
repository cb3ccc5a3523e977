"""Rows of clients on their way into a topic."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Protocol

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, Message, Producer

from millstream.config import StreamsConfig
from millstream.errors import MillstreamError
from millstream.kafka.clients import make_producer
from millstream.kafka.errors import translate
from millstream.ksqldb.api import ServiceError
from millstream.sql.engine.context import Context
from millstream.sql.engine.statements.insert_values import check_key_schema, check_topic, target_of
from millstream.sql.engine.topics import TopicRecord
from millstream.sql.errors import SqlError
from millstream.sql.expressions.conversions.values import coerce
from millstream.sql.formats import serde
from millstream.sql.schema.columns import Column
from millstream.sql.schema.types import BaseType, SqlArray, SqlMap, SqlStruct, SqlType

Done = Callable[[MillstreamError | None], None]
_DISABLED = (
    "The server has disabled INSERT INTO ... VALUES functionality. To enable it, restart your ksqlDB server with "
    "'ksql.insert.into.values.enabled'=true"
)
_GREATEST_INTEGER = 2**31 - 1
_FLUSH_SECONDS = 10.0


class Records(Protocol):
    """Where records are written without waiting."""

    def write(self, record: TopicRecord, done: Done) -> None:
        """Write a record; `done` is called once, from any thread."""


class KafkaRecords:
    """See `Records`: one producer for all clients. Nothing is done while nothing is under way.

    Args:
        config: where the brokers are and how to reach them.
    """

    def __init__(self, config: StreamsConfig) -> None:
        self._config = config
        self._producer: Producer | None = None
        self._changed = threading.Condition()
        self._under_way = 0
        self._closing = False

    def write(self, record: TopicRecord, done: Done) -> None:
        producer = self._started()

        def delivered(error: ClientError | None, _: Message) -> None:
            with self._changed:
                self._under_way -= 1
            doing = f"write to topic {record.topic}"
            done(None if error is None else translate(error, doing, self._config.bootstrap_servers))

        with self._changed:
            self._under_way += 1
            self._changed.notify()
        try:
            producer.produce(record.topic, record.value, record.key, timestamp=record.timestamp, on_delivery=delivered)
        except (KafkaException, BufferError) as error:
            with self._changed:
                self._under_way -= 1
            raise ServiceError(50000, f"cannot write to topic {record.topic}", detail=str(error)) from error

    def _started(self) -> Producer:
        with self._changed:
            if self._producer is None:
                self._producer = make_producer(self._config, overrides={"linger.ms": "5"})
                threading.Thread(
                    target=self._deliver, args=(self._producer,), name="ksqldb-inserts", daemon=True
                ).start()
            return self._producer

    def _deliver(self, producer: Producer) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._under_way or self._closing)
                if self._closing:
                    return
            producer.poll(1.0)

    def close(self) -> None:
        """Write what is under way, and leave the brokers."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._producer is not None:
            self._producer.flush(_FLUSH_SECONDS)


class RowInserting:
    """See `Inserting`.

    Args:
        context: the state, with the settings of the client.
        target: the name of a stream or table as the client wrote it.
        records: where rows go.

    Raises:
        ServiceError: nothing can be inserted there.
    """

    def __init__(self, context: Context, target: str, records: Records) -> None:
        if not context.settings.get("ksql.insert.into.values.enabled", True):
            raise ServiceError(40000, _DISABLED)
        try:
            source = target_of(context.catalogue, _name(target))
            check_topic(context.settings, source.topic)
            check_key_schema(context.registry, source)
        except SqlError as error:
            raise ServiceError(40001, error.primary, detail=error.detail, hint=error.hint) from error
        self._source = source
        self._records = records
        self._now = context.now
        registry, topic, schema = context.registry, source.topic, source.schema
        self._key = serde(source.formats.key, schema.key, is_key=True, registry=registry, topic=topic)
        self._value = serde(source.formats.value, schema.value, is_key=False, registry=registry, topic=topic)

    def insert(self, row: Mapping[str, Any], done: Done) -> None:
        schema = self._source.schema
        given = {_name(name): value for name, value in row.items()}
        missing = [column.name for column in schema.key if given.get(column.name) is None]
        if missing:
            raise ServiceError(40000, f"Key field must be specified: {', '.join(missing)}")
        try:
            key = tuple(_value(column, given) for column in schema.key)
            value = tuple(_value(column, given) for column in schema.value)
            record = TopicRecord(
                self._source.topic,
                self._key.serialize(key) if key else None,
                self._value.serialize(value),
                self._now(),
            )
        except MillstreamError as error:
            raise ServiceError(40000, error.primary, detail=error.detail, hint=error.hint) from error
        except (ValueError, TypeError, ArithmeticError) as error:
            raise ServiceError(40000, f"Could not serialize row: {error}") from error
        self._records.write(record, done)

    def close(self) -> None:
        pass  # the producer is everybody's


def _name(text: str) -> str:
    """A name as SQL has it: in upper case unless quoted."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in '`"':
        return text[1:-1]
    return text.upper()


def _value(column: Column, given: Mapping[str, Any]) -> Any:
    value = given.get(column.name)
    try:
        return from_json(value, column.type)
    except (SqlError, ValueError, TypeError, ArithmeticError) as error:
        raise SqlError(
            f"Can't coerce a field of type {type(value).__name__} ({value}) into type {column.type}"
        ) from error


def from_json(value: Any, kind: SqlType) -> Any:
    """A value of JSON as one of a SQL type.

    Raises:
        SqlError: it cannot become one.

    >>> from_json([1, 2.5], SqlArray(SqlType(BaseType.DOUBLE)))
    [1.0, 2.5]
    """
    if value is None:
        return None
    if isinstance(kind, SqlArray) and isinstance(value, list):
        return [from_json(item, kind.item) for item in value]
    if isinstance(kind, SqlMap) and isinstance(value, Mapping):
        return {from_json(name, kind.key): from_json(item, kind.value) for name, item in value.items()}
    if isinstance(kind, SqlStruct) and isinstance(value, Mapping):
        given = {_name(name): item for name, item in value.items()}
        return tuple(from_json(given.get(field.name), field.type) for field in kind.fields)
    if isinstance(value, float) and kind.base is BaseType.DECIMAL:
        value = Decimal(str(value))
    return coerce(value, SqlType(_base(value)), kind)


def _base(value: Any) -> BaseType:
    if isinstance(value, bool):
        return BaseType.BOOLEAN
    if isinstance(value, int):
        return BaseType.INTEGER if -_GREATEST_INTEGER - 1 <= value <= _GREATEST_INTEGER else BaseType.BIGINT
    if isinstance(value, float):
        return BaseType.DOUBLE
    if isinstance(value, Decimal):
        return BaseType.DECIMAL
    if isinstance(value, str):
        return BaseType.STRING
    raise SqlError(f"{value!r} is no value of this type")
