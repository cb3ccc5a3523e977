"""Joins of two tables of the same key: `join`, `left_join` and `outer_join` of a KTable with a KTable."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from millstream.processors.context import TaskContext
from millstream.processors.operator import Operator
from millstream.processors.tables.view import Entry, TableView, ViewFactory
from millstream.records import Change, Headers
from millstream.state.store import LATEST, NOT_STORED

#: Called with the key, the left and the right value.
Joiner = Callable[[Any, Any, Any], Any]
JoinKind = Literal["inner", "left", "outer"]


class TableTableJoin(Operator):
    """One side of a join: joins each update of its table with what the other table holds.

    Args:
        kind: inner, left or outer.
        left_side: whether this is the left table's side.
        other: the other table.
        joiner: makes a result of key, left and right value.
        send_old: whether the previous result is wanted too.
    """

    def __init__(self, *, kind: JoinKind, left_side: bool, other: ViewFactory, joiner: Joiner, send_old: bool) -> None:
        self._view = other.create()
        self._send_old = send_old
        #: Called with the key, this side's and the other side's value.
        self._join = joiner if left_side else lambda key, this, that: joiner(key, that, this)
        if kind == "inner":
            self._update = self._inner
        elif kind == "outer":
            self._update = self._outer
        else:
            self._update = self._left if left_side else self._right_of_left

    def init(self, context: TaskContext) -> None:
        """Open the other table's view."""
        super().init(context)
        self._view.init(context)
        self._get = self._view.get

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers | None) -> None:
        """Join an update. One that is not the latest of its key (of a versioned table) cannot change the result."""
        if key is None:
            self.drop("null key")
            return
        new, old, is_latest = value
        if not is_latest:
            self.drop("out-of-order update of a versioned table")
            return
        entry = self._get(key)
        if entry is not None and entry[1] > timestamp:
            timestamp = entry[1]
        self._update(key, new, old, entry, timestamp, headers)

    def _inner(
        self, key: Any, new: Any, old: Any, entry: Entry | None, timestamp: int, headers: Headers | None
    ) -> None:
        if entry is None:
            return
        other = entry[0]
        joined = None if new is None else self._join(key, new, other)
        before = self._join(key, old, other) if self._send_old and old is not None else None
        self.forward(key, (joined, before, True), timestamp, headers)

    def _left(self, key: Any, new: Any, old: Any, entry: Entry | None, timestamp: int, headers: Headers | None) -> None:
        if entry is None and new is None and old is None:
            return
        other = None if entry is None else entry[0]
        joined = None if new is None else self._join(key, new, other)
        before = self._join(key, old, other) if self._send_old and old is not None else None
        self.forward(key, (joined, before, True), timestamp, headers)

    def _right_of_left(
        self, key: Any, new: Any, old: Any, entry: Entry | None, timestamp: int, headers: Headers | None
    ) -> None:
        if entry is None:
            return
        other = entry[0]
        joined = self._join(key, new, other)
        before = self._join(key, old, other) if self._send_old else None
        self.forward(key, (joined, before, True), timestamp, headers)

    def _outer(
        self, key: Any, new: Any, old: Any, entry: Entry | None, timestamp: int, headers: Headers | None
    ) -> None:
        if entry is None and new is None and old is None:
            return
        other = None if entry is None else entry[0]
        exists = entry is not None
        joined = self._join(key, new, other) if exists or new is not None else None
        before = self._join(key, old, other) if self._send_old and (exists or old is not None) else None
        self.forward(key, (joined, before, True), timestamp, headers)


class TableJoinMerge(Operator):
    """Where the two sides of a join meet: the result table.

    Args:
        store: the store of a materialised result.
        send_old: whether the previous result is sent on (the sides then send it here).
    """

    def __init__(self, *, store: str | None, send_old: bool) -> None:
        self._store_name = store
        self._send_old = send_old
        if store is None:
            self.process = self._pass_on  # type: ignore[method-assign]

    def init(self, context: TaskContext) -> None:
        """Find the store; a cached one forwards when it is flushed."""
        super().init(context)
        if self._store_name is not None:
            store = context.store(self._store_name)
            self._write = store.write
            self._cached: bool = getattr(store, "cached", False)
            if self._cached:
                store.set_flush_listener(self._forward_flushed, self._send_old)

    def _pass_on(self, key: Any, value: Change, timestamp: int, headers: Headers | None) -> None:
        self.forward(key, value, timestamp, headers)

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers | None) -> None:
        """Write the result down, then send it on unless a versioned store found it too old."""
        new = value[0]
        outcome = self._write(key, new, timestamp, headers)
        if self._cached or outcome == NOT_STORED:
            return
        self.forward(key, (new, value[1] if self._send_old else None, outcome == LATEST), timestamp, headers)

    def _forward_flushed(self, key: Any, new: Any, old: Any, timestamp: int, headers: Headers | None) -> None:
        self.forward(key, (new, old if self._send_old else None, True), timestamp, headers)


class JoinView(TableView):
    """The result of a join that is not materialised, worked out when it is asked for."""

    def __init__(self, kind: JoinKind, left: ViewFactory, right: ViewFactory, joiner: Joiner) -> None:
        self._left = left.create()
        self._right = right.create()
        self._joiner = joiner
        self._needs_left = kind != "outer"
        self._needs_right = kind == "inner"

    def init(self, context: TaskContext) -> None:
        """Open both tables' views."""
        self._left.init(context)
        self._right.init(context)

    def get(self, key: Any) -> Entry | None:
        """The joined value, at the later of both times."""
        left = self._left.get(key)
        if left is None and self._needs_left:
            return None
        right = self._right.get(key)
        if right is None and (left is None or self._needs_right):
            return None
        joined = self._joiner(key, None if left is None else left[0], None if right is None else right[0])
        if joined is None:
            return None
        return joined, max(entry[1] for entry in (left, right) if entry is not None)


def join_view(kind: JoinKind, left: ViewFactory, right: ViewFactory, joiner: Joiner) -> ViewFactory:
    """The view of a join's result from the views of its tables."""
    store_names = tuple(dict.fromkeys(left.store_names + right.store_names))
    return ViewFactory(partial(JoinView, kind, left, right, joiner), store_names)
