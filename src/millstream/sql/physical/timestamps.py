"""Records whose time is in a column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.extractors import ConsumedRecord
from millstream.processors.api import Processor, ProcessorContext
from millstream.records import Record, Windowed
from millstream.sql.errors import SqlError
from millstream.sql.functions.java.time import timestamp_parser
from millstream.sql.physical.flow import Surroundings
from millstream.sql.plan.steps import Step
from millstream.sql.processing_log import ProcessingLog, record_error
from millstream.sql.schema.columns import Namespace, Schema
from millstream.sql.schema.formats import TimestampColumn
from millstream.sql.schema.types import BaseType

#: What makes the engine skip a record.
_INVALID = -1

_Read = Callable[[Any, Any], int]


def timestamp_extractor(
    timestamp: TimestampColumn, schema: Schema, around: Surroundings, step: Step
) -> Callable[[ConsumedRecord, int], int]:
    """What finds the time of records that are read."""
    read = _reader(timestamp, schema)
    throws = str(around.settings.get("ksql.timestamp.throw.on.invalid", False)).lower() == "true"
    log, logger = around.log, around.logger(step)

    def extract(record: ConsumedRecord, partition_time: int) -> int:
        if record.value is None:
            return record.timestamp
        try:
            return read(record.key, record.value)
        except Exception as error:
            if throws:
                raise
            message = f"Failed to extract timestamp from row: {error}"
            log.error(logger, record_error(message, error))
            return _INVALID

    return extract


class TimestampProcessor(Processor[Any, Any, Any, Any]):
    """Gives records that are written the time in their column."""

    def __init__(self, read: _Read, log: ProcessingLog, logger: str) -> None:
        self._read = read
        self._log = log
        self._logger = logger

    def init(self, context: ProcessorContext[Any, Any]) -> None:
        self._context = context

    def process(self, record: Record[Any, Any]) -> None:
        try:
            if record.value is None:
                timestamp = self._context.current_stream_time_ms()
            else:
                timestamp = self._read(record.key, record.value)
            if timestamp < 0:
                raise SqlError(f"Negative timestamps are not possible: {timestamp}")
        except Exception as error:
            message = f"Error writing row with extracted timestamp: {error}"
            self._log.error(self._logger, record_error(message, error))
            return
        self._context.forward(record.with_timestamp(timestamp))


def sink_timestamps(
    timestamp: TimestampColumn, schema: Schema, around: Surroundings, step: Step
) -> Callable[[], TimestampProcessor]:
    """What makes the processor of a sink with a TIMESTAMP column."""
    read = _reader(timestamp, schema)
    log, logger = around.log, around.logger(step)
    return lambda: TimestampProcessor(read, log, logger)


def _reader(timestamp: TimestampColumn, schema: Schema) -> _Read:
    """From a record's key and row to its time."""
    column = schema.find(timestamp.name)
    if column is None:
        raise SqlError(f"The TIMESTAMP column set in the WITH clause does not exist in the schema: '{timestamp.name}'")
    parse: Callable[[Any], int] = _whole
    if column.type.base is BaseType.STRING and timestamp.format is not None:
        parse = timestamp_parser(timestamp.format).timestamp
    if column.namespace is Namespace.KEY:
        index = schema.key.index(column)

        def from_key(key: Any, row: Any) -> int:
            plain = key.key if isinstance(key, Windowed) else key
            return parse(plain[index])

        return from_key
    index = schema.value_index(timestamp.name)
    return lambda key, row: parse(row[index])


def _whole(value: Any) -> int:
    if value is None:
        raise SqlError("the column is NULL")
    return int(value)
