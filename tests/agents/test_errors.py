"""What happens when an agent raises and a handler goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

import millstream.agents as faust
from millstream import LogAndContinueProcessingExceptionHandler
from millstream.task.task import Task


@pytest.mark.parametrize("waits", [False, True])
def test_a_failing_record_becomes_a_dead_letter_and_the_others_go_on(waits: bool) -> None:
    app = faust.App(
        "failing",
        processing_exception_handler=LogAndContinueProcessingExceptionHandler(),
        dead_letter_queue_topic="dead",
    )
    numbers, out = app.topic("numbers", key_type=str, value_type=int), app.topic("out", key_type=str, value_type=int)

    async def invert(stream: faust.Stream) -> AsyncIterator[int]:
        async for number in stream:
            yield 100 // number

    async def invert_slowly(stream: faust.Stream) -> AsyncIterator[int]:
        async for number in stream:
            await asyncio.sleep(0.001)
            yield 100 // number

    app.agent(numbers, sink=[out], name="invert")(invert_slowly if waits else invert)
    with app.test_context() as test:
        for number in (1, 0, 2):
            test.put(numbers, number, key="k")
        assert test.sent(out) == [100, 50]
        (letter,) = test.sent(app.topic("dead", value_type=bytes))
        assert letter == b"0"
        assert test.driver.dropped_records_total == 1


def test_the_dead_letter_is_of_the_record_that_failed_while_others_were_under_way() -> None:
    app = faust.App(
        "failing",
        processing_exception_handler=LogAndContinueProcessingExceptionHandler(),
        dead_letter_queue_topic="dead",
    )

    @app.agent(app.topic("numbers", key_type=str, value_type=int), sink=[app.topic("out", value_type=int)])
    async def invert(stream: faust.Stream) -> AsyncIterator[int]:
        async for number in stream:
            await asyncio.sleep(0.01 if number == 0 else 0)
            yield 100 // number

    task = Task(app.topology(), app.conf.streams)
    task.add_records("numbers", 0, [(b"k%d" % n, str(n).encode(), n, None, n) for n in (4, 0, 5, 10)])
    task.process_all()
    task.commit()
    sent = [(record[0], record[2], record[3]) for record in task.take_outputs()]
    task.close(flush=False)
    assert sent == [("out", b"k4", b"25"), ("dead", b"k0", b"0"), ("out", b"k5", b"20"), ("out", b"k10", b"10")]
