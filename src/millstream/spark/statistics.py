"""What lanes report, added up in the driver."""

from __future__ import annotations

import threading
import time
from typing import Any


class Statistics:
    """Totals over all batches, and the last report of each task."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks: dict[str, dict[str, Any]] = {}
        self._processed = 0
        self._written = 0
        self._batches = 0
        self._seconds: dict[str, float] = {}
        self._last_batch: float | None = None

    def add(self, reports: list[dict[str, Any]]) -> None:
        """Take in the reports of one batch."""
        with self._lock:
            self._batches += 1
            self._last_batch = time.time()
            for report in reports:
                self._processed += report["processed"]
                self._written += report["written"]
                self._tasks.update(report["tasks"])
                for name in ("read_s", "process_s", "save_s", "write_s"):
                    self._seconds[name] = self._seconds.get(name, 0.0) + report[name]

    def totals(self) -> dict[str, float]:
        """Numbers of the whole application."""
        with self._lock:
            return {
                "process-total": self._processed,
                "records-produced-total": self._written,
                "commit-total": self._batches,
                "dropped-records-total": sum(task.get("dropped", 0) for task in self._tasks.values()),
                "state-bytes-total": sum(task.get("state_bytes", 0) for task in self._tasks.values()),
                "restored-records-total": sum(task.get("restored", 0) for task in self._tasks.values()),
                **{name.replace("_s", "-seconds-total"): value for name, value in self._seconds.items()},
            }

    def tasks(self) -> dict[str, dict[str, Any]]:
        """The last report of each task."""
        with self._lock:
            return {name: dict(report) for name, report in self._tasks.items()}

    def next_due(self) -> int | None:
        """When the next wall-clock punctuation is due."""
        with self._lock:
            dues = [task["due"] for task in self._tasks.values() if task.get("due") is not None]
            return min(dues, default=None)
