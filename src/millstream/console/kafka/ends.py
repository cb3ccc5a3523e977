"""How far topics go, as pages ask it every other second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from millstream.console.kafka.looking import Looking
from millstream.kafka.admin import Partition

#: Browsers that look at the same time share an answer of Kafka's; one that asks again wants a new one.
_SECONDS = 1.5


class Ends:
    """The ends of partitions, which are asked for at most every other second.

    Args:
        looking: asks Kafka.
        clock: seconds since the epoch.
    """

    def __init__(self, looking: Looking, clock: Callable[[], float] = time.time) -> None:
        self._looking = looking
        self._clock = clock
        self._lock = threading.Lock()
        self._known: tuple[float, frozenset[Partition], dict[Partition, int]] = (0.0, frozenset(), {})

    def of(self, partitions: frozenset[Partition]) -> dict[Partition, int]:
        """The offset after the last committed record of each; those that do not exist are left out."""
        with self._lock:
            at, known, ends = self._known
            now = self._clock()
            if now - at > _SECONDS or not partitions <= known:
                ends = self._looking.ends(partitions) if partitions else {}
                self._known = (now, partitions, ends)
            return ends
