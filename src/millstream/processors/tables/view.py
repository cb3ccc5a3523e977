"""How a join looks up another table: its store, or what its operators would compute from a store further up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millstream.processors.context import TaskContext

#: A value and its timestamp.
Entry = tuple[Any, int]


class TableView:
    """Reads a table by key inside one task."""

    #: True when `get_as_of` can answer for the past.
    versioned = False

    def init(self, context: TaskContext) -> None:
        """Called before the first look-up, when the task's stores are open."""

    def get(self, key: Any) -> Entry | None:
        """The current value and its timestamp, or None."""
        raise NotImplementedError

    def get_as_of(self, key: Any, timestamp: int) -> Entry | None:
        """The value valid at that time; only for versioned tables."""
        raise NotImplementedError


@dataclass(frozen=True)
class ViewFactory:
    """Makes a table's view in each task, and says which stores must be connected to whoever reads through it."""

    create: Callable[[], TableView]
    store_names: tuple[str, ...]


class StoreView(TableView):
    """A materialised table: a timestamped or a versioned store (windowed ones have views of their own)."""

    def __init__(self, store_name: str) -> None:
        self._store_name = store_name

    def init(self, context: TaskContext) -> None:
        store = context.store(self._store_name)
        self.get = store.read  # type: ignore[method-assign]  # no call in between on the hot path
        if hasattr(store, "read_as_of"):
            self.versioned = True
            self.get_as_of = store.read_as_of  # type: ignore[method-assign]


def store_view(store_name: str) -> ViewFactory:
    """The view of a table kept in that store."""
    return ViewFactory(lambda: StoreView(store_name), (store_name,))
