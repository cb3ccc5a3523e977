"""How many pull queries a server takes: `ksql.query.pull.max.*`."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from millstream.ksqldb.api import ServiceError
from millstream.sql.settings import Settings

_HOUR_SECONDS = 3600.0
_MEGABYTE = 1024 * 1024
#: The default of every limit: none.
_UNLIMITED = 2**31 - 1


class PullLimits:
    """Counts pull queries.

    Args:
        clock: seconds of a clock that only goes on.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._running = 0
        self._begun: deque[float] = deque()
        self._sent: deque[tuple[float, int]] = deque()

    def enter(self, settings: Settings) -> None:
        """Begin a pull query, which `leave` ends.

        Raises:
            ServiceError: there are too many.
        """
        rate, at_once, megabytes = (settings[f"ksql.query.pull.max.{name}"] for name in _LIMITS)
        now = self._clock()
        with self._lock:
            while self._sent and self._sent[0][0] <= now - _HOUR_SECONDS:
                self._sent.popleft()
            if sum(size for _, size in self._sent) >= megabytes * _MEGABYTE:
                raise _refused(f"Host is at bandwidth rate limit of {megabytes} megabytes per hour for pull queries.")
            if self._running >= at_once:
                raise _refused(
                    f"Host is at concurrency limit for pull queries. Currently set to {at_once} concurrent requests."
                )
            if rate < _UNLIMITED:
                while self._begun and self._begun[0] <= now - 1:
                    self._begun.popleft()
                if len(self._begun) >= rate:
                    raise _refused(
                        f"Host is at rate limit for pull queries. Currently set to {rate} queries per second."
                    )
                self._begun.append(now)
            self._running += 1

    def leave(self) -> None:
        """A pull query has ended."""
        with self._lock:
            self._running -= 1

    def sent(self, settings: Settings, rows: object) -> None:
        """Rows were answered; how many bytes they take is only counted if somebody wants to know."""
        if settings[f"ksql.query.pull.max.{_LIMITS[2]}"] < _UNLIMITED:
            with self._lock:
                self._sent.append((self._clock(), len(str(rows))))


_LIMITS = ("qps", "concurrent.requests", "hourly.bandwidth.megabytes")


def _refused(message: str) -> ServiceError:
    return ServiceError(42900, message)
