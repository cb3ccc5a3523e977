"""Asking the configured handlers what to do about an error, and doing it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from millstream.config import StreamsConfig
from millstream.errors import DeserializationError, ProductionError, StreamsError
from millstream.extractors import ConsumedRecord
from millstream.handlers import (
    Decision,
    DefaultProductionExceptionHandler,
    ErrorHandlerContext,
    LogAndFailProcessingExceptionHandler,
    ProducedRecord,
    Response,
    SerializationOrigin,
)
from millstream.processors.user_context import HostContext
from millstream.records import Headers, Record
from millstream.serdes.serde import AnySerde
from millstream.task.errors.failures import processing_error
from millstream.task.records import Origin, OutputRecord, RawRecord, TracedRecord


def asks_about_refused(config: StreamsConfig) -> bool:
    """Whether a handler of the user's own decides about outputs that the broker refuses, so that they must be kept."""
    handle = getattr(type(config.production_exception_handler), "handle", None)
    return handle is not DefaultProductionExceptionHandler.handle


class FatalError(Exception):
    """Carries the error that ends the task past all further handlers."""

    def __init__(self, error: StreamsError) -> None:
        super().__init__(error)
        self.error = error


class ErrorHandling:
    """The handlers of one task.

    Each method either returns, after the record was counted as dropped, or raises what ends the task.
    """

    def __init__(self, config: StreamsConfig, context: HostContext, outputs: list[OutputRecord]) -> None:
        self._config = config
        self._context = context
        self._outputs = outputs
        #: The last input record, for dead letters; kept up to date only if `keeps_source_records`.
        self.source_record: RawRecord | None = None
        #: The topic and partition it came from.
        self.source_place: tuple[str | None, int] = (None, -1)
        #: True when a node's exception may do anything but end the task, so that every edge must be watched.
        self.guards_nodes = type(config.processing_exception_handler) is not LogAndFailProcessingExceptionHandler
        self.keeps_source_records = (
            self.guards_nodes
            or config.dead_letter_queue_topic is not None
            or type(config.production_exception_handler) is not DefaultProductionExceptionHandler
        )
        self._traces_outputs = asks_about_refused(config)

    def writer(self, node: str) -> Callable[[OutputRecord], None]:
        """What a sink calls with its records."""
        append = self._outputs.append
        if not self._traces_outputs:
            return append
        context = self._context

        def append_traced(record: OutputRecord) -> None:
            traced = TracedRecord(record)
            raw = self.current_source_record()
            traced.origin = Origin(self, node, context.topic, context.partition, context.offset, raw)
            append(traced)

        return append_traced

    def unreadable(
        self, node: str, topic: str, partition: int, raw: RawRecord, serdes: tuple[AnySerde, AnySerde], error: Exception
    ) -> None:
        """An input record's key or value could not be deserialised."""
        key, value, timestamp, headers, offset = raw
        cause: Exception = error
        for serde, data in zip(serdes, (key, value), strict=True):
            if data is not None:
                try:
                    serde.deserialize(data)
                except Exception as again:
                    cause = serde.deserialization_error(data, again)
                    break
        raw_headers = Headers(headers or ())
        consumed = ConsumedRecord(topic, partition, offset, timestamp, key, value, raw_headers)
        context = self._error_context(node, topic, partition, offset, timestamp, raw_headers, raw)
        handler = self._config.deserialization_exception_handler
        response = self._ask("deserialization", node, lambda: handler.handle(context, consumed, cause))
        if response.decision is Decision.RESUME:
            self._context.dropped_records += 1
            return
        failure = DeserializationError(
            "an input record could not be read",
            detail=f"source '{node}', topic '{topic}', partition {partition}, offset {offset}; {cause}",
            hint="give the right serde, or skip such records with a deserialization_exception_handler",
        )
        failure.__cause__ = error
        raise FatalError(failure)

    def unwritable(
        self, node: str, topic: str, record: Record[Any, Any], serdes: tuple[AnySerde, AnySerde], error: Exception
    ) -> None:
        """An output record's key or value could not be serialised."""
        origin, cause = SerializationOrigin.VALUE, error
        for part, serde, data in zip(SerializationOrigin, serdes, (record.key, record.value), strict=True):
            if data is not None:
                try:
                    serde.serialize(data)
                except Exception as again:
                    origin, cause = part, serde.serialization_error(data, again)
                    break
        context = self.current_error_context(node, record.timestamp, record.headers)
        handler = self._config.production_exception_handler
        response = self._ask("production", node, lambda: handler.handle_serialization(context, record, cause, origin))
        if response.decision is Decision.RESUME:
            self._context.drop(node, f"its {origin.value} could not be serialised")
            return
        failure = ProductionError(
            f"the {origin.value} of an output record could not be written",
            detail=f"sink '{node}', topic '{topic}'; {cause}",
            hint="give the right serde where the topic is written",
        )
        failure.__cause__ = error
        raise failure

    def refused(self, record: TracedRecord, error: ProductionError) -> Response:
        """An output record could not be sent: what the handler wants. Its dead letters are the caller's to write."""
        topic, partition, key, value, timestamp, pairs = record
        _, node, source_topic, source_partition, offset, raw = record.origin
        headers = Headers(pairs or ())
        context = self._error_context(node, source_topic, source_partition, offset, timestamp, headers, raw)
        produced = ProducedRecord(topic, key, value, timestamp, headers, partition)
        handler = self._config.production_exception_handler
        try:
            response = self._answer("production", node, lambda: handler.handle(context, produced, error))
        except FatalError as fatal:
            raise fatal.error from fatal.error.__cause__
        if response.decision is Decision.RESUME:
            self._context.dropped_records += 1
        return response

    def node_raised(self, node: str, error: Exception, record: Record[Any, Any] | None, what: str = "process") -> None:
        """A node raised while it processed a record, or (no record) in a punctuation."""
        timestamp = self._context.timestamp if record is None else record.timestamp
        headers = self._context.headers if record is None else record.headers
        context = self.current_error_context(node, timestamp, headers)
        handler = self._config.processing_exception_handler
        response = self._ask("processing", node, lambda: handler.handle(context, record, error))
        if response.decision is Decision.RESUME:
            self._context.dropped_records += 1
            return
        if isinstance(error, ProductionError):
            raise FatalError(error)
        raise FatalError(processing_error(error, what, node, self._context))

    def current_source_record(self) -> RawRecord | None:
        """The input record that the task is at, as it was read; None if that is not known any more.

        In a punctuation there is none. A cache that is flushed is at the record that wrote an entry last, which may
        have been processed long ago.
        """
        raw, task = self.source_record, self._context
        if raw is None or raw[4] != task.offset or self.source_place != (task.topic, task.partition):
            return None
        return raw

    def current_error_context(self, node: str, timestamp: int, headers: Headers | None) -> ErrorHandlerContext:
        """Where the task is."""
        task = self._context
        raw = self.current_source_record()
        return self._error_context(node, task.topic, task.partition, task.offset, timestamp, headers or Headers(), raw)

    def _error_context(
        self,
        node: str,
        topic: str | None,
        partition: int,
        offset: int,
        timestamp: int,
        headers: Headers,
        raw: RawRecord | None,
    ) -> ErrorHandlerContext:
        # A punctuation has no input record, whatever was processed last.
        raw_key, raw_value = (None, None) if raw is None or topic is None else raw[:2]
        return ErrorHandlerContext(
            topic=topic,
            partition=partition,
            offset=offset,
            timestamp=timestamp,
            headers=headers,
            processor_node_id=node,
            task_id=self._context.task_id,
            source_raw_key=raw_key,
            source_raw_value=raw_value,
            dead_letter_queue_topic=self._config.dead_letter_queue_topic,
        )

    def _ask(self, kind: str, node: str, ask: Callable[[], Response]) -> Response:
        """A handler's answer; its dead letters are on their way."""
        response = self._answer(kind, node, ask)
        self._outputs += as_outputs(response.dead_letters)
        return response

    def _answer(self, kind: str, node: str, ask: Callable[[], Response]) -> Response:
        try:
            response = ask()
        except Exception as error:
            failure = StreamsError(
                f"the {kind} exception handler raised an exception itself",
                detail=f"called for node '{node}'; {type(error).__name__}: {error}",
            )
            failure.__cause__ = error
            raise FatalError(failure) from error
        if not isinstance(response, Response):
            raise FatalError(
                StreamsError(
                    f"the {kind} exception handler did not return a Response",
                    detail=f"called for node '{node}', it returned {response!r}",
                    hint="return Response.resume() or Response.fail()",
                )
            )
        return response


def as_outputs(letters: Iterable[ProducedRecord]) -> list[OutputRecord]:
    """Dead letters as a host writes them."""
    return [
        (letter.topic, letter.partition, letter.key, letter.value, letter.timestamp, list(letter.headers) or None)
        for letter in letters
    ]
