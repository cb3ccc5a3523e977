"""The right side of a foreign-key join: it keeps subscriptions, and answers them."""

from __future__ import annotations

from typing import Any

from millstream.processors.context import TaskContext
from millstream.processors.foreign_key.store import SubscriptionStore
from millstream.processors.foreign_key.wire import CombinedKey, Instruction, ResponseWrapper, SubscriptionWrapper
from millstream.processors.operator import Operator
from millstream.processors.tables.view import ViewFactory
from millstream.records import Change, Headers


class _UsesSubscriptions(Operator):
    """An operator with the subscription store.

    Args:
        store: its name.
    """

    def __init__(self, *, store: str) -> None:
        self._store_name = store

    def init(self, context: TaskContext) -> None:
        """Find the subscription store."""
        super().init(context)
        self._store: SubscriptionStore = context.store(self._store_name)


class SubscriptionReceive(_UsesSubscriptions):
    """Keeps or forgets a subscription, and passes it on: the key is then a `CombinedKey`, the value as it came."""

    def process(self, key: Any, value: SubscriptionWrapper, timestamp: int, headers: Headers | None) -> None:
        """Do what the instruction says. A row without a foreign key is not kept, but may want an answer."""
        instruction = value.instruction
        primary_key = value.primary_key
        if key is None:
            if instruction is not Instruction.PROPAGATE_NULL_IF_ABSENT:
                self.drop("null foreign key")
                return
        elif instruction <= Instruction.DELETE_AND_PROPAGATE:
            self._store.delete(key, primary_key)
        else:
            self._store.put(key, primary_key, value, timestamp)
        self.forward(CombinedKey(key, primary_key), value, timestamp, headers)


class SubscriptionJoin(Operator):
    """Answers a subscription with what the right table holds now.

    Args:
        foreign_view: the right table.
    """

    def __init__(self, *, foreign_view: ViewFactory) -> None:
        self._view = foreign_view.create()

    def init(self, context: TaskContext) -> None:
        """Open the right table's view."""
        super().init(context)
        self._view.init(context)
        self._get = self._view.get

    def process(self, key: CombinedKey, value: SubscriptionWrapper, timestamp: int, headers: Headers | None) -> None:
        """Respond if the instruction asks for it, at the later of both times."""
        instruction = value.instruction
        if instruction is Instruction.DELETE_NO_PROPAGATE:
            return
        entry = None if key.foreign_key is None else self._get(key.foreign_key)
        if entry is None:
            if instruction is Instruction.PROPAGATE_ONLY_IF_PRESENT:
                return
            foreign_value = None
        else:
            foreign_value = None if instruction is Instruction.DELETE_AND_PROPAGATE else entry[0]
            timestamp = max(timestamp, entry[1])
        response = ResponseWrapper(value.hash, foreign_value, value.primary_partition)
        self.forward(key.primary_key, response, timestamp, headers)


class ForeignTableUpdate(_UsesSubscriptions):
    """Tells all subscribers of a key about an update of the right table."""

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers | None) -> None:
        """Respond to each subscriber, in order of the primary key's bytes, at the update's time."""
        if key is None:
            self.drop("null key")
            return
        new, _, is_latest = value
        if not is_latest:
            self.drop("out-of-order update of a versioned table")
            return
        for row_hash, _, primary_key, partition in self._store.subscribers(key):
            self.forward(primary_key, ResponseWrapper(row_hash, new, partition), timestamp, headers)
