"""Agents that await something outside: many records under way, the order of each key kept, all done at a commit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import millstream.agents as faust
from millstream import ProcessingError, StreamsConfig, Topology
from millstream.task.task import Task


@pytest.fixture
def run() -> Iterator[Callable[..., Task]]:
    """`run(topology, [(key, value) ...])`: a task that has processed records and has not committed yet."""
    tasks: list[Task] = []

    def start(topology: Topology, records: list[tuple[str | None, int]]) -> Task:
        task = Task(topology, StreamsConfig(application_id="waiting"))
        tasks.append(task)
        raw = [
            (None if key is None else key.encode(), str(value).encode(), number, None, number)
            for number, (key, value) in enumerate(records)
        ]
        task.add_records("numbers", 0, raw)
        task.process_all()
        return task

    yield start
    for task in tasks:
        task.close(flush=False)


class Watch:
    """Counts who is at work at the same time."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self.begun: list[int] = []

    async def work(self, number: int, seconds: float) -> None:
        """Take some time."""
        self.begun.append(number)
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(seconds)
        self.now -= 1


def application(watch: Watch, seconds: Callable[[int], float], **options: Any) -> faust.App:
    """Yields each number after a while, and keeps the last two of each key."""
    app = faust.App("waiting")
    numbers = app.topic("numbers", key_type=str, value_type=int)
    out = app.topic("out", key_type=str, value_type=int)
    last = app.Table("last", key_type=str, value_type=list, default=list)

    @app.agent(numbers, sink=[out], tables=[last], **options)
    async def wait(stream: faust.Stream) -> AsyncIterator[int]:
        async for key, number in stream.items():
            await watch.work(number, seconds(number))
            if key is not None:
                last[key] = [*last[key], number]
            yield number

    return app


def test_many_records_are_under_way_and_results_come_in_the_order_of_records(run: Callable[..., Task]) -> None:
    watch = Watch()
    app = application(watch, lambda number: 0.03 if number % 2 else 0.01)
    task = run(app.topology(), [(f"k{number}", number) for number in range(50)])
    assert task.take_outputs() == []
    task.commit()
    assert [int(record[3] or b"") for record in task.take_outputs()] == list(range(50))
    assert watch.most == 50
    assert len(task.take_changes()["last"]) == 50


def test_records_of_a_key_wait_for_each_other(run: Callable[..., Task]) -> None:
    watch = Watch()
    app = application(watch, lambda number: 0.02 if number == 0 else 0)
    task = run(app.topology(), [("a", 0), ("b", 1), ("a", 2), ("a", 3), ("b", 4)])
    task.commit()
    assert watch.begun[:2] == [0, 1]
    assert [number for number in watch.begun if number in (0, 2, 3)] == [0, 2, 3]
    assert task.stores["last"].get("a").value == [0, 2, 3]  # type: ignore[attr-defined]
    assert [int(record[3] or b"") for record in task.take_outputs()] == [0, 1, 2, 3, 4]


def test_there_is_a_limit_to_how_many_are_under_way(run: Callable[..., Task]) -> None:
    watch = Watch()
    task = run(application(watch, lambda number: 0.001, concurrency=10).topology(), [(None, n) for n in range(100)])
    task.commit()
    assert watch.most <= 10
    assert len(task.take_outputs()) == 100


def test_the_first_record_that_fails_is_told_whatever_finishes_first(run: Callable[..., Task]) -> None:
    app = faust.App("waiting")

    @app.agent(app.topic("numbers", key_type=str, value_type=int))
    async def fail(stream: faust.Stream) -> None:
        async for number in stream:
            await asyncio.sleep(0.02 - number / 1000)
            raise ValueError(f"number {number}")

    task = run(app.topology(), [(f"k{number}", number) for number in range(5)])
    with pytest.raises(ProcessingError, match="number 0"):
        task.commit()


def test_time_limits_of_asyncio_work(run: Callable[..., Task]) -> None:
    app = faust.App("waiting")
    late: list[int] = []

    @app.agent(app.topic("numbers", key_type=str, value_type=int))
    async def limited(stream: faust.Stream) -> None:
        async for number in stream:
            try:
                async with asyncio.timeout(0.01):
                    await asyncio.sleep(number)
            except TimeoutError:
                late.append(number)

    task = run(app.topology(), [("a", 0), ("b", 5), ("c", 0), ("d", 6)])
    task.commit()
    assert sorted(late) == [5, 6]


def test_in_a_test_that_is_a_coroutine_itself() -> None:
    app = application(Watch(), lambda number: 0.001)
    numbers, out = app.topics

    async def check() -> None:
        async with app.test_context() as test:
            await numbers.send(key="a", value=1)
            test.put(numbers, 2, key="a")
            assert test.sent(out) == [1, 2]
            assert app.tables["last"]["a"] == [1, 2]  # type: ignore[index]
            await asyncio.sleep(0)

    asyncio.run(check())


def test_lists_of_take_are_awaited_one_after_the_other() -> None:
    app = faust.App("waiting")
    numbers = app.topic("numbers", key_type=str, value_type=int)
    out = app.topic("out", key_type=str, value_type=list)

    @app.agent(numbers, sink=[out])
    async def lists(stream: faust.Stream) -> AsyncIterator[list[int]]:
        async for values in stream.take(2, within=5):
            await asyncio.sleep(0.001)
            yield values

    with app.test_context() as test:
        for number in range(5):
            test.put(numbers, number, key="k")
        assert test.sent(out) == [[0, 1], [2, 3]]
        test.advance(5)
        assert test.sent(out) == [[4]]
