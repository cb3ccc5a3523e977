"""Views of windowed tables."""

from __future__ import annotations

from typing import Any

from millstream.processors.context import TaskContext
from millstream.processors.windows import session_view, window_view
from millstream.records import Window, Windowed


def test_a_windowed_table_is_read_by_window_start(task: Any) -> None:
    context = TaskContext()
    context.stores["s"] = store = task.window_store(10)
    store.init(context)
    store.write("k", 20, "value", 25)
    factory = window_view("s")
    view = factory.create()
    view.init(context)
    assert factory.store_names == ("s",)
    assert view.get(Windowed("k", Window(20, 30))) == ("value", 25)
    assert view.get(Windowed("k", Window(30, 40))) is None


def test_a_sessions_timestamp_is_its_end(task: Any) -> None:
    context = TaskContext()
    context.stores["s"] = store = task.session_store()
    store.init(context)
    store.write("k", 20, 25, "value")
    view = session_view("s").create()
    view.init(context)
    assert view.get(Windowed("k", Window(20, 25))) == ("value", 25)
    assert view.get(Windowed("k", Window(20, 26))) is None
