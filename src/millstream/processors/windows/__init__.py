"""Aggregations per window, and views of their tables."""

from __future__ import annotations

from millstream.processors.windows.base import WindowedAggregate
from millstream.processors.windows.sessions import SessionWindowAggregate
from millstream.processors.windows.sliding import SlidingWindowAggregate
from millstream.processors.windows.time_windows import TimeWindowAggregate
from millstream.processors.windows.view import SessionStoreView, WindowedStoreView, session_view, window_view

__all__ = [
    "SessionStoreView",
    "SessionWindowAggregate",
    "SlidingWindowAggregate",
    "TimeWindowAggregate",
    "WindowedAggregate",
    "WindowedStoreView",
    "session_view",
    "window_view",
]
