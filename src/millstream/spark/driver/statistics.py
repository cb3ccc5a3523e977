"""What lanes report, added up in the driver."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from millstream.hosting.copartitioning import Judge
from millstream.spark.exchange.parcels import STAGES


class Statistics:
    """Totals over all batches, and the last report of each task.

    Args:
        lag: answers how many records wait in the input topics.
    """

    def __init__(self, lag: Callable[[], int] = lambda: 0) -> None:
        self._lag = lag
        self._lock = threading.Lock()
        self._tasks: dict[str, dict[str, Any]] = {}
        self._begun: float | None = None
        self._first = self._ended = 0.0
        self._processed = 0
        self._read = 0
        self._record_bytes = 0.0
        self._written = 0
        self._batches = 0
        self._batch_records = 0
        self._batch_seconds = 0.0
        self._lane_seconds = 0.0
        self._stages: dict[str, float] = dict.fromkeys(STAGES, 0.0)
        self._judge = Judge()

    def add(self, reports: list[dict[str, Any]], seconds: float) -> None:
        """Take in the reports of one batch, which took so long."""
        with self._lock:
            ended = time.time()
            if self._begun is None and reports:
                self._begun, self._first = min(report["begun"] for report in reports), ended
            self._ended = ended
            self._batches += 1
            self._batch_seconds = seconds
            by_wave: dict[int, float] = {}
            for report in reports:
                taken = sum(report[stage] for stage in STAGES)
                by_wave[report["wave"]] = max(taken, by_wave.get(report["wave"], 0.0))
            self._lane_seconds = sum(by_wave.values())
            self._batch_records = sum(report["read"] for report in reports)
            self._read += self._batch_records
            self._record_bytes = max((report["record_bytes"] for report in reports), default=0.0) or self._record_bytes
            for report in reports:
                self._processed += report["processed"]
                self._written += report["written"]
                self._tasks.update(report["tasks"])
                self._judge.add(report["key_places"])
                for stage in STAGES:
                    self._stages[stage] += report[stage]

    def span(self) -> tuple[float, float, float]:
        """When the first record was read, when the last batch ended and when the first did, in seconds since 1970."""
        with self._lock:
            return self._begun or 0.0, self._ended, self._first

    def totals(self) -> dict[str, float]:
        """Numbers of the whole application; times are of all lanes together."""
        lag = self._lag()
        with self._lock:
            return {
                "process-total": self._processed,
                "records-consumed-total": self._read,
                "records-produced-total": self._written,
                "commit-total": self._batches,
                "dropped-records-total": self._sum("dropped"),
                "punctuate-total": self._sum("punctuated"),
                "restored-records-total": self._sum("restored"),
                "state-bytes": self._sum("state_bytes"),
                "records-lag": lag,
                "batch-seconds": self._batch_seconds,
                "batch-records": self._batch_records,
                **{f"{stage.removesuffix('_s')}-seconds-total": value for stage, value in self._stages.items()},
            }

    def tasks(self) -> dict[str, dict[str, Any]]:
        """The last report of each task."""
        with self._lock:
            return {name: dict(report) for name, report in self._tasks.items()}

    @property
    def record_bytes(self) -> float:
        """The usual size of an input record."""
        return self._record_bytes

    @property
    def lane_seconds(self) -> float:
        """How long lanes worked on the last batch, the slowest of each wave."""
        return self._lane_seconds

    def next_due(self) -> int | None:
        """When the next wall-clock punctuation is due."""
        with self._lock:
            return min((task["due"] for task in self._tasks.values() if task.get("due") is not None), default=None)

    def _sum(self, name: str) -> int:
        return sum(task.get(name, 0) for task in self._tasks.values())
