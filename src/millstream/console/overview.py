"""The queries of a service: what they are, how they do, and how they did in the last minutes."""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from millstream.console.looking import Looking
from millstream.errors import MillstreamError
from millstream.kafka.admin import Partition
from millstream.sql.engine.context import Context
from millstream.sql.engine.queries import PersistentQuery

#: How often the figures of queries are noted, and how many of these notes are kept: ten minutes.
SAMPLE_SECONDS = 5.0
_SAMPLES = 120
#: Browsers that look at the same time share an answer of Kafka's.
_ENDS_SECONDS = 2.0


class Lanes(Protocol):
    """What the runner of queries knows of them."""

    def told(self) -> dict[str, dict[str, float]]:
        """Of each query, `processed`, and how far it is in its inputs by `topic-partition`."""

    def tasks(self) -> dict[str, dict[int, tuple[int, int]]]:
        """How many tasks of each query work, and how many are being restored, in each lane of this server."""

    @property
    def lanes(self) -> set[int]:
        """The lanes of this server that are there now."""


class Overview:
    """Notes the figures of queries now and then, and tells them.

    Args:
        context: the state of the engine.
        lanes: where queries run.
        looking: asks Kafka.
        clock: seconds since the epoch.
    """

    def __init__(
        self, context: Callable[[], Context], lanes: Lanes, looking: Looking, clock: Callable[[], float] = time.time
    ) -> None:
        self._context = context
        self._lanes = lanes
        self._looking = looking
        self._clock = clock
        self._samples: deque[tuple[float, dict[str, float]]] = deque(maxlen=_SAMPLES)
        self._ends: tuple[float, frozenset[Partition], dict[Partition, int]] = (0.0, frozenset(), {})
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="millstream-console", daemon=True)

    def start(self) -> None:
        """Begin to take notes."""
        self._thread.start()

    def close(self) -> None:
        """Take no more notes."""
        self._closing.set()

    def sample(self) -> None:
        """Note how many records queries have processed."""
        figures = self._lanes.told()
        self._samples.append((self._clock(), {name: found["processed"] for name, found in figures.items()}))

    def queries(self) -> list[dict[str, Any]]:
        """All persistent queries with their figures."""
        context = self._context()
        figures = self._lanes.told()
        rates = self._rates()
        lags = self.lags()
        return [self._query(context, query, figures.get(query.id, {}), rates, lags) for query in list(context.queries)]

    def history(self) -> dict[str, Any]:
        """Records a second in the last minutes: times, and the rates of each query."""
        samples = list(self._samples)
        times = [int(at * 1000) for at, _ in samples[1:]]
        names = sorted({name for _, found in samples for name in found})
        rates = {name: [_rate(before, after, name) for before, after in itertools.pairwise(samples)] for name in names}
        return {"times": times, "rates": rates, "seconds": SAMPLE_SECONDS}

    def lags(self) -> dict[str, dict[str, int]]:
        """How many records each query has not processed yet, by `topic-partition`; none if Kafka does not tell."""
        positions = {query: _positions(found) for query, found in self._lanes.told().items()}
        try:
            ends = self._known_ends(frozenset(at for found in positions.values() for at in found))
        except MillstreamError:
            return {}
        written = {query.sink_topic for query in list(self._context().queries)}
        internal = tuple(query.application_id for query in list(self._context().queries))
        return {
            query: {
                f"{at[0]}-{at[1]}": _lag(
                    ends[at], position, in_transactions=at[0] in written or at[0].startswith(internal)
                )
                for at, position in found.items()
                if at in ends
            }
            for query, found in positions.items()
        }

    def _run(self) -> None:
        while not self._closing.wait(SAMPLE_SECONDS):
            self.sample()

    def _rates(self) -> dict[str, float]:
        samples = list(self._samples)
        if len(samples) < 2:
            return {}
        return {name: _rate(samples[-2], samples[-1], name) for name in samples[-1][1]}

    def _known_ends(self, partitions: frozenset[Partition]) -> dict[Partition, int]:
        with self._lock:
            at, known, ends = self._ends
            now = self._clock()
            if now - at > _ENDS_SECONDS or not partitions <= known:
                ends = self._looking.ends(partitions) if partitions else {}
                self._ends = (now, partitions, ends)
            return ends

    @staticmethod
    def _query(
        context: Context,
        query: PersistentQuery,
        figures: Mapping[str, float],
        rates: Mapping[str, float],
        lags: Mapping[str, Mapping[str, int]],
    ) -> dict[str, Any]:
        lag = lags.get(query.id)
        return {
            "id": query.id,
            "kind": query.kind.value,
            "sql": query.sql,
            "state": context.queries.runner.state(query).value,
            "sources": list(query.sources),
            "sink": query.sink,
            "topic": query.sink_topic,
            "processed": int(figures.get("processed", 0)),
            "rate": rates.get(query.id),
            "lag": sum(lag.values()) if lag else None,
            "errors": context.queries.runner.errors(query),
        }


def _rate(before: tuple[float, dict[str, float]], after: tuple[float, dict[str, float]], name: str) -> float:
    seconds = max(after[0] - before[0], 0.001)
    # Lanes that begin anew count from zero.
    return round(max(0.0, after[1].get(name, 0.0) - before[1].get(name, 0.0)) / seconds, 1)


def _positions(figures: Mapping[str, float]) -> dict[Partition, int]:
    found = {}
    for name, at in figures.items():
        topic, dash, number = name.rpartition("-")
        if dash and number.isdigit():
            found[topic, int(number)] = int(at)
    return found


def _lag(end: int, position: int, *, in_transactions: bool) -> int:
    # After the last record of a transaction is Kafka's mark of its end, which nobody reads.
    return max(0, end - position - in_transactions)
