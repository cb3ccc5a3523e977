"""Lanes: many queries, exactly once, one not disturbing another."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from millstream import Consumed, Grouped, Joined, Materialized, Produced, Serdes, StreamsBuilder, Topology
from millstream.hosting.lanes import keeping
from millstream.hosting.lanes.messages import Join, Ready
from millstream.hosting.lanes.reading import inputs
from millstream.hosting.lanes.writing import outputs
from millstream.hosting.producing import transactions
from millstream.hosting.producing.refusals import Refusal

from .conftest import LaneService, until

TEXTS = Consumed(Serdes.string, Serdes.string)
Make = Callable[..., str]
Produce = Callable[..., None]
Consume = Callable[..., list[Message]]


def counting(source: str, out: str, *, rekey: bool = False) -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream(source, TEXTS)
    grouped = (
        stream.group_by(lambda key, value: value, Grouped(Serdes.string, Serdes.string))
        if rekey
        else stream.group_by_key(Grouped(Serdes.string, Serdes.string))
    )
    grouped.count().to_stream().to(out, Produced(Serdes.string, Serdes.long))
    return builder.build()


def some(count: int, keys: int = 5) -> list[tuple[str, str]]:
    return [(f"k{n % keys}", f"v{n % 3}") for n in range(count)]


def counts(messages: list[Message]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for message in messages:
        found.setdefault((message.key() or b"").decode(), []).append(int.from_bytes(message.value() or b"", "big"))
    return found


def test_a_query_counts(lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume) -> None:
    source, out = make_topic(4, name="in"), make_topic(2, name="out")
    lanes.run("q", counting(source, out))
    lanes.start()
    produce(source, some(100))
    assert counts(consume(out, 100)) == {f"k{n}": list(range(1, 21)) for n in range(5)}


def test_records_go_through_a_repartition_topic(
    lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume
) -> None:
    source, out = make_topic(3, name="in"), make_topic(2, name="out")
    lanes.run("q", counting(source, out, rekey=True))
    lanes.start()
    lanes.start()
    produce(source, some(90))
    assert counts(consume(out, 90)) == {f"v{n}": list(range(1, 31)) for n in range(3)}


def test_lanes_share_tasks_and_take_over(
    lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume
) -> None:
    source, out = make_topic(4, name="in"), make_topic(1, name="out")
    lanes.run("q", counting(source, out))
    first = lanes.start()
    produce(source, some(100))
    consume(out, 100)
    second = lanes.start()

    def tasks(lane: object) -> int:
        found = lane.figures("q")  # type: ignore[attr-defined]
        return 0 if found is None else len(found.tasks)

    until(lambda: tasks(first) + tasks(second) == 4 and tasks(second) > 0)
    produce(source, some(100))
    consume(out, 200)
    first.close()
    until(lambda: tasks(second) == 4)
    produce(source, some(100))
    assert counts(consume(out, 300)) == {f"k{n}": list(range(1, 61)) for n in range(5)}


def test_lanes_of_an_application_join_when_they_are_told(
    lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume
) -> None:
    """One that is ready waits for the others, so that no task moves when they come, if the group waits for both."""
    source, out = make_topic(4, name="in"), make_topic(1, name="out")
    lanes.run("q", counting(source, out))
    produce(source, some(100))
    first = lanes.start(is_application=True)
    until(lambda: Ready() in first.events)
    second = lanes.start(is_application=True)
    until(lambda: Ready() in second.events)
    assert first.figures("q") is None or first.figures("q").tasks == ()  # type: ignore[union-attr]
    for lane in (first, second):
        lane.lane.order(Join())
    assert counts(consume(out, 100)) == {f"k{n}": list(range(1, 21)) for n in range(5)}
    until(lambda: all((found := lane.figures("q")) is not None and len(found.tasks) == 2 for lane in (first, second)))
    assert [event for lane in (first, second) for event in lane.events].count(Ready()) == 2


def test_a_query_that_fails_does_not_disturb_the_others(
    lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume
) -> None:
    source, out, bad = make_topic(1, name="in"), make_topic(1, name="out"), make_topic(1, name="bad")

    def raise_at_seven(key: str, value: str) -> bool:
        if value == "seven":
            raise ValueError("seven")
        return True

    builder = StreamsBuilder()
    builder.stream(source, TEXTS).filter(raise_at_seven).to(bad, Produced(Serdes.string, Serdes.string))
    lanes.run("bad", builder.build())
    lanes.run("good", counting(source, out))
    lanes.start()
    produce(source, [("a", "one"), ("a", "seven"), ("a", "two")])
    assert counts(consume(out, 3)) == {"a": [1, 2, 3]}
    until(lambda: any(failure.is_final for failure in lanes.failures("bad")))
    assert "seven" in lanes.failures("bad")[-1].error
    produce(source, [("a", "three")])
    assert counts(consume(out, 4)) == {"a": [1, 2, 3, 4]}
    assert consume(bad) == []


def test_a_query_that_comes_later_catches_up(
    lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume
) -> None:
    source, out, later = make_topic(1, name="in"), make_topic(1, name="out"), make_topic(1, name="later")
    lanes.run("first", counting(source, out))
    lanes.start()
    produce(source, some(1000))
    consume(out, 1000)
    lanes.run("later", counting(source, later))
    produce(source, some(500))
    assert counts(consume(later, 1500)) == {f"k{n}": list(range(1, 301)) for n in range(5)}
    assert counts(consume(out, 1500)) == {f"k{n}": list(range(1, 301)) for n in range(5)}


def test_one_that_is_dropped_begins_anew(
    lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume
) -> None:
    source, out, again = make_topic(2, name="in"), make_topic(1, name="out"), make_topic(1, name="again")
    lanes.run("q", counting(source, out))
    lanes.start()
    produce(source, some(20))
    consume(out, 20)
    lanes.stop("q")
    lanes.admin.delete_topics([name for name in lanes.admin.topics() if name.startswith(f"{lanes.name}-q-")])
    lanes.run("q", counting(source, again))
    assert counts(consume(again, 20)) == {f"k{n}": list(range(1, 5)) for n in range(5)}


def test_inputs_meet_by_their_times(lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume) -> None:
    left, right, out = make_topic(2, name="left"), make_topic(2, name="right"), make_topic(1, name="out")
    builder = StreamsBuilder()
    prices = builder.table(right, TEXTS)
    builder.stream(left, TEXTS).join(
        prices, lambda value, price: f"{value} at {price}", Joined(Serdes.string, Serdes.string, Serdes.string)
    ).to(out, Produced(Serdes.string, Serdes.string))
    produce(left, [("a", "first", 1500), ("a", "second", 2500)])
    produce(right, [("a", "1", 1000), ("a", "2", 2000)])
    lanes.run("q", builder.build())
    lanes.start()
    assert [message.value() for message in consume(out, 2)] == [b"first at 1", b"second at 2"]


def test_a_foreign_key_join(lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume) -> None:
    left, right, out = make_topic(2, name="left"), make_topic(2, name="right"), make_topic(1, name="out")
    builder = StreamsBuilder()
    people, orders = builder.table(right, TEXTS), builder.table(left, TEXTS)
    orders.join(
        people,
        lambda order, person: f"{order} of {person}",
        foreign_key=lambda order: order,
        materialized=Materialized("joined", Serdes.string, Serdes.string),
    ).to_stream().to(out, Produced(Serdes.string, Serdes.string))
    produce(right, [("ann", "Ann"), ("ben", "Ben")])
    produce(left, [("1", "ann"), ("2", "ben")])
    lanes.run("q", builder.build())
    lanes.start()
    found = {message.key(): message.value() for message in consume(out, 2)}
    assert found == {b"1": b"ann of Ann", b"2": b"ben of Ben"}


def test_what_was_read_between_two_parts_is_deleted(
    lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "_PURGE_SECONDS", 0.2)
    source, out = make_topic(1, name="in"), make_topic(1, name="out")
    lanes.run("q", counting(source, out, rekey=True))
    lanes.start()
    produce(source, some(90))
    consume(out, 90)
    (between,) = [name for name in lanes.admin.topics() if name.startswith(lanes.name) and "repartition" in name]
    at = (between, 0)
    until(lambda: 0 < lanes.admin.begin_offsets([at])[at] == lanes.admin.end_offsets([at], committed=True)[at] - 1)


def test_a_deleted_input_is_told(
    lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "_MISSING_SECONDS", 1.0)
    source, other, out = make_topic(1, name="in"), make_topic(1, name="other"), make_topic(1, name="out")
    lanes.run("q", counting(source, out))
    lanes.run("goes-on", counting(other, out))
    lanes.start()
    produce(source, some(5))
    consume(out, 5)
    lanes.admin.delete_topics([source])
    until(lambda: lanes.failures("q"))
    assert f"topic {source} is gone" in lanes.failures("q")[0].error
    produce(other, some(5))
    consume(out, 10)


def test_a_commit_of_which_nobody_hears_counts(
    lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker commits, and is away for so long that the lane gives up waiting for its word."""
    source, out = make_topic(1, name="in"), make_topic(1, name="out")
    asking, unheard = outputs._again, list[bool]()

    def once_without_an_answer(action: Callable[[], Any], tries: int = 3) -> Any:
        found = asking(action, tries)
        if armed and not unheard:
            unheard.append(True)
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "no answer", retriable=True))
        return found

    armed = list[bool]()
    monkeypatch.setattr(outputs, "_again", once_without_an_answer)
    lanes.run("q", counting(source, out))
    lanes.start()
    produce(source, some(50))
    consume(out, 50)
    armed.append(True)
    produce(source, some(50))
    until(lambda: unheard)
    produce(source, [*some(50), ("last", "v0")])
    assert counts(consume(out, 151)) == {"last": [1], **{f"k{n}": list(range(1, 31)) for n in range(5)}}


def late_once(monkeypatch: pytest.MonkeyPatch, topic: str) -> None:
    """The client says once that it could not bring a record to a topic in the time of a transaction."""
    delivering, said = transactions.deliver, list[bool]()

    def deliver(producer: Producer, refused: Callable[[], Any], stalled: Callable[[], bool]) -> None:
        if said:
            delivering(producer, refused, stalled)
        else:
            said.append(True)
            late = KafkaError(KafkaError._MSG_TIMED_OUT, "too late")
            refused()._refusals.append(Refusal(None, topic, 0, None, 0, late, here=False))

    monkeypatch.setattr(outputs, "deliver", deliver)


def test_a_broker_that_is_away_for_longer_than_a_transaction_may_last_is_no_failure(
    lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = make_topic(1, name="in"), make_topic(1, name="out")
    lanes.run("q", counting(source, out))
    lanes.start()
    produce(source, some(50))
    consume(out, 50)
    late_once(monkeypatch, out)
    produce(source, some(50))
    assert counts(consume(out, 100)) == {f"k{n}": list(range(1, 21)) for n in range(5)}
    assert lanes.failures("q") == []


def test_an_output_topic_that_is_gone_is_told(
    lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a transaction the client does not say that a topic is gone, but that it was too late."""
    source, out = make_topic(1, name="in"), make_topic(1, name="out")
    lanes.run("q", counting(source, out))
    lanes.start()
    produce(source, some(5))
    consume(out, 5)
    lanes.admin.delete_topics([out])
    late_once(monkeypatch, out)
    produce(source, some(5))
    until(lambda: lanes.failures("q"))
    assert out in lanes.failures("q")[0].error


def test_a_slow_function_does_not_keep_a_lane_from_its_group(
    lanes: LaneService, make_topic: Make, produce: Produce, consume: Consume, caplog: pytest.LogCaptureFixture
) -> None:
    """All records together take longer than the group waits for a lane."""
    patience = {"main.consumer.max.poll.interval.ms": 6_000, "main.consumer.session.timeout.ms": 6_000}
    lanes.config = replace(lanes.config, client=patience)
    source, out = make_topic(1, name="in"), make_topic(1, name="out")
    builder = StreamsBuilder()

    def slow(value: str) -> str:
        time.sleep(0.02)
        return value

    builder.stream(source, TEXTS).map_values(slow).to(out, Produced(Serdes.string, Serdes.string))
    produce(source, some(600))
    lanes.run("q", builder.build())
    lanes.start()
    assert len(consume(out, 600, timeout=60)) == 600
    assert "was silent for too long" not in caplog.text
