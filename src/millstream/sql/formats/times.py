"""Checks of DATE, TIME and TIMESTAMP values that come from outside."""

from __future__ import annotations

DAY_MS = 86_400_000


def check_time(milliseconds: int) -> int:
    """A time of day as it is.

    Raises:
        ValueError: it is none.
    """
    if 0 <= milliseconds <= DAY_MS:
        return milliseconds
    raise ValueError(f"Time values must use number of milliseconds greater than 0 and less than {DAY_MS}.")
