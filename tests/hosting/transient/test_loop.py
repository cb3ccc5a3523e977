"""A topology that runs over what is read, until it is enough."""

from __future__ import annotations

import queue
import threading
from datetime import timedelta
from functools import partial
from typing import Any

from millstream import Consumed, JoinWindows, Serdes, StreamJoined, StreamsBuilder, StreamsConfig
from millstream.errors import MillstreamError, StreamsError
from millstream.hosting.transient.hosted import HostedTopology
from millstream.hosting.transient.loop import ReadingLoop
from millstream.topology import Topology

from .memory import MemoryAccess

WAIT = 30.0
CONFIG = StreamsConfig(application_id="looking", statestore_cache_max_bytes=0)
TEXT = Consumed(Serdes.string, Serdes.string)


class Run:
    """A loop over a topology."""

    def __init__(self, access: MemoryAccess, topology: Topology, *, from_beginning: bool, to_end: bool = False) -> None:
        self.error: MillstreamError | None = None
        self.over = threading.Event()
        places = access.places(list(access.counts), from_beginning=from_beginning)
        work = HostedTopology(
            topology, CONFIG, places, to_end=to_end, delivered=lambda: not self.over.is_set(), ended=self._end
        )
        self.loop = ReadingLoop("test", partial(access.open, places, waiting=0), work)
        self.loop.start()

    def _end(self, error: MillstreamError | None) -> None:
        self.error = error
        self.over.set()


def listing(found: queue.Queue[Any]) -> Topology:
    builder = StreamsBuilder()
    builder.stream("t", TEXT).foreach(lambda key, value: found.put(value))
    return builder.build()


def test_records_that_come_are_processed_until_it_is_stopped() -> None:
    access, found = MemoryAccess({"t": 2}), queue.Queue[Any]()
    access.write("t", b"k", b"before")
    run = Run(access, listing(found), from_beginning=False)
    access.write("t", b"k", b"after")
    assert found.get(timeout=WAIT) == "after"
    run.loop.stop()
    assert run.loop.join(WAIT)
    assert run.error is None
    assert access.closed == 1


def test_it_ends_where_the_topics_ended() -> None:
    access, found = MemoryAccess({"t": 2}, chunk=10), queue.Queue[Any]()
    for number in range(100):
        access.write("t", str(number).encode(), str(number).encode())
    run = Run(access, listing(found), from_beginning=True, to_end=True)
    access.write("t", b"late", b"late")
    assert run.over.wait(WAIT)
    assert sorted(int(found.get_nowait()) for _ in range(100)) == list(range(100))
    assert found.empty()


def test_both_sides_of_a_join_go_by_time_however_they_are_read() -> None:
    access, found = MemoryAccess({"left": 1, "right": 1}, chunk=3), list[Any]()
    for number in range(20):
        access.write("left", b"k", str(number).encode(), number * 1000)
    for number in range(20):
        access.write("right", b"k", str(number).encode(), number * 1000)
    builder = StreamsBuilder()
    left, right = builder.stream("left", TEXT), builder.stream("right", TEXT)
    within = JoinWindows.of_time_difference(timedelta(milliseconds=10))
    serdes = StreamJoined(Serdes.string, Serdes.string, Serdes.string)
    left.join(right, lambda one, other: one + other, within, serdes).foreach(lambda key, both: found.append(both))
    run = Run(access, builder.build(), from_beginning=True, to_end=True)
    assert run.over.wait(WAIT)
    assert run.error is None
    assert found == [f"{number}{number}" for number in range(20)]  # a second side read too late would find no partner


def test_a_reader_that_fails_ends_it() -> None:
    access, found = MemoryAccess({"t": 1}), queue.Queue[Any]()
    run = Run(access, listing(found), from_beginning=False)
    access.fail(StreamsError("the topic is gone"))
    assert run.over.wait(WAIT)
    assert str(run.error) == "the topic is gone"


def test_a_function_that_raises_ends_it() -> None:
    access = MemoryAccess({"t": 1})
    builder = StreamsBuilder()
    builder.stream("t", TEXT).foreach(lambda key, value: 1 / 0)
    run = Run(access, builder.build(), from_beginning=False)
    access.write("t", b"k", b"v")
    assert run.over.wait(WAIT)
    assert "division by zero" in str(run.error)
