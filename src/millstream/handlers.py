"""What happens to a record that cannot be read, processed or written.

A handler is an object with `handle(context, record, exception) -> Response`. The built-in ones log, and send the input
record to the dead-letter queue when `dead_letter_queue_topic` is set.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol

from millstream.extractors import ConsumedRecord
from millstream.records import Headers, Record

log = logging.getLogger("millstream.handlers")


class ProducedRecord(NamedTuple):
    """A record on its way to a topic, serialised. Without a partition, its key chooses one."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers
    partition: int | None = None


class Decision(Enum):
    """What a handler wants."""

    #: Drop the record and go on.
    RESUME = "resume"
    #: Stop the task.
    FAIL = "fail"
    #: Try to write the record again. For production errors only.
    RETRY = "retry"


@dataclass(frozen=True)
class Response:
    """A handler's answer: the decision, and records to write to dead-letter queues, whatever the decision.

    >>> Response.resume().decision
    <Decision.RESUME: 'resume'>
    """

    decision: Decision
    dead_letters: tuple[ProducedRecord, ...] = ()

    @classmethod
    def resume(cls, dead_letters: Iterable[ProducedRecord] = ()) -> Response:
        """Drop the record and go on."""
        return cls(Decision.RESUME, tuple(dead_letters))

    @classmethod
    def fail(cls, dead_letters: Iterable[ProducedRecord] = ()) -> Response:
        """Stop the task."""
        return cls(Decision.FAIL, tuple(dead_letters))

    @classmethod
    def retry(cls) -> Response:
        """Try to write the record again. For production errors only."""
        return cls(Decision.RETRY)


@dataclass(frozen=True, kw_only=True)
class ErrorHandlerContext:
    """Where an error happened, and the input record that led to it.

    Args:
        topic: of the input record; None in a punctuation.
        partition: of the input record; -1 in a punctuation.
        offset: of the input record; -1 in a punctuation.
        timestamp: of the record in process.
        headers: of the record in process.
        processor_node_id: the name of the node that raised.
        task_id: the task, `<sub-topology>_<partition>`.
        source_raw_key: the input record's key as it was read; None when there is no such record.
        source_raw_value: the input record's value as it was read.
        dead_letter_queue_topic: the topic configured for dead letters.
    """

    topic: str | None
    partition: int
    offset: int
    timestamp: int
    headers: Headers
    processor_node_id: str
    task_id: str
    source_raw_key: bytes | None = None
    source_raw_value: bytes | None = None
    dead_letter_queue_topic: str | None = None

    def dead_letters(self, exception: BaseException) -> tuple[ProducedRecord, ...]:
        """The input record for the dead-letter queue, the error in its headers; none if no queue is configured."""
        if self.dead_letter_queue_topic is None:
            return ()
        headers = self.headers.copy()
        for name, text in (
            ("exception", _class_name(exception)),
            ("message", str(exception)),
            # Of the header's content nothing is fixed, so that it can say what Kafka Streams has no header for.
            ("stacktrace", "".join(traceback.format_exception(exception)) + self._place()),
            ("topic", self.topic),
            ("partition", str(self.partition)),
            ("offset", str(self.offset)),
        ):
            # Text from outside may hold what is no Unicode; a dead letter must not fail for it.
            headers.add(f"__streams.errors.{name}", None if text is None else text.encode(errors="replace"))
        record = ProducedRecord(
            self.dead_letter_queue_topic, self.source_raw_key, self.source_raw_value, self.timestamp, headers
        )
        return (record,)

    def _place(self) -> str:
        return f"at node {self.processor_node_id} of task {self.task_id}\n"

    def __str__(self) -> str:
        return (
            f"node {self.processor_node_id}, task {self.task_id}, "
            f"topic {self.topic}, partition {self.partition}, offset {self.offset}"
        )


class DeserializationExceptionHandler(Protocol):
    """Decides about input records whose bytes cannot be read."""

    def handle(self, context: ErrorHandlerContext, record: ConsumedRecord, exception: Exception) -> Response:
        """Decide: resume or fail. The record's key and value are bytes or None."""


class ProcessingExceptionHandler(Protocol):
    """Decides when a node raises."""

    def handle(self, context: ErrorHandlerContext, record: Record[Any, Any] | None, exception: Exception) -> Response:
        """Decide: resume or fail. The record is the one the node was given; None in a punctuation."""


class SerializationOrigin(Enum):
    """Which half of a record could not be serialised."""

    KEY = "key"
    VALUE = "value"


class ProductionExceptionHandler(Protocol):
    """Decides about output records that cannot be serialised or sent."""

    def handle(self, context: ErrorHandlerContext, record: ProducedRecord, exception: Exception) -> Response:
        """Decide about a record that could not be sent: resume, fail or retry."""

    def handle_serialization(
        self,
        context: ErrorHandlerContext,
        record: Record[Any, Any],
        exception: Exception,
        origin: SerializationOrigin,
    ) -> Response:
        """Decide about a record that could not be serialised: resume, or fail, as it is unless overridden."""
        return Response.fail(context.dead_letters(exception))


@dataclass(frozen=True)
class LogAndFailExceptionHandler:
    """Input that cannot be read stops the task. The default."""

    def handle(self, context: ErrorHandlerContext, record: ConsumedRecord, exception: Exception) -> Response:
        """Log and fail."""
        log.error("cannot read a record, stopping: %s", context, exc_info=exception)
        return Response.fail(context.dead_letters(exception))


@dataclass(frozen=True)
class LogAndContinueExceptionHandler:
    """Input that cannot be read is dropped."""

    def handle(self, context: ErrorHandlerContext, record: ConsumedRecord, exception: Exception) -> Response:
        """Log and resume."""
        log.warning("cannot read a record, skipping it: %s", context, exc_info=exception)
        return Response.resume(context.dead_letters(exception))


@dataclass(frozen=True)
class LogAndFailProcessingExceptionHandler:
    """A node that raises stops the task. The default."""

    def handle(self, context: ErrorHandlerContext, record: Record[Any, Any] | None, exception: Exception) -> Response:
        """Log and fail."""
        log.error("processing failed, stopping: %s", context, exc_info=exception)
        return Response.fail(context.dead_letters(exception))


@dataclass(frozen=True)
class LogAndContinueProcessingExceptionHandler:
    """A record for which a node raises is dropped there; other branches of the topology still get it."""

    def handle(self, context: ErrorHandlerContext, record: Record[Any, Any] | None, exception: Exception) -> Response:
        """Log and resume."""
        log.warning("processing failed, skipping the record: %s", context, exc_info=exception)
        return Response.resume(context.dead_letters(exception))


@dataclass(frozen=True)
class DefaultProductionExceptionHandler(ProductionExceptionHandler):
    """Output that cannot be sent is tried again if the exception has a true `retriable`, else stops the task."""

    def handle(self, context: ErrorHandlerContext, record: ProducedRecord, exception: Exception) -> Response:
        """Retry or fail."""
        if getattr(exception, "retriable", False) is True:
            return Response.retry()
        return Response.fail(context.dead_letters(exception))


def _class_name(exception: BaseException) -> str:
    kind = type(exception)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
