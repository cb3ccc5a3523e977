"""Windows of keys."""

from __future__ import annotations

from millstream.sql.schema.formats import WindowInfo, WindowType
from millstream.sql.tree.queries import HoppingWindow, TumblingWindow, Window


def window_info(window: Window) -> WindowInfo:
    """What keys say of the window they are in."""
    if isinstance(window, TumblingWindow):
        return WindowInfo(WindowType.TUMBLING, window.size.milliseconds)
    if isinstance(window, HoppingWindow):
        return WindowInfo(WindowType.HOPPING, window.size.milliseconds)
    return WindowInfo(WindowType.SESSION)
