"""The queries of a service: what they are, and how they do."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from millstream.console.history import Figures, History
from millstream.console.kafka.ends import Ends
from millstream.console.kafka.looking import Looking
from millstream.errors import MillstreamError
from millstream.kafka.admin import Partition
from millstream.sql.engine.context import Context
from millstream.sql.engine.queries import PersistentQuery
from millstream.task.watching.watch import Seen


class Lanes(Protocol):
    """What the runner of queries knows of them."""

    def told(self) -> dict[str, dict[str, float]]:
        """Of each query, `processed`, and how far it is in its inputs by `topic-partition`."""

    def figures(self) -> dict[str, dict[str, float]]:
        """Of each query, `process-total` and `records-lag`, among others."""

    def tasks(self) -> dict[str, dict[int, tuple[tuple[str, ...], Mapping[str, float]]]]:
        """The tasks of each query in each lane of this server: those at work, and how much is there of the others."""

    def places(self) -> dict[int, tuple[str, int]]:
        """The host and the process of each lane of this server."""

    def look(self, query_id: str, seconds: float) -> list[Seen]:
        """What lanes have seen of a query's nodes lately; they look for so long from now on."""

    @property
    def lanes(self) -> set[int]:
        """The lanes of this server that are there now."""


class Overview:
    """Tells the figures of queries, and how they did in the last minutes.

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
        self._ends = Ends(looking, clock)
        #: How queries did in the last minutes.
        self.history = History(self._noted, clock)

    def close(self) -> None:
        """Take no more notes."""
        self.history.close()

    def queries(self) -> list[dict[str, Any]]:
        """All persistent queries with their figures."""
        context = self._context()
        figures = self._lanes.told()
        rates = self.history.rates()
        lags = self.lags()
        return [self._query(context, query, figures.get(query.id, {}), rates, lags) for query in list(context.queries)]

    def lags(self) -> dict[str, dict[str, int]]:
        """How many records each query has not processed yet, by `topic-partition`; none if Kafka does not tell."""
        positions = {query: _positions(found) for query, found in self._lanes.told().items()}
        try:
            ends = self._ends.of(frozenset(at for found in positions.values() for at in found))
        except MillstreamError:
            return {}
        written = {query.sink_topic for query in list(self._context().queries)}
        internal = tuple(query.application_id for query in list(self._context().queries))
        writers = max(1, len(self._lanes.lanes))
        return {
            query: {
                f"{at[0]}-{at[1]}": _lag(
                    ends[at], position, writers if at[0] in written or at[0].startswith(internal) else 0
                )
                for at, position in found.items()
                if at in ends
            }
            for query, found in positions.items()
        }

    def _noted(self) -> Figures:
        return {
            query: {"processed": found["process-total"], "lag": found["records-lag"]}
            for query, found in self._lanes.figures().items()
        }

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


def _positions(figures: Mapping[str, float]) -> dict[Partition, int]:
    found = {}
    for name, at in figures.items():
        topic, dash, number = name.rpartition("-")
        if dash and number.isdigit():
            found[topic, int(number)] = int(at)
    return found


def _lag(end: int, position: int, writers: int) -> int:
    # After the last record there is Kafka's mark of the end of each writer's transaction, which nobody reads.
    return max(0, end - position - writers)
