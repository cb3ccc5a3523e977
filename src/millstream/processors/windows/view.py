"""How a join looks up a windowed table: the key is a `Windowed`."""

from __future__ import annotations

from functools import partial
from typing import Any

from millstream.processors.context import TaskContext
from millstream.processors.tables.view import Entry, TableView, ViewFactory
from millstream.records import Windowed


class WindowedStoreView(TableView):
    """A table in a timestamped window store (time and sliding windows)."""

    def __init__(self, store_name: str) -> None:
        self._store_name = store_name

    def init(self, context: TaskContext) -> None:
        self._store = context.store(self._store_name)

    def get(self, key: Windowed[Any]) -> Entry | None:
        found: Entry | None = self._store.read(key.key, key.window.start)
        return found


class SessionStoreView(TableView):
    """A table in a session store; a session's timestamp is its end."""

    def __init__(self, store_name: str) -> None:
        self._store_name = store_name

    def init(self, context: TaskContext) -> None:
        self._store = context.store(self._store_name).for_operators()

    def get(self, key: Windowed[Any]) -> Entry | None:
        start, end = key.window
        value = self._store.fetch_session(key.key, start, end)
        return None if value is None else (value, end)


def window_view(store_name: str) -> ViewFactory:
    """The view of a table of time or sliding windows kept in that store."""
    return ViewFactory(partial(WindowedStoreView, store_name), (store_name,))


def session_view(store_name: str) -> ViewFactory:
    """The view of a table of sessions kept in that store."""
    return ViewFactory(partial(SessionStoreView, store_name), (store_name,))
