"""Tasks in miniature: joins wired by hand, on stores that are plain dicts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from millstream.processors.context import TaskContext
from millstream.processors.foreign_key import (
    ForeignTableUpdate,
    ResponseJoin,
    ResponseWrapperSerde,
    SubscriptionJoin,
    SubscriptionReceive,
    SubscriptionSend,
    SubscriptionStoreBuilder,
    SubscriptionWrapperSerde,
)
from millstream.processors.joins import (
    JoinWindowStoreOperator,
    OuterJoinStoreBuilder,
    StreamStreamJoin,
    TableJoinMerge,
    TableTableJoin,
)
from millstream.processors.operator import Operator
from millstream.processors.tables.view import store_view
from millstream.records import Headers
from millstream.serdes import AnySerde, Serdes
from millstream.state.store import LATEST, NOT_STORED

Row = tuple[Any, Any, int]


class Output:
    """Collects what an operator forwards."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, Any, int, Headers | None]] = []

    def __call__(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        self.rows.append((key, value, timestamp, headers))

    def take(self) -> list[Row]:
        """The rows since the last call, without their headers."""
        rows, self.rows = self.rows, []
        return [row[:3] for row in rows]


def start(context: TaskContext, *operators: Operator, name: str = "op") -> None:
    """Initialise operators."""
    for operator in operators:
        operator.name = name
        operator.init(context)


class WindowStore:
    """A window store with duplicates: as `StoreKind.WINDOW`, in memory."""

    def __init__(self, retention_ms: int = 2**62) -> None:
        self._retention = retention_ms
        self._clock = -1
        self._rows: dict[Any, list[tuple[int, int, Any]]] = {}
        self._sequence = 0

    def put(self, key: Any, value: Any, start: int) -> None:
        self._clock = max(self._clock, start)
        if value is None or start <= self._clock - self._retention:
            return
        self._sequence += 1
        rows = self._rows.setdefault(key, [])
        rows.insert(bisect_left(rows, (start, self._sequence)), (start, self._sequence, value))

    def fetch_range(self, key: Any, start: int, end: int) -> Iterator[tuple[int, Any]]:
        for time, _, value in list(self._rows.get(key, ())):
            if start <= time <= end and time > self._clock - self._retention:
                yield time, value


class TableStore:
    """A timestamped key-value store."""

    def __init__(self) -> None:
        self.rows: dict[Any, tuple[Any, int]] = {}
        self.read = self.rows.get

    def write(self, key: Any, value: Any, timestamp: int, headers: Headers | None = None) -> int:
        if value is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = (value, timestamp)
        return LATEST


class CachedTableStore(TableStore):
    """A table store that tells its listener about writes when it is flushed."""

    cached = True

    def __init__(self) -> None:
        super().__init__()
        self._dirty: dict[Any, tuple[Any, int]] = {}

    def set_flush_listener(self, listener: Any, send_old: bool) -> None:
        self._listener = listener

    def write(self, key: Any, value: Any, timestamp: int, headers: Headers | None = None) -> int:
        self._dirty[key] = (value, timestamp)
        return LATEST

    def flush(self) -> None:
        dirty, self._dirty = self._dirty, {}
        for key, (value, timestamp) in dirty.items():
            old = self.rows.get(key, (None, 0))[0]
            super().write(key, value, timestamp)
            self._listener(key, value, old, timestamp, None)


class VersionedStore:
    """A versioned store with endless history, or one that refuses writes older than `refuses_before`."""

    def __init__(self, refuses_before: int = -1) -> None:
        self._refuses_before = refuses_before
        self.versions: dict[Any, dict[int, Any]] = {}

    def write(self, key: Any, value: Any, timestamp: int, headers: Headers | None = None) -> int:
        if timestamp < self._refuses_before:
            return NOT_STORED
        versions = self.versions.setdefault(key, {})
        versions[timestamp] = value
        later = [time for time in versions if time > timestamp]
        return min(later) if later else LATEST

    def read(self, key: Any) -> tuple[Any, int] | None:
        return self.read_as_of(key, 2**62)

    def read_as_of(self, key: Any, timestamp: int) -> tuple[Any, int] | None:
        times = [time for time in self.versions.get(key, {}) if time <= timestamp]
        if not times or self.versions[key][max(times)] is None:
            return None
        return self.versions[key][max(times)], max(times)


def pair(key: Any, left: Any, right: Any) -> str:
    """A joiner that shows its arguments."""
    return f"{left}+{right}"


class StreamJoinTask:
    """Both sides of a stream-stream join; `left` and `right` give back the results of one record."""

    def __init__(
        self,
        kind: str = "inner",
        before: int = 100,
        after: int = 100,
        grace: int = 0,
        *,
        legacy: bool = False,
        value: AnySerde = Serdes.string,
        emit_interval: int = 0,
    ) -> None:
        self.context = TaskContext(config={"emit_interval_ms_outer_join": emit_interval})
        self.output = Output()
        retention = before + after + grace
        self.unmatched = OuterJoinStoreBuilder("outer", Serdes.string, value, value).build()
        self.context.stores = {
            "left": WindowStore(retention),
            "right": WindowStore(retention),
            "outer": self.unmatched,
        }
        shared: dict[str, Any] = {
            "outer_store": None if kind == "inner" else "outer",
            "before_ms": before,
            "after_ms": after,
            "grace_ms": grace,
            "spurious_fix": not legacy,
            "joiner": pair,
            "shared": "clock",
        }
        self._left = JoinWindowStoreOperator("left")
        self._right = JoinWindowStoreOperator("right")
        left = StreamStreamJoin(left_side=True, other_store="right", outer=kind != "inner", **shared)
        right = StreamStreamJoin(left_side=False, other_store="left", outer=kind == "outer", **shared)
        self._left.forward, self._right.forward = left.process, right.process
        left.forward = right.forward = self.output
        start(self.context, self._left, self._right, left, right)

    def left(self, key: Any, value: Any, timestamp: int, headers: Headers | None = None) -> list[Row]:
        self._left.process(key, value, timestamp, headers)
        return self.output.take()

    def right(self, key: Any, value: Any, timestamp: int, headers: Headers | None = None) -> list[Row]:
        self._right.process(key, value, timestamp, headers)
        return self.output.take()

    def both(self, key: Any, value: Any, timestamp: int) -> list[Row]:
        """A stream joined with itself."""
        return self.left(key, value, timestamp) + self.right(key, value, timestamp)


class TableJoinTask:
    """Both sides of a table-table join, and the two tables; `left` and `right` write one row."""

    def __init__(self, kind: Any, *, send_old: bool = False, result: Any = None) -> None:
        self.context = TaskContext()
        self.output = Output()
        self.stores = {"left": TableStore(), "right": TableStore()}
        self.context.stores = {**self.stores, "result": result}
        merge = TableJoinMerge(store=None if result is None else "result", send_old=send_old)
        merge.forward = self.output
        self.sides = {
            side: TableTableJoin(
                kind=kind, left_side=side == "left", other=store_view(other), joiner=pair, send_old=send_old
            )
            for side, other in (("left", "right"), ("right", "left"))
        }
        for side in self.sides.values():
            side.forward = merge.process
        start(self.context, merge, *self.sides.values())

    def write(self, side: str, key: Any, value: Any, timestamp: int) -> list[Row]:
        """Write a row; the results' values are changes."""
        entry = self.stores[side].read(key)
        self.stores[side].write(key, value, timestamp)
        self.sides[side].process(key, (value, None if entry is None else entry[0], True), timestamp, None)
        return self.output.take()

    def left(self, key: Any, value: Any, timestamp: int) -> list[Row]:
        """Write a row; the results' values are the new ones."""
        return [(k, v[0], t) for k, v, t in self.write("left", key, value, timestamp)]

    def right(self, key: Any, value: Any, timestamp: int) -> list[Row]:
        return [(k, v[0], t) for k, v, t in self.write("right", key, value, timestamp)]


class ForeignKeyTask:
    """A foreign-key join whose topics are queues: subscriptions are handled before responses."""

    def __init__(self, left_join: bool = False) -> None:
        self.context = TaskContext()
        self.context.partition = 0
        self.output, self.subscriptions, self.responses = Output(), Output(), Output()
        self.left_rows, self.right_rows = TableStore(), TableStore()
        self.store = SubscriptionStoreBuilder("subscriptions", Serdes.string, Serdes.string).build()
        self.store.init(self.context)
        self.context.stores = {"left": self.left_rows, "right": self.right_rows, "subscriptions": self.store}
        self.send = SubscriptionSend(
            foreign_key=lambda key, value: value[0] if value else None,
            foreign_key_serde=Serdes.string,
            value_serde=Serdes.string,
            topic="subscriptions",
            left_join=left_join,
        )
        self.receive = SubscriptionReceive(store="subscriptions")
        self.join = SubscriptionJoin(foreign_view=store_view("right"))
        self.update = ForeignTableUpdate(store="subscriptions")
        self.respond = ResponseJoin(
            left_view=store_view("left"),
            value_serde=Serdes.string,
            topic="subscriptions",
            joiner=lambda left, right: f"{left}+{right}",
            left_join=left_join,
        )
        self.send.forward = self.subscriptions
        self.receive.forward = self.join.process
        self.join.forward = self.update.forward = self.responses
        self.respond.forward = self.output
        start(self.context, self.send, self.receive, self.join, self.update, self.respond)
        self._subscription_serde = SubscriptionWrapperSerde(Serdes.string, "pk")
        self._response_serde = ResponseWrapperSerde(Serdes.string)

    def left(self, key: Any, value: Any, timestamp: int) -> list[Row]:
        self.update_left(key, value, timestamp)
        return self.run()

    def update_left(self, key: Any, value: Any, timestamp: int) -> None:
        """Write a left row without handling what follows."""
        entry = self.left_rows.read(key)
        self.left_rows.write(key, value, timestamp)
        self.send.process(key, (value, None if entry is None else entry[0], True), timestamp, None)

    def right(self, key: Any, value: Any, timestamp: int) -> list[Row]:
        self.right_rows.write(key, value, timestamp)
        self.update.process(key, (value, None, True), timestamp, None)
        return self.run()

    def run(self) -> list[Row]:
        """Handle what is in the topics, through bytes as in a real one."""
        for key, value in self._through(self.subscriptions, self._subscription_serde):
            self.receive.process(key, value[0], value[1], None)
        for key, value in self._through(self.responses, self._response_serde):
            self.respond.process(key, value[0], value[1], None)
        return self.output.take()

    @staticmethod
    def _through(topic: Output, serde: AnySerde) -> list[tuple[Any, tuple[Any, int]]]:
        return [(key, (serde.deserialize(serde.serialize(value)), time)) for key, value, time in topic.take()]


@pytest.fixture(scope="session")
def lab() -> SimpleNamespace:
    """The classes and functions of this file."""
    return SimpleNamespace(
        CachedTableStore=CachedTableStore,
        ForeignKeyTask=ForeignKeyTask,
        Output=Output,
        StreamJoinTask=StreamJoinTask,
        TableJoinTask=TableJoinTask,
        TableStore=TableStore,
        VersionedStore=VersionedStore,
        WindowStore=WindowStore,
        pair=pair,
        start=start,
    )
