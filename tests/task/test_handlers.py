"""What the configured handlers decide, and where dead letters go."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.errors import ProcessingError, ProductionError, StreamsError
from millstream.handlers import (
    DefaultProductionExceptionHandler,
    LogAndContinueExceptionHandler,
    LogAndContinueProcessingExceptionHandler,
    LogAndFailProcessingExceptionHandler,
    Response,
    SerializationOrigin,
)
from millstream.processors.api import Processor
from millstream.records import Record


class Asked:
    """A handler that notes what it is asked and gives a fixed answer."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.calls: list[Any] = []

    def handle(self, context: Any, record: Any, exception: Exception) -> Any:
        self.calls.append((context, record, exception))
        return self.answer


class SkipUnwritable(DefaultProductionExceptionHandler):
    def handle_serialization(self, context: Any, record: Any, exception: Exception, origin: Any) -> Response:
        assert origin is SerializationOrigin.VALUE
        return Response.resume()


def fail_on_bad(value: str) -> str:
    if value == "bad":
        raise ValueError("boom")
    return value


def letters(outputs: list[Any]) -> list[Any]:
    """Dead letters: key, value, timestamp, and the error headers without the stack trace."""
    found = []
    for topic, _, key, value, timestamp, headers in outputs:
        if topic == "dlq":
            told = {name.rsplit(".", 1)[-1]: text.decode() for name, text in headers}
            del told["stacktrace"]
            found.append((key, value, timestamp, told))
    return found


def test_resuming_loses_the_record_at_the_failing_node_only(
    source: Any, sink: Any, harness: Any, do: Any, tap: Any, process: Any
) -> None:
    log: list[str] = []
    topology = source().add_operator("parent", lambda: tap(log), "source")
    topology.add_operator("failing", lambda: do(fail_on_bad), "parent").add_operator(
        "sibling", lambda: do(str), "parent"
    )
    handler = LogAndContinueProcessingExceptionHandler()
    runs = harness(sink(topology, "failing", "sibling"), processing_exception_handler=handler)
    runs.add("in", ("k", "bad", 0), ("k", "good", 1))
    process(runs.task)

    assert runs.values() == ["bad", "good", "good"]
    assert log == ["parent<bad", "parent>bad", "parent<good", "parent>good"]
    assert runs.task.metrics.dropped_records == 1


def test_a_handler_is_told_the_node_the_record_and_the_source(source: Any, harness: Any, do: Any, process: Any) -> None:
    asked = Asked(Response.resume())
    topology = source().add_operator("outer", lambda: do(str.lower), "source")
    topology.add_operator("inner", lambda: do(fail_on_bad), "outer")
    runs = harness(topology, processing_exception_handler=asked)
    runs.add("in", ("k", "OK", 0), ("k", "BAD", 7))
    process(runs.task)

    [(context, record, exception)] = asked.calls
    assert (context.processor_node_id, context.task_id, context.topic, context.offset) == ("inner", "0_0", "in", 1)
    assert (context.source_raw_key, context.source_raw_value, context.timestamp) == (b"k", b"BAD", 7)
    assert record == Record("k", "bad", 7)
    assert isinstance(exception, ValueError)


def test_a_handler_that_says_fail_is_asked_once(source: Any, harness: Any, do: Any, tap: Any, process: Any) -> None:
    asked = Asked(Response.fail())
    topology = source().add_operator("outer", lambda: tap([]), "source")
    topology.add_operator("inner", lambda: do(fail_on_bad), "outer")
    runs = harness(topology, processing_exception_handler=asked)
    runs.add("in", ("k", "bad", 0))

    with pytest.raises(ProcessingError, match="node 'inner'") as raised:
        process(runs.task)
    assert isinstance(raised.value.__cause__, ValueError)
    assert len(asked.calls) == 1


def test_a_handler_that_raises_ends_the_task(source: Any, harness: Any, do: Any) -> None:
    class Broken:
        def handle(self, *_: Any) -> Response:
            raise RuntimeError("oops")

    runs = harness(source().add_operator("n", lambda: do(fail_on_bad), "source"), processing_exception_handler=Broken())
    runs.add("in", ("k", "bad", 0))
    with pytest.raises(StreamsError, match="the processing exception handler raised an exception itself"):
        runs.task.process_all()


def test_a_handler_must_answer(source: Any, harness: Any, do: Any) -> None:
    topology = source().add_operator("n", lambda: do(fail_on_bad), "source")
    runs = harness(topology, processing_exception_handler=Asked(None))
    runs.add("in", ("k", "bad", 0))
    with pytest.raises(StreamsError, match="did not return a Response"):
        runs.task.process_all()


def test_unreadable_input_can_be_skipped(source: Any, sink: Any, harness: Any, process: Any) -> None:
    handler = LogAndContinueExceptionHandler()
    runs = harness(sink(source(), "source"), deserialization_exception_handler=handler)
    runs.add("in", (b"k", b"\xff", 0), (b"k", b"a", 1), (b"\xff", b"v", 2), (b"k", b"b", 3), (b"k", b"\xff", 4))
    process(runs.task)

    assert runs.values() == ["a", "b"]
    assert runs.task.metrics.dropped_records == 3
    assert not runs.task.has_records


def test_unwritable_output_can_be_skipped(source: Any, sink: Any, harness: Any, do: Any, process: Any) -> None:
    def some_number(value: str) -> Any:
        return 1 if value == "bad" else value

    topology = sink(source().add_operator("n", lambda: do(some_number), "source"), "n")
    runs = harness(topology, production_exception_handler=SkipUnwritable())
    runs.add("in", ("k", "bad", 0), ("k", "good", 1))
    process(runs.task)

    assert runs.values() == ["good"]
    assert runs.task.metrics.dropped_records == 1


def test_output_that_ends_the_task_passes_the_parents_handler_first(
    source: Any, sink: Any, harness: Any, do: Any
) -> None:
    topology = sink(source().add_operator("n", lambda: do(len), "source"), "n")
    asked = Asked(Response.resume())
    runs = harness(topology, processing_exception_handler=asked)
    runs.add("in", ("k", "v", 0))
    runs.task.process_all()
    [(context, _, exception)] = asked.calls
    assert context.processor_node_id == "n"
    assert isinstance(exception, ProductionError)

    runs = harness(topology, processing_exception_handler=Asked(Response.fail()))
    runs.add("in", ("k", "v", 0))
    with pytest.raises(ProductionError):
        runs.task.process_all()


@pytest.mark.parametrize(
    "handler", [LogAndFailProcessingExceptionHandler(), LogAndContinueProcessingExceptionHandler()]
)
def test_dead_letters_are_sent_whatever_the_decision(
    source: Any, harness: Any, do: Any, process: Any, handler: Any
) -> None:
    topology = source().add_operator("n", lambda: do(fail_on_bad), "source")
    runs = harness(topology, processing_exception_handler=handler, dead_letter_queue_topic="dlq")
    runs.add("in", ("k", "good", 0), ("k", "bad", 5))
    try:
        process(runs.task)
    except ProcessingError:
        assert isinstance(handler, LogAndFailProcessingExceptionHandler)

    told = {"exception": "ValueError", "message": "boom", "topic": "in", "partition": "0", "offset": "1"}
    assert letters(runs.task.take_outputs()) == [(b"k", b"bad", 5, told)]


def test_the_dead_letter_of_unreadable_input_is_the_input(source: Any, harness: Any, process: Any) -> None:
    handler = LogAndContinueExceptionHandler()
    runs = harness(source(), deserialization_exception_handler=handler, dead_letter_queue_topic="dlq")
    runs.add("in", ("k", "v", 0), (b"k", b"\xff", 3))
    process(runs.task)

    [(key, value, timestamp, told)] = letters(runs.task.take_outputs())
    assert (key, value, timestamp, told["offset"]) == (b"k", b"\xff", 3, "1")


def test_user_processors_are_guarded_too(source: Any, sink: Any, harness: Any, process: Any) -> None:
    class Flaky(Processor[str, str, str, str]):
        def process(self, record: Record[str, str]) -> None:
            self.context.forward(record)
            fail_on_bad(record.value)
            self.context.forward(record, "sink")

    handler = LogAndContinueProcessingExceptionHandler()
    runs = harness(sink(source().add_processor("p", Flaky, "source"), "p"), processing_exception_handler=handler)
    runs.add("in", ("k", "bad", 0), ("k", "good", 1))
    process(runs.task)

    assert runs.values() == ["bad", "good", "good"]
