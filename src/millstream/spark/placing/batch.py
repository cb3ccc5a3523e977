"""A batch as a job of its own, whose tasks run where their lanes are."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
from pyspark import RDD, SparkContext, TaskContext
from pyspark.core.broadcast import Broadcast

from millstream.spark.calls import client as lane_client
from millstream.spark.exchange.waves import Row, run_wave
from millstream.spark.placing.located import exchanged, executors_of, located, read_up
from millstream.spark.placing.places import Executor, Places

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Row]).decode


class PlacedBatches:
    """Runs the batches of an application on a cluster.

    Args:
        context: Spark.
        run_id: the run of the application.
        program: the pickled program.
        lanes: how many there are.
        waves: of each batch.
        most_moves: how many lanes may leave an executor that lives at once.
    """

    def __init__(
        self, context: SparkContext, run_id: str, program: bytes, *, lanes: int, waves: int, most_moves: int
    ) -> None:
        self._context = context
        self._waves = waves
        self._calls = _Calls(run_id, context.broadcast(program), lanes)
        self._places = Places(lanes, most_moves)
        self._settled: Sequence[Executor | None] = ()
        self._located: RDD[bytes] | None = None

    def run(self, requests: Sequence[dict[str, Any]]) -> list[Row]:
        """Have lanes do a batch; what they tell the driver.

        Args:
            requests: of the first wave, by lane; none where there is nothing to do.
        """
        if not requests:
            return []
        return self._waved(self._at_places(), partial(self._calls.first, list(requests)))

    def warm_up(self) -> None:
        """Start the lanes, and go the way of a batch once: the first time it is slow. Returns at once."""
        places = self._at_places()

        def start() -> None:
            with contextlib.suppress(Exception):  # the first batch tells what is wrong
                self._waved(places, self._calls.start)

        threading.Thread(target=start, name="warm-up", daemon=True).start()

    def _waved(self, places: RDD[bytes], first: Callable[[int, Iterable[bytes]], Iterator[Row]]) -> list[Row]:
        """One wave after the other."""
        calls = self._calls
        results: RDD[Row] = places.mapPartitionsWithIndex(first)
        for wave in range(1, self._waves):
            received = exchanged(results, calls.parted, places)
            results = received.mapPartitionsWithIndex(partial(calls.later, wave))
        return results.collect()

    def _at_places(self) -> RDD[bytes]:
        """The places of the lanes for this batch."""
        executors = executors_of(self._context)
        if not executors and self._located is not None:
            return self._located  # none lives now: Spark waits for one, and takes it
        settled: Sequence[Executor | None] = self._places.settle(executors) if executors else [None] * self._calls.lanes
        if self._located is None or settled != self._settled:
            self._settled, self._located = settled, located(self._context, settled)
        return self._located


@dataclass(frozen=True)
class _Calls:
    """What tasks of Spark do: they pass on to lanes what is for them, and back what these answer."""

    run_id: str
    program: Broadcast[bytes]
    lanes: int

    def first(self, requests: Sequence[dict[str, Any]], lane: int, place: Iterable[bytes]) -> Iterator[Row]:
        """The first wave."""
        read_up(place)
        return iter(self._call(lane, {**requests[lane], "attempt": _attempt()}))

    def start(self, lane: int, place: Iterable[bytes]) -> Iterator[Row]:
        """Before the first batch."""
        read_up(place)
        lane_client.start(self.run_id, lane, None, self.program.value)
        return iter(())

    def later(self, wave: int, lane: int, received: Iterable[tuple[bytes, bytes]]) -> Iterator[Row]:
        """One of the others."""
        rows = [row for _, sent in received for row in _decode(sent)]
        return iter(run_wave(wave, rows, _attempt(), partial(self._call, lane)))

    def parted(self, _: int, rows: Iterable[Row]) -> list[bytes]:
        """What a lane has for each of them."""
        parts: list[list[Row]] = [[] for _ in range(self.lanes)]
        for row in rows:
            parts[row[0]].append(row)
        return [_encode(part) for part in parts]

    def _call(self, lane: int, request: dict[str, Any]) -> list[Row]:
        return lane_client.call(self.run_id, lane, None, self.program.value, request)


def _attempt() -> int:
    context = TaskContext.get()
    return 0 if context is None else context.attemptNumber()
