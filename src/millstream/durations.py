"""Durations: `timedelta` for people, whole milliseconds inside."""

from __future__ import annotations

from datetime import timedelta

from millstream.errors import ArgumentError
from millstream.records import MAX_TIMESTAMP

_MILLISECOND = timedelta(milliseconds=1)


def milliseconds(duration: timedelta, what: str, *, minimum: int = 0) -> int:
    """A duration in whole milliseconds.

    Args:
        duration: the duration; fractions of a millisecond are cut off.
        what: its name in an error.
        minimum: the least number of milliseconds that makes sense.

    >>> milliseconds(timedelta(minutes=5), "size")
    300000
    """
    if not isinstance(duration, timedelta):
        raise ArgumentError(
            f"{what} must be a timedelta",
            detail=f"it is {duration!r}",
            hint="write timedelta(minutes=5)",
        )
    result = duration // _MILLISECOND
    if not minimum <= result <= MAX_TIMESTAMP:
        bound = "must not be negative" if minimum == 0 else f"must be at least {minimum} ms"
        raise ArgumentError(f"{what} {bound}", detail=f"it is {duration} ({result} ms)")
    return result
