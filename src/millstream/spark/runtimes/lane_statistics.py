"""What lanes tell, added up."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from typing import Any

from millstream.hosting.copartitioning import Judge, KeysSeen
from millstream.hosting.lanes.messages import Figures


class LaneStatistics:
    """See `Numbers`. A lane that is gone has done what it has done; its tasks are another's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: By lane, the last figures.
        self._lanes: dict[int, Figures] = {}
        #: What lanes had done before they began anew.
        self._before: Counter[str] = Counter()
        self._begun = self._first = self._ended = 0.0
        self._judge = Judge()

    def take(self, lane: int, figures: Figures) -> None:
        """A lane tells what it has done since it began."""
        with self._lock:
            before = self._lanes.get(lane)
            if before is not None:
                self._keep(before, figures)
            begun, first, last = figures.times
            if first:
                self._begun = min(self._begun or begun, begun)
                self._first = min(self._first or first, first)
                self._ended = max(self._ended, last)
            self._lanes[lane] = figures

    def begin_anew(self) -> None:
        """Lanes are about to make their tasks anew, and have not told of it."""
        with self._lock:
            self._lanes = {lane: replace(told, is_settled=False) for lane, told in self._lanes.items()}

    def gone(self, lane: int) -> None:
        """A lane has ended."""
        with self._lock:
            before = self._lanes.pop(lane, None)
            if before is not None:
                self._keep(before, Figures(before.query, (), 0, 0, {}, {}))

    def judge(self, keys: KeysSeen) -> None:
        """A lane tells where keys of joined topics lie: warn if that is not where they belong."""
        with self._lock:
            self._judge.add(keys)

    def lanes(self) -> dict[int, Figures]:
        """The last that each lane told."""
        with self._lock:
            return dict(self._lanes)

    def totals(self) -> dict[str, float]:
        """Numbers of the whole application."""
        with self._lock:
            told = list(self._lanes.values())
            now = sum(map(_counted, told), self._before)
            return {
                "process-total": now["processed"],
                "records-consumed-total": now["read"],
                "records-produced-total": now["written"],
                "commit-total": now["commits"],
                "dropped-records-total": now["dropped"],
                "punctuate-total": now["punctuated"],
                "restored-records-total": now["restored"],
                "records-lag": sum(sum(one.lags.values()) for one in told),
                "standby-tasks": sum(len(one.standbys) for one in told),
                "standby-records-lag": sum(sum(one.standbys.values()) for one in told),
            }

    def tasks(self) -> dict[str, dict[str, Any]]:
        """The last that each task told."""
        with self._lock:
            return {name: dict(said) for one in self._lanes.values() for name, said in one.details.items()}

    def span(self) -> tuple[float, float, float]:
        """When records came first, when results were last made final and when first, in seconds since 1970."""
        with self._lock:
            return self._begun, self._ended, self._first

    def _keep(self, before: Figures, now: Figures) -> None:
        """Do not forget what a lane did before it began anew."""
        if now.commits < before.commits or now.counted.get("processed", 0) < before.counted.get("processed", 0):
            self._before += _counted(before)


def _counted(figures: Figures) -> Counter[str]:
    return Counter({**figures.counted, "commits": figures.commits})
