"""What Prometheus is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from millstream.ksqldb.api import QueryFigures

MEDIA_TYPE = CONTENT_TYPE_LATEST
_OTHER = "other"


class Metrics:
    """Counts requests and answers.

    Args:
        paths: those that are counted by themselves; parts in braces stand for anything.
        queries: what the server does for persistent queries.
    """

    def __init__(self, paths: tuple[str, ...], queries: Callable[[], list[QueryFigures]]) -> None:
        self._paths = frozenset(paths)
        self._open_ended = tuple((path.partition("{")[0], path) for path in paths if "{" in path)
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "millstream_ksqldb_requests", "Requests by path and HTTP status", ("path", "code"), registry=self._registry
        )
        self._answers = Gauge(
            "millstream_ksqldb_running_answers", "Answers that are being sent", ("kind",), registry=self._registry
        )

        self._registry.register(_Queries(queries))

    def request(self, path: str, status: int) -> None:
        """A request was answered."""
        self._requests.labels(self._label(path), status).inc()

    def answers(self, kind: str, more: int) -> None:
        """So many more, or fewer, answers are being sent."""
        self._answers.labels(kind).inc(more)

    def text(self) -> bytes:
        """All of it."""
        return generate_latest(self._registry)

    def _label(self, path: str) -> str:
        if path in self._paths:
            return path
        return next((label for start, label in self._open_ended if path.startswith(start)), _OTHER)


class _Queries(Collector):
    """Tells of persistent queries when it is asked.

    Args:
        queries: what the server does for them.
    """

    def __init__(self, queries: Callable[[], list[QueryFigures]]) -> None:
        self._queries = queries

    def describe(self) -> list[Metric]:
        """Nothing in advance: else it would be asked before there is a service."""
        return []

    def collect(self) -> Iterator[Metric]:
        """One family of metrics per figure."""
        found, name = self._queries(), "millstream_ksqldb_query"
        states = GaugeMetricFamily(f"{name}_state", "1 for the state of a persistent query", labels=("query", "state"))
        processed = CounterMetricFamily(f"{name}_processed_records", "Records processed here", labels=("query",))
        dropped = CounterMetricFamily(f"{name}_dropped_records", "Records that could not be used", labels=("query",))
        lag = GaugeMetricFamily(f"{name}_lag", "Records that wait to be processed here", labels=("query",))
        for query in found:
            states.add_metric((query.id, query.state.value), 1)
            processed.add_metric((query.id,), query.progress.processed)
            dropped.add_metric((query.id,), query.progress.dropped)
            lag.add_metric((query.id,), query.progress.lag)
        yield from (states, processed, dropped, lag)
