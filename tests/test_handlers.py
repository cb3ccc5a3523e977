"""The built-in exception handlers, their dead letters, and the timestamp extractors."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest

from millstream.errors import ProcessingError, StreamsError
from millstream.extractors import (
    ConsumedRecord,
    FailOnInvalidTimestamp,
    LogAndSkipOnInvalidTimestamp,
    TimestampExtractor,
    UsePartitionTimeOnInvalidTimestamp,
    WallclockTimestampExtractor,
)
from millstream.handlers import (
    Decision,
    DefaultProductionExceptionHandler,
    ErrorHandlerContext,
    LogAndContinueExceptionHandler,
    LogAndContinueProcessingExceptionHandler,
    LogAndFailExceptionHandler,
    LogAndFailProcessingExceptionHandler,
    ProducedRecord,
    ProductionExceptionHandler,
    Response,
    SerializationOrigin,
)
from millstream.records import Headers, Record

CONTEXT = ErrorHandlerContext(
    topic="orders",
    partition=2,
    offset=40,
    timestamp=1000,
    headers=Headers([("trace", b"1")]),
    processor_node_id="KSTREAM-FILTER-0000000001",
    task_id="0_2",
    source_raw_key=b"k",
    source_raw_value=b"v",
)
WITH_QUEUE = replace(CONTEXT, dead_letter_queue_topic="dlq")
RECORD = ConsumedRecord("orders", 2, 40, 1000, b"k", b"v", Headers())
OUTPUT = ProducedRecord("totals", b"k", b"v", 1000, Headers())


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


@pytest.mark.parametrize(
    ("handler", "decision", "level"),
    [
        (LogAndFailExceptionHandler(), Decision.FAIL, logging.ERROR),
        (LogAndContinueExceptionHandler(), Decision.RESUME, logging.WARNING),
        (LogAndFailProcessingExceptionHandler(), Decision.FAIL, logging.ERROR),
        (LogAndContinueProcessingExceptionHandler(), Decision.RESUME, logging.WARNING),
    ],
)
def test_built_in(handler: Any, decision: Decision, level: int, caplog: pytest.LogCaptureFixture) -> None:
    response = handler.handle(CONTEXT, RECORD, raised(ValueError("boom")))
    assert response == Response(decision)
    (logged,) = caplog.records
    assert logged.levelno == level
    assert "KSTREAM-FILTER-0000000001, task 0_2, topic orders, partition 2, offset 40" in logged.getMessage()
    assert logged.exc_info

    (letter,) = handler.handle(WITH_QUEUE, RECORD, raised(ValueError("boom"))).dead_letters
    assert letter.topic == "dlq"


def test_dead_letter() -> None:
    (letter,) = WITH_QUEUE.dead_letters(raised(ProcessingError("no \udc80 region")))
    assert (letter.key, letter.value, letter.timestamp, letter.partition) == (b"k", b"v", 1000, None)
    headers = list(letter.headers)
    stacktrace = headers.pop(3)
    assert headers == [
        ("trace", b"1"),
        ("__streams.errors.exception", b"millstream.errors.ProcessingError"),
        ("__streams.errors.message", b"no ? region"),
        ("__streams.errors.topic", b"orders"),
        ("__streams.errors.partition", b"2"),
        ("__streams.errors.offset", b"40"),
    ]
    assert stacktrace[0] == "__streams.errors.stacktrace"
    assert stacktrace[1] is not None
    assert b"test_handlers.py" in stacktrace[1]
    assert b"\nat node KSTREAM-FILTER-0000000001 of task " in stacktrace[1]
    assert list(CONTEXT.headers) == [("trace", b"1")]  # the record's own headers are left alone


def test_dead_letter_of_a_punctuation() -> None:
    context = replace(
        WITH_QUEUE, topic=None, partition=-1, offset=-1, source_raw_key=None, source_raw_value=None, headers=Headers()
    )
    (letter,) = context.dead_letters(ValueError("boom"))
    assert letter.key is None
    assert letter.headers.last("__streams.errors.exception") == b"ValueError"
    assert letter.headers.last("__streams.errors.topic") is None
    assert letter.headers.last("__streams.errors.offset") == b"-1"


class Unreachable(Exception):
    retriable = True


def test_production() -> None:
    handler = DefaultProductionExceptionHandler()
    assert handler.handle(CONTEXT, OUTPUT, Unreachable()) == Response.retry()
    assert handler.handle(CONTEXT, OUTPUT, ValueError()).decision is Decision.FAIL
    assert len(handler.handle(WITH_QUEUE, OUTPUT, ValueError()).dead_letters) == 1
    record = Record("k", "v", 1000)
    assert handler.handle_serialization(CONTEXT, record, ValueError(), SerializationOrigin.VALUE) == Response.fail()


def test_own_production_handler_inherits_the_rest() -> None:
    class Lenient(ProductionExceptionHandler):
        def handle(self, context: ErrorHandlerContext, record: ProducedRecord, exception: Exception) -> Response:
            return Response.resume([record])

    assert Lenient().handle(CONTEXT, OUTPUT, ValueError()).dead_letters == (OUTPUT,)
    record = Record("k", "v", 1000)
    assert Lenient().handle_serialization(CONTEXT, record, ValueError(), SerializationOrigin.KEY) == Response.fail()


def at(timestamp: int) -> ConsumedRecord:
    return RECORD._replace(timestamp=timestamp)


@pytest.mark.parametrize(
    "extract", [FailOnInvalidTimestamp(), LogAndSkipOnInvalidTimestamp(), UsePartitionTimeOnInvalidTimestamp()]
)
def test_a_valid_timestamp_is_taken(extract: TimestampExtractor) -> None:
    assert extract(at(5), 9) == 5
    assert extract(at(0), 9) == 0


def test_invalid_timestamps(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(StreamsError, match="topic orders, partition 2, offset 40 has timestamp -1"):
        FailOnInvalidTimestamp()(at(-1), 9)
    assert UsePartitionTimeOnInvalidTimestamp()(at(-1), 9) == 9
    with pytest.raises(StreamsError, match="nor has its partition a time yet"):
        UsePartitionTimeOnInvalidTimestamp()(at(-1), -1)
    assert not caplog.records
    assert LogAndSkipOnInvalidTimestamp()(at(-1), 9) == -1
    assert "offset 40 has timestamp -1" in caplog.text


def test_wallclock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 12.345)
    assert WallclockTimestampExtractor()(at(-1), -1) == 12345
