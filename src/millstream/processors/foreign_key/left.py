"""The left side of a foreign-key join: it subscribes to foreign keys, and joins the answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.processors.context import TaskContext
from millstream.processors.foreign_key.wire import Instruction, ResponseWrapper, SubscriptionWrapper, value_hash
from millstream.processors.operator import Operator
from millstream.processors.tables.view import ViewFactory
from millstream.records import Change, Headers
from millstream.serdes import AnySerde
from millstream.serdes.deferred import resolved


class SubscriptionSend(Operator):
    """Turns updates of the left table into subscriptions, each under the foreign key it is about.

    Args:
        foreign_key: the foreign key of a row's key and value; None if it has none.
        foreign_key_serde: the right table's key serde.
        value_serde: the left table's value serde, for the hash of a row.
        topic: of subscriptions; serdes with a schema registry ask.
        left_join: rows without a match are results too.
    """

    def __init__(
        self,
        *,
        foreign_key: Callable[[Any, Any], Any],
        foreign_key_serde: AnySerde,
        value_serde: AnySerde,
        topic: str,
        left_join: bool,
    ) -> None:
        self._foreign_key = foreign_key
        self._topic = topic
        self._foreign_key_serde = foreign_key_serde
        self._value_serde = value_serde
        self._subscribe = self._subscribe_left if left_join else self._subscribe_inner

    def init(self, context: TaskContext) -> None:
        """Take the serdes, now that the configured defaults are known."""
        super().init(context)
        self._foreign_key_serde = _known(self._foreign_key_serde, True, context, self.name, f"{self._topic}-fk")
        self._serialize = _known(self._value_serde, False, context, self.name, f"{self._topic}-vh").serialize

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers | None) -> None:
        """Subscribe to the row's foreign key, and unsubscribe from the one it had before."""
        new, old, is_latest = value
        if not is_latest:
            self.drop("out-of-order update of a versioned table")
            return
        subscriptions = self._subscribe(key, new, old)
        if not subscriptions:
            return
        row_hash = None if new is None else value_hash(self._serialize(new))
        for foreign_key, instruction in subscriptions:
            subscription = SubscriptionWrapper(row_hash, instruction, key, self.context.partition)
            self.forward(foreign_key, subscription, timestamp, headers)

    def _subscribe_inner(self, key: Any, new: Any, old: Any) -> list[tuple[Any, Instruction]]:
        if new is None and old is None:
            return []
        old_key = None if old is None else self._foreign_key(key, old)
        new_key = None if new is None else self._foreign_key(key, new)
        if new_key is None:
            if old_key is None:
                self.drop("null foreign key")
                return []
            return [(old_key, Instruction.DELETE_AND_PROPAGATE)]
        if old_key is None or self._same(new_key, old_key):
            return [(new_key, Instruction.PROPAGATE_ONLY_IF_PRESENT)]
        # The old result has to go even if the new key has no match.
        return [(old_key, Instruction.DELETE_NO_PROPAGATE), (new_key, Instruction.PROPAGATE_NULL_IF_ABSENT)]

    def _subscribe_left(self, key: Any, new: Any, old: Any) -> list[tuple[Any, Instruction]]:
        if new is None and old is None:
            return []
        old_key = None if old is None else self._foreign_key(key, old)
        new_key = None if new is None else self._foreign_key(key, new)
        # Every update needs an answer, so one without a foreign key (and a deletion) subscribes to None.
        subscriptions = [(new_key, Instruction.PROPAGATE_NULL_IF_ABSENT)]
        if old_key is not None and (new_key is None or not self._same(new_key, old_key)):
            subscriptions.insert(0, (old_key, Instruction.DELETE_NO_PROPAGATE))
        return subscriptions

    def _same(self, one: Any, other: Any) -> bool:
        serde = self._foreign_key_serde
        return bool(one == other) if serde.hashable else serde.serialize(one) == serde.serialize(other)


class ResponseJoin(Operator):
    """Joins answers with the left rows that asked, unless those have changed since.

    Args:
        left_view: the left table.
        value_serde: its value serde, for the hash of a row.
        joiner: makes a result of the left and the right value.
        left_join: rows without a match are results too.
    """

    def __init__(
        self,
        *,
        left_view: ViewFactory,
        value_serde: AnySerde,
        topic: str,
        joiner: Callable[[Any, Any], Any],
        left_join: bool,
    ) -> None:
        self._topic = topic
        self._view = left_view.create()
        self._value_serde = value_serde
        self._joiner = joiner
        self._left_join = left_join

    def init(self, context: TaskContext) -> None:
        """Open the left table's view, and take the serde."""
        super().init(context)
        self._serialize = _known(self._value_serde, False, context, self.name, f"{self._topic}-vh").serialize
        self._view.init(context)
        self._get = self._view.get

    def process(self, key: Any, value: ResponseWrapper, timestamp: int, headers: Headers | None) -> None:
        """Join an answer; a newer row of the same key has sent, or will get, another one."""
        entry = self._get(key)
        row_hash = None if entry is None else value_hash(self._serialize(entry[0]))
        if row_hash != value.hash:
            self.let_go()  # to an earlier value of the row
            return
        foreign_value = value.foreign_value
        if foreign_value is None and (entry is None or not self._left_join):
            result = None
        else:
            result = self._joiner(None if entry is None else entry[0], foreign_value)
        self.forward(key, result, timestamp, headers)


def _known(serde: AnySerde, is_key: bool, context: TaskContext, who: str, topic: str) -> AnySerde:
    """A serde as it is in this application, for a topic that nobody sees: its bytes are compared, or hashed."""
    config = context.config
    found = resolved(serde, is_key, config.get("default_key_serde"), config.get("default_value_serde"), who)
    found = found.configured(config.get("client", {}))
    return found.for_topic(f"{config.get('application_id')}-{topic}", is_key)
