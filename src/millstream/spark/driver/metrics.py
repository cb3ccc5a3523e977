"""An application's numbers for Prometheus."""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Iterable
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from millstream.config import StreamsConfig
from millstream.errors import StreamsError
from millstream.spark.numbers import Numbers

_COUNTERS = {
    "process-total": "records that went through the topology",
    "records-consumed-total": "records read from input topics",
    "records-produced-total": "records written to topics",
    "commit-total": "how often results were made final",
    "dropped-records-total": "records that were skipped",
    "restored-records-total": "store entries read back after a move or a restart",
    "punctuate-total": "calls of punctuators",
}
_GAUGES = {
    "state-bytes": "bytes of state changes written to the checkpoint",
    "records-lag": "records that wait in the input topics",
    "standby-tasks": "tasks of other lanes that lanes have in reserve",
    "standby-records-lag": "records of changelogs that these lack",
    "batch-seconds": "how long the last batch took",
    "batch-records": "records of the last batch",
}


class _Numbers(Collector):
    def __init__(self, application_id: str, statistics: Numbers) -> None:
        self._application = application_id
        self._statistics = statistics

    def collect(self) -> Iterable[Metric]:
        totals = self._statistics.totals()
        for name, text in _COUNTERS.items():
            counter = CounterMetricFamily(_metric(name.removesuffix("-total")), text, labels=["application_id"])
            counter.add_metric([self._application], totals.get(name, 0))
            yield counter
        for name, text in _GAUGES.items():
            if name not in totals:  # continuously there are no batches
                continue
            gauge = GaugeMetricFamily(_metric(name), text, labels=["application_id"])
            gauge.add_metric([self._application], totals[name])
            yield gauge
        dropped = CounterMetricFamily(
            _metric("task-dropped-records"), "records that a task skipped", labels=["application_id", "task_id"]
        )
        for task, report in self._statistics.tasks().items():
            dropped.add_metric([self._application, task], report.get("dropped", 0))
        yield dropped


class MetricsServer:
    """Serves the numbers: http://<host>:<port>/metrics."""

    def __init__(
        self, application_id: str, statistics: Numbers, port: int, host: str = StreamsConfig.metrics_host
    ) -> None:
        registry = CollectorRegistry()
        registry.register(_Numbers(application_id, statistics))
        self._server: WSGIServer
        self._thread: threading.Thread
        try:
            self._server, self._thread = start_http_server(port, addr=host, registry=registry)
        except OSError as error:
            raise _cannot_listen(host, port, error) from error

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_port)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def check_port(config: StreamsConfig) -> None:
    """Refuse a port for metrics that cannot be used.

    Raises:
        StreamsError: another process listens on it, or the host is not this machine's.
    """
    if config.metrics_port is None:
        return
    try:
        family, _, _, _, address = socket.getaddrinfo(config.metrics_host, config.metrics_port)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
            probe.bind(address)
    except OSError as error:
        raise _cannot_listen(config.metrics_host, config.metrics_port, error) from error


def _cannot_listen(host: str, port: int, error: OSError) -> StreamsError:
    if error.errno == errno.EADDRINUSE:
        return StreamsError(
            f"metrics_port {port} is in use",
            detail=f"another process listens on {host}:{port}",
            hint="choose another metrics_port; 0 takes a free one",
        )
    return StreamsError(
        f"metrics cannot be served on {host}:{port}",
        detail=error.strerror or str(error),
        hint="set metrics_host to an address of this machine; '0.0.0.0' is all of them",
    )


def _metric(name: str) -> str:
    return f"kafka_streams_{name.replace('-', '_')}"
