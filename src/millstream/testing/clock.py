"""The test driver's wall clock, which moves only when told to."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

from millstream.durations import milliseconds
from millstream.processors.user_context import HostContext


def to_milliseconds(moment: int | datetime) -> int:
    """A point in time in milliseconds since 1970."""
    return int(moment.timestamp() * 1000) if isinstance(moment, datetime) else moment


class Clock:
    """A clock that stands still. It starts now unless told otherwise."""

    def __init__(self, start: int | datetime | None) -> None:
        self.now = int(time.time() * 1000) if start is None else to_milliseconds(start)

    def advance(self, duration: timedelta) -> None:
        """Move on."""
        self.now += milliseconds(duration, "advance")


class ClockedContext(HostContext):
    """A task's context whose wall clock is the driver's."""

    clock: Clock

    def now(self) -> int:
        return self.clock.now
