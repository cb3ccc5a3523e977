"""Window definitions, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from millstream.errors import ArgumentError
from millstream.records import MAX_TIMESTAMP, Window
from millstream.windows import JoinWindows, SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows


def ms(n: int) -> timedelta:
    return timedelta(milliseconds=n)


def test_tumbling_windows() -> None:
    windows = TimeWindows.of_size(ms(10), grace=ms(3))
    assert (windows.size_ms, windows.advance_ms, windows.grace_ms, windows.retention_ms) == (10, 10, 3, 13)
    assert windows.windows_for(0) == [Window(0, 10)]
    assert windows.windows_for(9) == [Window(0, 10)]
    assert windows.windows_for(10) == [Window(10, 20)]


def test_hopping_windows_do_not_start_before_the_epoch() -> None:
    windows = TimeWindows.of_size(ms(10)).advance_by(ms(4))
    assert windows.windows_for(3) == [Window(0, 10)]
    assert windows.windows_for(9) == [Window(0, 10), Window(4, 14), Window(8, 18)]
    assert windows.windows_for(12) == [Window(4, 14), Window(8, 18), Window(12, 22)]


def test_unlimited_windows() -> None:
    windows = UnlimitedWindows.of(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    assert windows.windows_for(999) == []
    assert windows.windows_for(1000) == [Window(1000, MAX_TIMESTAMP)]
    assert UnlimitedWindows.of() == UnlimitedWindows.of(0)


def test_sliding_and_session_windows() -> None:
    sliding = SlidingWindows.of_time_difference(ms(5), grace=ms(1))
    assert (sliding.difference_ms, sliding.grace_ms, sliding.retention_ms) == (5, 1, 11)
    sessions = SessionWindows.of_inactivity_gap(ms(5), grace=ms(1))
    assert (sessions.gap_ms, sessions.grace_ms, sessions.retention_ms) == (5, 1, 6)


def test_join_windows() -> None:
    windows = JoinWindows.of_time_difference(ms(5), grace=ms(2)).before(ms(-1)).after(ms(7))
    assert (windows.before_ms, windows.after_ms, windows.grace_ms, windows.size_ms) == (-1, 7, 2, 6)
    assert windows.retention_ms == 8
    assert windows.waits_for_close


def test_legacy_join_windows() -> None:
    day = 24 * 60 * 60 * 1000
    windows = JoinWindows.of(ms(100))
    assert windows.grace_ms == day - 200
    assert not windows.waits_for_close
    assert JoinWindows.of(timedelta(days=2)).grace_ms == 0
    assert windows.before(ms(1)).grace(ms(9)) == JoinWindows(1, 100, 9, waits_for_close=False)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TimeWindows.of_size(ms(0)), "size must be at least 1 ms"),
        (lambda: TimeWindows.of_size(ms(5), grace=ms(-1)), "grace must not be negative"),
        (
            lambda: TimeWindows.of_size(ms(10)).advance_by(ms(0)),
            "Window advancement interval should be more than zero and less than window duration which is 10 ms, "
            "but given advancement interval is: 0 ms",
        ),
        (lambda: TimeWindows.of_size(ms(10)).advance_by(ms(11)), "Window advancement interval"),
        (lambda: SlidingWindows.of_time_difference(ms(-1)), "time difference must not be negative"),
        (lambda: SessionWindows.of_inactivity_gap(ms(-1)), "gap must not be negative"),
        (lambda: UnlimitedWindows.of(-1), "before 1970"),
        (lambda: UnlimitedWindows.of(datetime(2020, 1, 1)), "time zone"),  # noqa: DTZ001 - the mistake meant
        (
            lambda: JoinWindows.of_time_difference(ms(3)).before(ms(-4)),
            "Window interval (ie, beforeMs+afterMs) must not be negative.",
        ),
        (lambda: JoinWindows.of_time_difference(ms(3)).grace(ms(1)), "legacy"),
        (lambda: TimeWindows.of_size(5), "must be a timedelta"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_work_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        make()
    assert message in caught.value.primary
