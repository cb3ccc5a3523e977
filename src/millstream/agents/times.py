"""Times as Faust has them: seconds as a number, or a `timedelta`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from millstream.durations import milliseconds
from millstream.errors import ArgumentError

Seconds = float | timedelta


def to_timedelta(duration: Seconds, what: str) -> timedelta:
    """A duration.

    >>> to_timedelta(1.5, "within")
    datetime.timedelta(seconds=1, microseconds=500000)
    """
    if isinstance(duration, timedelta):
        return duration
    if not isinstance(duration, int | float):
        raise ArgumentError(f"{what} must be a number of seconds or a timedelta", detail=f"it is {duration!r}")
    return timedelta(seconds=duration)


def to_milliseconds(duration: Seconds, what: str, *, minimum: int = 0) -> int:
    """A duration in whole milliseconds."""
    return milliseconds(to_timedelta(duration, what), what, minimum=minimum)


def moment_ms(value: Any) -> int:
    """A moment in milliseconds: given as a datetime, as ISO text, or in seconds.

    >>> moment_ms("1970-01-01T00:00:02+00:00"), moment_ms(2)
    (2000, 2000)
    """
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        return int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() * 1000)
    return int(value * 1000)
