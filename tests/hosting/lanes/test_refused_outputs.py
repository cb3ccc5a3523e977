"""Outputs that Kafka does not take: the production handler decides, and what it lets pass is written once."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from confluent_kafka import Message

from millstream import (
    Consumed,
    DefaultProductionExceptionHandler,
    ErrorHandlerContext,
    Grouped,
    Produced,
    ProducedRecord,
    Response,
    Serdes,
    StreamsBuilder,
    Topology,
)
from millstream.hosting.producing.transactions import PRODUCER_SETTINGS

from .conftest import LaneService, until

Make = Callable[..., str]
Produce = Callable[..., None]
Consume = Callable[..., list[Message]]

TEXTS = Serdes.string, Serdes.string
LARGE = "x" * 150_000
GUARANTEES = pytest.mark.parametrize("guarantee", ["exactly_once_v2", "at_least_once"])


@dataclass(frozen=True)
class GoOn(DefaultProductionExceptionHandler):
    """Skips what is refused, and sends a dead letter if there is a topic for them."""

    def handle(self, context: ErrorHandlerContext, record: ProducedRecord, exception: Exception) -> Response:
        return Response.resume(context.dead_letters(exception))


@dataclass(frozen=True)
class Fails(DefaultProductionExceptionHandler):
    """Has the application end."""

    def handle(self, context: ErrorHandlerContext, record: ProducedRecord, exception: Exception) -> Response:
        return Response.fail()


@dataclass(frozen=True)
class Raises(DefaultProductionExceptionHandler):
    """Is itself at fault."""

    def handle(self, context: ErrorHandlerContext, record: ProducedRecord, exception: Exception) -> Response:
        raise LookupError("no idea")


def copying(source: str, *targets: str) -> Topology:
    """Copies records to topics; a value that begins with `to ` goes to the topic that follows."""
    builder = StreamsBuilder()
    stream = builder.stream(source, Consumed(*TEXTS))
    for target in targets:
        stream.filter(lambda key, value: not value.startswith("to ")).to(target, Produced(*TEXTS))
    stream.filter(lambda key, value: value.startswith("to ")).to(
        lambda key, value, context: value.removeprefix("to "), Produced(*TEXTS)
    )
    return builder.build()


def run(lanes: LaneService, topology: Topology, handler: object | None = None, **options: Any) -> None:
    """Have one lane run a query with a handler."""
    chosen = DefaultProductionExceptionHandler() if handler is None else handler
    lanes.config = replace(lanes.config, production_exception_handler=chosen, **options)  # type: ignore[arg-type]
    lanes.run("q", topology)
    lanes.start()


def values(messages: list[Message]) -> list[str]:
    return [(message.value() or b"").decode() for message in messages]


def last_ones(found: list[str]) -> list[str]:
    """Each text where it came last."""
    return list(dict.fromkeys(reversed(found)))[::-1]


def caught_up(lanes: LaneService, processed: int) -> None:
    """Wait until so many records are processed and committed."""

    def is_done() -> bool:
        figures = lanes.lanes[0].figures("q")
        return figures is not None and figures.processed == processed and not any(figures.lags.values())

    until(is_done)


def dropped(lanes: LaneService) -> int:
    figures = lanes.lanes[0].figures("q")
    return 0 if figures is None else figures.dropped


def error_of(lanes: LaneService) -> str:
    """What a query ended with."""
    until(lambda: lanes.failures("q"))
    return lanes.failures("q")[0].error


@GUARANTEES
def test_a_record_that_the_topic_does_not_take_is_skipped_and_the_others_are_written(
    lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume, guarantee: str
) -> None:
    source, out, other = make_topic(1), make_topic(1, max_message_bytes="100000"), make_topic(1)
    texts = [str(number) for number in range(90)]
    produce(source, [("k", text) for text in [*texts[:50], LARGE, *texts[50:]]])
    run(lanes, copying(source, out, other), GoOn(), processing_guarantee=guarantee)
    caught_up(lanes, 91)
    produce(source, [("k", "end"), ("big", LARGE), ("k", "very end")])
    caught_up(lanes, 94)
    expected = [*texts, "end", "very end"]
    until(lambda: dropped(lanes) == 2)
    found = values(consume(out))
    if guarantee == "exactly_once_v2":
        assert found == expected
        assert values(consume(other)) == [*texts[:50], LARGE, *texts[50:], "end", LARGE, "very end"]
    else:  # some may have come twice, with those behind them
        assert last_ones(found) == expected
    figures = lanes.lanes[0].figures("q")
    assert figures is not None
    assert figures.counted["written"] == 2 * len(expected) + 2
    assert lanes.failures("q") == []


def test_counts_go_on_behind_what_is_left_out(
    lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume
) -> None:
    """The state has what was counted; only its message is missing."""
    source, out = make_topic(2), make_topic(1, max_message_bytes="100000")
    builder = StreamsBuilder()
    counted = builder.stream(source, Consumed(*TEXTS)).group_by_key(Grouped(*TEXTS)).count()
    counted.to_stream().map_values(lambda count: LARGE if count == 3 else str(count)).to(out, Produced(*TEXTS))
    run(lanes, builder.build(), GoOn())
    produce(source, [(key, "x") for _ in range(6) for key in "abcd"])
    found: dict[str, list[str]] = {}
    for message in consume(out, 20):
        found.setdefault((message.key() or b"").decode(), []).append((message.value() or b"").decode())
    assert found == {key: ["1", "2", "4", "5", "6"] for key in "abcd"}


@GUARANTEES
def test_small_records_that_are_too_many_for_a_batch_of_the_topic_are_all_written(
    lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume, guarantee: str
) -> None:
    source, out = make_topic(1), make_topic(1, max_message_bytes="10000")
    texts = [f"{number:04}" + "y" * 100 for number in range(600)]
    produce(source, [("k", text) for text in texts])
    run(lanes, copying(source, out), GoOn(), processing_guarantee=guarantee)
    caught_up(lanes, 600)
    until(lambda: last_ones(values(consume(out))) == texts)
    assert dropped(lanes) == 0


def test_a_record_that_the_client_does_not_take_leaves_a_dead_letter(
    lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume
) -> None:
    source, out, dead = make_topic(1), make_topic(1), make_topic(1)
    builder = StreamsBuilder()
    stream = builder.stream(source, Consumed(*TEXTS))
    stream.map_values(lambda value: value * 1000).to(out, Produced(*TEXTS))
    limit = {"producer.message.max.bytes": "5000"}
    produce(source, [("a", "1"), ("b", "too large"), ("c", "3")])
    run(lanes, builder.build(), GoOn(), dead_letter_queue_topic=dead, client=limit)
    assert [value[0] for value in values(consume(out, 2))] == ["1", "3"]
    assert values(consume(dead, 1)) == ["too large"]


def test_a_compacted_topic_refuses_only_the_record_without_a_key(
    lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume
) -> None:
    source, out, dead = make_topic(1), make_topic(1, cleanup_policy="compact"), make_topic(1)
    produce(source, [("a", "1"), (None, "2"), ("c", "3"), (None, "4"), ("e", "5")])
    run(lanes, copying(source, out), GoOn(), dead_letter_queue_topic=dead)
    assert values(consume(out, 3)) == ["1", "3", "5"]
    letters = consume(dead, 2)
    assert values(letters) == ["2", "4"]
    headers = dict(letters[1].headers() or ())
    assert headers["__streams.errors.topic"] == source.encode()
    assert headers["__streams.errors.offset"] == b"3"
    until(lambda: dropped(lanes) == 2)


@GUARANTEES
def test_a_topic_that_is_chosen_and_is_not_there(
    lanes: LaneService,
    make_topic: Make,
    produce: Produce,
    consume: Consume,
    guarantee: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(PRODUCER_SETTINGS, "topic.metadata.propagation.max.ms", "2000")
    source, out = make_topic(1), make_topic(1)
    missing = f"missing-{uuid.uuid4().hex[:8]}"
    produce(source, [("a", "1"), ("b", f"to {missing}"), ("c", "3"), ("d", f"to {missing}")])
    run(lanes, copying(source, out), GoOn(), processing_guarantee=guarantee)
    assert last_ones(values(consume(out, 2))) == ["1", "3"]
    until(lambda: dropped(lanes) == 2)


@GUARANTEES
@pytest.mark.parametrize("limit", ["topic", "producer"])
@pytest.mark.parametrize("handler", [None, Fails()])
def test_the_error_names_what_was_refused_and_the_setting(
    lanes: LaneService,
    make_topic: Make,
    produce: Produce,
    consume: Consume,
    guarantee: str,
    limit: str,
    handler: object,
) -> None:
    source, out = make_topic(1), make_topic(1, **({"max_message_bytes": "100000"} if limit == "topic" else {}))
    produce(source, [("a", "1"), ("big", LARGE), ("c", "3")])
    most = "10000000" if limit == "topic" else "100000"
    client = {"producer.message.max.bytes": most}
    run(lanes, copying(source, out), handler, processing_guarantee=guarantee, client=client)
    told = error_of(lanes)
    assert "an output record is too large" in told
    assert out in told
    assert "b'big'" in told
    assert "150,003 bytes" in told
    assert "at most 100,000" in told
    assert ("max.message.bytes" if limit == "topic" else "producer.message.max.bytes") in told
    assert "KSTREAM-SINK" in told
    if guarantee == "exactly_once_v2":
        assert consume(out) == []


def test_a_handler_that_raises_is_told(lanes: LaneService, make_topic: Make, produce: Produce) -> None:
    source, out = make_topic(1), make_topic(1, max_message_bytes="100000")
    produce(source, [("big", LARGE)])
    run(lanes, copying(source, out), Raises())
    told = error_of(lanes)
    assert "the production exception handler raised an exception itself" in told
    assert "LookupError: no idea" in told


@GUARANTEES
def test_a_topic_that_is_deleted_while_the_query_runs_is_named(
    lanes: LaneService,
    make_topic: Make,
    produce: Produce,
    consume: Consume,
    guarantee: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(PRODUCER_SETTINGS, "topic.metadata.propagation.max.ms", "2000")
    source, out = make_topic(1), make_topic(1)
    produce(source, [("a", "1")])
    run(lanes, copying(source, out), processing_guarantee=guarantee)
    assert values(consume(out, 1)) == ["1"]
    lanes.admin.delete_topics([out])
    produce(source, [("a", "2")])
    assert f"topic '{out}' does not exist" in error_of(lanes)
