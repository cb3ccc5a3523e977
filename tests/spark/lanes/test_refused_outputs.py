"""Outputs that Kafka does not take: the production handler decides, and what it lets pass is written once."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import cloudpickle
import pytest
from confluent_kafka import Message

from millstream import (
    Consumed,
    DefaultProductionExceptionHandler,
    ErrorHandlerContext,
    Produced,
    ProducedRecord,
    ProductionError,
    Response,
    Serdes,
    StreamsBuilder,
    StreamsConfig,
    Topology,
)
from millstream.hosting.producing.transactions import PRODUCER_SETTINGS
from millstream.kafka.admin import Admin
from millstream.kafka.clients import make_consumer
from millstream.kafka.detached import DetachedBroker
from millstream.kafka.topics import NewTopic
from millstream.spark.client import KafkaStreams
from millstream.spark.lanes.producer import LaneProducer
from millstream.spark.lanes.writing import Writing
from millstream.spark.plan import Plan, TaskId
from millstream.spark.program import Program
from millstream.spark.state.markers import Marker
from millstream.task.records import OutputRecord, RawRecord, TracedRecord
from millstream.task.task import Task

from ..conftest import PATIENCE, Apps

cloudpickle.register_pickle_by_value(sys.modules[__name__])

Make = Callable[..., str]
Produce = Callable[..., None]
Consume = Callable[..., list[Message]]

TASK = TaskId(0, 0)
LARGE = "x" * 150_000
SOON_SECONDS = 50.0  # many times what it takes; before, it was 60 for each of several tries


@dataclass(frozen=True)
class GoOn(DefaultProductionExceptionHandler):
    """Skips what is refused, and sends a dead letter if there is a topic for them."""

    def handle(self, context: ErrorHandlerContext, record: ProducedRecord, exception: Exception) -> Response:
        return Response.resume(context.dead_letters(exception))


def copying(source: str, *targets: str) -> Topology:
    """Copies records to topics; a value that begins with `to ` goes to the topic that follows."""
    builder = StreamsBuilder()
    stream = builder.stream(source, Consumed(Serdes.string, Serdes.string))
    for target in targets:
        stream.filter(lambda key, value: not value.startswith("to ")).to(target, Produced(Serdes.string, Serdes.string))
    stream.filter(lambda key, value: value.startswith("to ")).to(
        lambda key, value, context: value.removeprefix("to "), Produced(Serdes.string, Serdes.string)
    )
    return builder.build()


class Bench:
    """One task and the producer of its lane, without Spark."""

    def __init__(self, topology: Topology, config: StreamsConfig, admin: Admin) -> None:
        self.config = config
        plan = Plan(topology, admin.topics())
        program = Program("run", topology, plan, config, 1, "", None, "c1", {})
        admin.ensure_topic(NewTopic(program.progress_topic, 1))
        self._source = next(iter(plan.parts[0].topics))
        self._task = Task(topology, config, nodes=plan.parts[0].nodes)
        self._program = program
        self._offset = 0
        self.outputs = LaneProducer(program, 0)
        self._group = make_consumer(config)  # of nobody: the group has no members
        self._membership = self._group.consumer_group_metadata()

    def wave(self, *chunks: Sequence[tuple[str | None, str]], at_once: bool = True) -> int:
        """Process and write some records; answers how many were written."""
        writing = Writing(self._program, self.outputs, set(), at_once=at_once)
        try:
            for chunk in chunks:
                writing.add(TASK, self.processed(chunk))
            marker = Marker("c1", "0_0/0", 7, "content", None)
            writing.commit([marker.at(self._program.progress_topic, 0)], self._membership)
        except BaseException:
            self.outputs.abort()
            raise
        return writing.count

    def processed(self, chunk: Sequence[tuple[str | None, str]]) -> list[OutputRecord]:
        """The outputs of some records."""
        raw: list[RawRecord] = []
        for key, value in chunk:
            raw.append((None if key is None else key.encode(), value.encode(), 1_000, None, self._offset))
            self._offset += 1
        self._task.add_records(self._source, 0, raw)
        self._task.process_all()
        return self._task.take_outputs()

    @property
    def dropped(self) -> int:
        return self._task.metrics.dropped_records

    def close(self) -> None:
        self._group.close()
        self.outputs.close()
        self._task.close(flush=False)


@pytest.fixture
def bench(admin: Admin, broker: DetachedBroker) -> Iterator[Callable[..., Bench]]:
    """`bench(topology, **options)`: a task and its producer."""
    made: list[Bench] = []

    def make(topology: Topology, **options: Any) -> Bench:
        config = StreamsConfig(
            **{
                "application_id": f"app-{uuid.uuid4().hex[:8]}",
                "bootstrap_servers": broker.bootstrap_servers,
                "processing_guarantee": "exactly_once_v2",
                "production_exception_handler": GoOn(),
                **options,
            }
        )
        made.append(Bench(topology, config, admin))
        return made[-1]

    yield make
    for one in made:
        one.close()


def values(messages: list[Message]) -> list[str]:
    return [(message.value() or b"").decode() for message in messages]


def last_ones(found: list[str]) -> list[str]:
    """Each text where it came last."""
    return list(dict.fromkeys(reversed(found)))[::-1]


GUARANTEES = pytest.mark.parametrize("guarantee", ["exactly_once_v2", "at_least_once"])


@GUARANTEES
@pytest.mark.parametrize("at_once", [True, False])
def test_a_record_that_the_topic_does_not_take_is_skipped_and_the_others_are_written(
    bench: Callable[..., Bench], make_topic: Make, consume: Consume, guarantee: str, at_once: bool
) -> None:
    source, out, other = make_topic(1), make_topic(1, max_message_bytes="100000"), make_topic(1)
    lane = bench(copying(source, out, other), processing_guarantee=guarantee)
    before = [("k", str(number)) for number in range(50)]
    after = [("k", str(number)) for number in range(50, 90)]
    begun = time.monotonic()
    written = lane.wave([*before, ("big", LARGE), *after], [("k", "end"), ("big", LARGE), ("k", "very end")],
                        at_once=at_once)  # fmt: skip
    assert time.monotonic() - begun < SOON_SECONDS
    expected = [str(number) for number in range(90)] + ["end", "very end"]
    found = values(consume(out))
    if guarantee == "exactly_once_v2":
        assert found == expected
        assert values(consume(other)) == [*expected[:50], LARGE, *expected[50:-1], LARGE, expected[-1]]
    else:  # some may have come twice, with those behind them
        assert last_ones(found) == expected
    assert written == 2 * len(expected) + 2
    assert lane.dropped == 2


@GUARANTEES
def test_small_records_that_are_too_many_for_a_batch_of_the_topic_are_all_written(
    bench: Callable[..., Bench], make_topic: Make, consume: Consume, guarantee: str
) -> None:
    source, out = make_topic(1), make_topic(1, max_message_bytes="10000")
    lane = bench(copying(source, out), processing_guarantee=guarantee)
    texts = [f"{number:04}" + "y" * 100 for number in range(600)]
    lane.wave([("k", text) for text in texts])
    assert last_ones(values(consume(out))) == texts
    assert lane.dropped == 0


def test_a_record_that_the_client_does_not_take_leaves_a_dead_letter(
    bench: Callable[..., Bench], make_topic: Make, consume: Consume
) -> None:
    source, out, dead = make_topic(1), make_topic(1), make_topic(1)
    builder = StreamsBuilder()
    stream = builder.stream(source, Consumed(Serdes.string, Serdes.string))
    stream.map_values(lambda value: value * 1000).to(out, Produced(Serdes.string, Serdes.string))
    limit = {"producer.message.max.bytes": "5000"}
    lane = bench(builder.build(), dead_letter_queue_topic=dead, client=limit)
    lane.wave([("a", "1"), ("b", "too large"), ("c", "3")])
    assert [value[0] for value in values(consume(out))] == ["1", "3"]
    assert values(consume(dead)) == ["too large"]


def test_a_compacted_topic_refuses_only_the_record_without_a_key(
    bench: Callable[..., Bench], make_topic: Make, consume: Consume
) -> None:
    source, out, dead = make_topic(1), make_topic(1, cleanup_policy="compact"), make_topic(1)
    lane = bench(copying(source, out), dead_letter_queue_topic=dead)
    lane.wave([("a", "1"), (None, "2"), ("c", "3"), (None, "4"), ("e", "5")])
    assert values(consume(out)) == ["1", "3", "5"]
    letters = consume(dead)
    assert values(letters) == ["2", "4"]
    headers = dict(letters[1].headers() or ())
    assert headers["__streams.errors.topic"] == source.encode()
    assert headers["__streams.errors.offset"] == b"3"
    assert lane.dropped == 2


@GUARANTEES
def test_a_topic_that_is_chosen_and_is_not_there(
    bench: Callable[..., Bench],
    make_topic: Make,
    consume: Consume,
    guarantee: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(PRODUCER_SETTINGS, "topic.metadata.propagation.max.ms", "2000")
    source, out = make_topic(1), make_topic(1)
    topology = copying(source, out)
    missing = f"missing-{uuid.uuid4().hex[:8]}"
    records = [("a", "1"), ("b", f"to {missing}"), ("c", "3"), ("d", f"to {missing}")]
    lane = bench(topology, processing_guarantee=guarantee)
    begun = time.monotonic()
    lane.wave(records)
    lane.wave(records)
    assert time.monotonic() - begun < SOON_SECONDS
    assert values(consume(out)) == ["1", "3"] * 2
    assert lane.dropped == 4

    strict = bench(
        topology, processing_guarantee=guarantee, production_exception_handler=DefaultProductionExceptionHandler()
    )
    with pytest.raises(ProductionError, match=f"topic '{missing}' does not exist"):
        strict.wave(records)


@GUARANTEES
@pytest.mark.parametrize("limit", ["topic", "producer"])
def test_the_error_names_what_was_refused_and_the_setting(
    bench: Callable[..., Bench], make_topic: Make, consume: Consume, guarantee: str, limit: str
) -> None:
    source, out = make_topic(1), make_topic(1, **({"max_message_bytes": "100000"} if limit == "topic" else {}))
    lane = bench(
        copying(source, out),
        processing_guarantee=guarantee,
        production_exception_handler=DefaultProductionExceptionHandler(),
        client={"producer.message.max.bytes": "10000000" if limit == "topic" else "100000"},
    )
    begun = time.monotonic()
    with pytest.raises(ProductionError) as raised:
        lane.wave([("a", "1")], [("big", LARGE)], [("c", "3")])
    assert time.monotonic() - begun < SOON_SECONDS
    told = str(raised.value)
    assert "an output record is too large" in told
    assert out in told
    assert "b'big'" in told
    assert "150,003 bytes" in told
    assert "at most 100,000" in told
    assert ("max.message.bytes" if limit == "topic" else "producer.message.max.bytes") in told
    assert "KSTREAM-SINK" in told
    if guarantee == "exactly_once_v2":
        assert consume(out) == []


def test_the_default_handler_costs_outputs_nothing(bench: Callable[..., Bench], make_topic: Make) -> None:
    topology = copying(make_topic(1), make_topic(1))
    lane = bench(topology, production_exception_handler=DefaultProductionExceptionHandler())
    assert {type(record) for record in lane.processed([("a", "1")])} == {tuple}
    assert {type(record) for record in bench(topology).processed([("a", "1")])} == {TracedRecord}


def test_on_spark_the_application_goes_on_if_the_handler_says_so(
    either: Apps, make_topic: Make, produce: Produce, consume: Consume
) -> None:
    source, out = make_topic(2), make_topic(2, max_message_bytes="100000")
    texts = [str(number) for number in range(100)]
    produce(source, [*((text, text) for text in texts[:50]), ("big", LARGE), *((text, text) for text in texts[50:])])
    config = either.config(production_exception_handler=GoOn())
    assert either.run_once(copying(source, out), config).metrics()["dropped-records-total"] == 1
    assert sorted(values(consume(out)), key=int) == texts

    strict = KafkaStreams(copying(source, out), either.config())
    strict.start(once=True)
    with pytest.raises(ProductionError, match="an output record is too large") as raised:
        strict.wait(PATIENCE)
    assert f"topic '{out}'" in str(raised.value)
    assert "key b'big', 150,003 bytes: the topic takes at most 100,000" in str(raised.value)


def test_a_batch_that_is_too_large_without_a_record_that_is(bench: Callable[..., Bench], make_topic: Make) -> None:
    source, out = make_topic(1), make_topic(1, max_message_bytes="10000")
    lane = bench(copying(source, out), production_exception_handler=DefaultProductionExceptionHandler())
    with pytest.raises(ProductionError, match="a batch of output records is too large") as raised:
        lane.wave([("k", "y" * 1_000)] * 50)
    assert "'producer.batch.size': 10000" in str(raised.value)


@GUARANTEES
def test_a_topic_that_is_deleted_while_the_application_runs_is_named(
    bench: Callable[..., Bench], make_topic: Make, admin: Admin, guarantee: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PRODUCER_SETTINGS, "topic.metadata.propagation.max.ms", "2000")
    source, out = make_topic(1), make_topic(1)
    handler = DefaultProductionExceptionHandler()
    lane = bench(copying(source, out), processing_guarantee=guarantee, production_exception_handler=handler)
    lane.wave([("a", "1")])
    admin.delete_topics([out])
    begun = time.monotonic()
    with pytest.raises(ProductionError, match=f"topic '{out}' does not exist"):
        lane.wave([("a", "2")])
    assert time.monotonic() - begun < SOON_SECONDS
