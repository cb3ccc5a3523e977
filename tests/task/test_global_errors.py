"""What becomes of an exception in the processor of a global store."""

from __future__ import annotations

from typing import Any

import pytest

from millstream import (
    Consumed,
    ErrorHandlerContext,
    LogAndContinueProcessingExceptionHandler,
    ProcessingError,
    Processor,
    Record,
    Response,
    Serdes,
    Stores,
    StreamsBuilder,
    StreamsConfig,
)
from millstream.testing import TopologyTestDriver

TEXT = (Serdes.string, Serdes.string)


class Fill(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        if record.value == "bad":
            raise ValueError("cannot take this")
        self.context.state_store("cities").put(record.key, record.value)


class Asked:
    """A handler that notes what it is asked."""

    def __init__(self, answer: Response) -> None:
        self.answer = answer
        self.heard: list[tuple[ErrorHandlerContext, Any]] = []

    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> Response:
        self.heard.append((context, record))
        return self.answer


def driver(config: StreamsConfig) -> TopologyTestDriver:
    builder = StreamsBuilder()
    store = Stores.key_value_store(Stores.in_memory_key_value("cities"), *TEXT).without_logging()
    builder.add_global_store(store, "cities", Consumed(*TEXT), Fill)
    return TopologyTestDriver(builder.build(), config)


def test_it_ends_the_application_whatever_the_handler_would_say() -> None:
    config = StreamsConfig(processing_exception_handler=LogAndContinueProcessingExceptionHandler())
    with driver(config) as run, pytest.raises(ProcessingError, match="cannot take this"):
        run.input_topic("cities", *TEXT).pipe("a", "bad")


def test_the_handler_is_asked_if_told_so() -> None:
    handler = Asked(Response.resume())
    config = StreamsConfig(processing_exception_handler=handler, processing_exception_handler_global_enabled=True)
    with driver(config) as run:
        run.input_topic("cities", *TEXT).pipe_key_values([("a", "bad"), ("b", "Rome")], start=7)
        assert list(run.key_value_store("cities").all()) == [("b", "Rome")]
        assert run.dropped_records_total == 1
    ((context, record),) = handler.heard
    assert (context.topic, context.partition, context.offset) == ("cities", 0, 0)
    assert (context.source_raw_key, context.source_raw_value) == (b"a", b"bad")
    assert (context.processor_node_id, context.task_id) == ("KTABLE-SOURCE-0000000001", "-1_-1")
    assert (record.key, record.value, record.timestamp) == ("a", "bad", 7)


def test_the_handler_may_fail_too() -> None:
    config = StreamsConfig(
        processing_exception_handler=Asked(Response.fail()), processing_exception_handler_global_enabled=True
    )
    with driver(config) as run, pytest.raises(ProcessingError, match="cannot take this"):
        run.input_topic("cities", *TEXT).pipe("a", "bad")
