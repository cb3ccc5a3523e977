"""Agents in the test driver: what they loop over, keep, yield and send."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from datetime import datetime
from decimal import Decimal
from typing import Any, Optional

import msgspec
import pydantic
import pytest

import millstream.agents as faust
from millstream import ProcessingError, StateStoreError, TopologyError


class Order(faust.Record, serializer="json"):
    account: str
    amount: int


class Note(faust.Record):
    text: Optional[str]  # noqa: UP045 - as Faust's users write it


@dataclasses.dataclass
class Plain:
    account: str


class Struct(msgspec.Struct):
    account: str


class Model(pydantic.BaseModel):
    account: str


class Payment(faust.Record):
    at: datetime
    amount: Decimal
    parts: list[Order]


def test_a_table_counts_and_results_go_to_a_sink_under_the_key() -> None:
    app = faust.App("counting")
    orders = app.topic("orders", key_type=str, value_type=Order)
    totals_topic = app.topic("totals", key_type=str, value_type=int)
    totals = app.Table("totals", key_type=str, value_type=int, default=int)

    @app.agent(orders, sink=[totals_topic])
    async def add(stream: faust.Stream) -> AsyncIterator[int]:
        async for order in stream:
            totals[order.account] += order.amount
            yield totals[order.account]

    with app.test_context() as test:
        test.put(orders, Order("a", 1), key="a")
        test.put(orders, Order("b", 5), key="b")
        test.put(orders, Order("a", 2), key="a")
        assert test.sent_items(totals_topic) == [("a", 1), ("b", 5), ("a", 3)]
        assert totals["a"] == 3
        assert totals["nobody"] == 0
        assert dict(totals) == {"a": 3, "b": 5}
        with pytest.raises(StateStoreError, match="can only be changed by an agent"):
            totals["a"] = 1
        assert test.driver.internal_topics == {"counting-totals-changelog"}


@pytest.mark.parametrize("kind", [Plain, Struct, Model])
def test_values_may_be_dataclasses_structs_and_models(kind: Any) -> None:
    app = faust.App("typed")
    given, taken = app.topic("given", value_type=kind), app.topic("taken", value_type=kind)

    @app.agent(given, sink=[taken])
    async def copy(stream: faust.Stream) -> AsyncIterator[Any]:
        async for value in stream:
            assert isinstance(value, kind)
            yield value

    with app.test_context() as test:
        test.put(given, kind(account="a"))
        assert test.sent(taken) == [kind(account="a")]


def test_records_are_read_and_written_as_json() -> None:
    payment = Payment(datetime.fromisoformat("2026-01-01T00:00:00+00:00"), Decimal("1.10"), [Order("a", 1)])
    data = payment.dumps()
    assert data == (b'{"at":"2026-01-01T00:00:00Z","amount":"1.10","parts":[{"account":"a","amount":1}]}')
    assert Payment.loads(data) == payment
    assert payment.derive(amount=Decimal(2)).amount == 2
    with pytest.raises(TypeError):
        Order("a")  # type: ignore[call-arg]
    assert Order.account(Order("a", 1)) == "a"  # type: ignore[operator]
    assert Note.loads(b"{}").text is None


def test_events_items_filters_and_sends() -> None:
    app = faust.App("shapes")
    numbers = app.topic("numbers", key_type=str, value_type=int)
    out = app.topic("out", key_type=str, value_type=str)
    copies = app.topic("copies", key_type=str, value_type=int)

    @app.agent(numbers)
    async def events(stream: faust.Stream) -> None:
        async for event in stream.events():
            message = event.message
            await out.send(key=event.key, value=f"{message.topic}-{message.partition}@{message.offset}: {event.value}")
            assert faust.current_event().message == message  # type: ignore[union-attr]

    @app.agent(numbers)
    async def even(stream: faust.Stream) -> None:
        async for key, value in stream.filter(lambda number: number % 2 == 0).echo(copies).items():
            out.send_soon(key=key, value=f"even {value}", headers={"kind": "even"})

    with app.test_context() as test:
        test.put(numbers, 1, key="a")
        test.put(numbers, 2, key="b", timestamp=7)
        records = test.driver.output_topic("out", out.key_serde, out.value_serde).read_records()
        assert [(one.key, one.value) for one in records] == [
            ("a", "numbers-0@0: 1"),
            ("b", "numbers-0@1: 2"),
            ("b", "even 2"),
        ]
        assert {one.timestamp for one in records if one.key == "b"} == {7000}
        assert [list(one.headers) for one in records if one.value == "even 2"] == [[("kind", b"even")]]
        assert test.sent(copies) == [2]


def test_group_by_goes_through_a_topic_of_its_own() -> None:
    app = faust.App("grouped")
    orders = app.topic("orders", value_type=Order)
    by_account = app.Table("by-account", default=int)
    counts = app.topic("counts", value_type=int)

    @app.agent(orders, sink=[counts])
    async def count(stream: faust.Stream) -> AsyncIterator[int]:
        async for key, order in stream.filter(lambda order: order.amount > 0).group_by(Order.account).items():
            assert key == order.account
            by_account[key] += 1
            yield by_account[key]

    with app.test_context() as test:
        for account, amount in (("a", 1), ("b", 1), ("a", 1), ("a", 0)):
            test.put(orders, Order(account, amount))
        assert dict(by_account) == {"a": 2, "b": 1}
        assert test.sent_items(counts) == [(b"a", 1), (b"b", 1), (b"a", 2)]
        assert "grouped-count-account-repartition" in test.driver.internal_topics
    assert len(app.topology().sub_topologies()) == 2


def test_take_hands_out_full_lists_and_what_is_there_after_a_while() -> None:
    app = faust.App("taking")
    numbers = app.topic("numbers", value_type=int)
    sums = app.topic("sums", value_type=int)
    lists = app.Table("lists", default=int)

    @app.agent(numbers, sink=[sums])
    async def add(stream: faust.Stream) -> AsyncIterator[int]:
        async for values in stream.take(3, within=10):
            lists["n"] += 1
            yield sum(values)

    with app.test_context() as test:
        for number in range(1, 8):
            test.put(numbers, number)
        assert test.sent(sums) == [6, 15]
        test.advance(10)
        assert test.sent(sums) == [7]
        assert lists["n"] == 3
        test.advance(10)
        assert test.sent(sums) == []


def test_an_agent_sends_to_another_one_and_calls_functions() -> None:
    app = faust.App("chained")
    seen: list[int] = []

    @app.agent(value_type=int, sink=[seen.append])
    async def double(stream: faust.Stream) -> AsyncIterator[int]:
        async for number in stream:
            yield number * 2

    @app.agent(value_type=int)
    async def entrance(stream: faust.Stream) -> None:
        async for number in stream:
            await double.cast(number + 1)

    with app.test_context() as test:
        test.put(entrance, 1)
        assert seen == [4]
        assert asyncio.run(double.ask(5)) == 10
        assert asyncio.run(double.join([1, 2, 3])) == [2, 4, 6]
    assert entrance.topic.name == "chained-entrance"


def test_an_error_names_the_agent_and_the_next_record_begins_anew() -> None:
    app = faust.App("failing")
    numbers = app.topic("numbers", value_type=int)

    @app.agent(numbers)
    async def divide(stream: faust.Stream) -> None:
        async for number in stream:
            _ = 1 / number

    with app.test_context() as test, pytest.raises(ProcessingError, match="divide"):
        test.put(numbers, 0)


def test_sinks_of_an_agent_that_never_yields_are_refused() -> None:
    app = faust.App("silent")
    numbers = app.topic("numbers", value_type=int)

    @app.agent(numbers, sink=[numbers])
    async def silent(stream: faust.Stream) -> None:
        async for _ in stream:
            pass

    with pytest.raises(TopologyError, match="never yields"):
        app.topology()


def test_one_agent_alone_is_put_to_the_test() -> None:
    app = faust.App("alone")

    @app.agent(value_type=int, sink=[print])
    async def double(stream: faust.Stream) -> AsyncIterator[int]:
        async for number in stream:
            if number < 0:
                raise ValueError(number)
            yield number * 2

    async def check() -> None:
        async with double.test_context() as agent:
            event = await agent.put(4)
            assert agent.results[event.message.offset] == 8
            with pytest.raises(ValueError, match="-1"):
                await agent.put(-1)

    asyncio.run(check())
