"""Who waits for which foreign key: the store on the right side of a foreign-key join.

Layout, in the log and on disk, as Kafka Streams writes it:

    key    length of the foreign key (4) | foreign key | primary key
    value  timestamp (8) | subscription (see millstream.processors.foreign_key.wire)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import starmap
from typing import Any

from millstream.processors.foreign_key.wire import SubscriptionWrapper, SubscriptionWrapperSerde, combined_prefix
from millstream.serdes import AnySerde
from millstream.state.backends.choice import open_map
from millstream.state.backends.maps import OrderedMap
from millstream.state.layout import LONG, after_prefix, join_timestamped, split_timestamped
from millstream.state.store import LogEntry, LogRecord, StateStore, StoreContext


class SubscriptionStore(StateStore):
    """Subscriptions by foreign key, and under each by primary key, in order of the primary key's bytes."""

    def __init__(
        self, name: str, foreign_key: AnySerde, primary_key: AnySerde, *, logged: bool, persistent: bool
    ) -> None:
        super().__init__(name)
        self.logged = logged
        self._persistent = persistent
        self._serialize_foreign = foreign_key.serialize
        self._serialize_primary = primary_key.serialize
        self._wrapper = SubscriptionWrapperSerde(primary_key, name)
        self._changes: dict[bytes, bytes | None] = {}

    def init(self, context: StoreContext) -> None:
        """Open the map."""
        self._map: OrderedMap = open_map(context, self.name, self._persistent)

    def flush(self) -> None:
        """Hand buffered writes to the operating system."""
        self._map.sync()

    def close(self) -> None:
        """Close the map."""
        self._map.close()

    def close_complete(self) -> str | None:
        """Close the map, but leave its database, if it has one."""
        return self._map.close_complete()

    def get(self, foreign_key: Any, primary_key: Any) -> tuple[SubscriptionWrapper, int] | None:
        """A subscription and its timestamp, or None."""
        data = self._map.get(self._key(foreign_key, primary_key))
        return None if data is None else (self._wrapper.deserialize(data[LONG.size :]), LONG.unpack_from(data)[0])

    def put(self, foreign_key: Any, primary_key: Any, subscription: SubscriptionWrapper, timestamp: int) -> None:
        """Keep a subscription, in place of an earlier one of the same keys."""
        key = self._key(foreign_key, primary_key)
        data = LONG.pack(timestamp) + self._wrapper.serialize(subscription)
        self._map.put(key, data)
        if self.logged:
            self._changes[key] = data

    def delete(self, foreign_key: Any, primary_key: Any) -> None:
        """Forget a subscription."""
        key = self._key(foreign_key, primary_key)
        self._map.delete(key)
        if self.logged:
            self._changes[key] = None

    def subscribers(self, foreign_key: Any) -> Iterator[SubscriptionWrapper]:
        """The subscriptions of a foreign key, in order of the primary key's bytes."""
        prefix = combined_prefix(self._serialize_foreign(foreign_key))
        for _, data in self._map.range(prefix, after_prefix(prefix)):
            yield self._wrapper.deserialize(data[LONG.size :])

    def take_changes(self) -> dict[bytes, bytes | None]:
        """The subscriptions that came, changed and went."""
        changes, self._changes = self._changes, {}
        return changes

    def apply_changes(self, changes: Iterable[LogEntry]) -> None:
        """Redo logged changes."""
        self._map.write(changes)

    def log_records(self, changes: Mapping[bytes, bytes | None], time: int) -> Iterable[LogRecord]:
        """Subscriptions without their timestamps, which are the records'."""
        return (split_timestamped(key, data, time) for key, data in changes.items())

    def apply_records(self, records: Iterable[LogRecord]) -> None:
        """Redo the records of a changelog topic."""
        self.apply_changes(starmap(join_timestamped, records))

    def snapshot(self) -> Iterator[tuple[bytes, bytes]]:
        """All subscriptions."""
        return self._map.range(None, None)

    def _key(self, foreign_key: Any, primary_key: Any) -> bytes:
        return combined_prefix(self._serialize_foreign(foreign_key)) + self._serialize_primary(primary_key)


@dataclass(frozen=True)
class SubscriptionStoreBuilder:
    """Describes a subscription store."""

    name: str
    foreign_key_serde: AnySerde
    primary_key_serde: AnySerde
    logging: bool = True
    persistent: bool = True

    def build(self) -> SubscriptionStore:
        """A store for one task."""
        return SubscriptionStore(
            self.name,
            self.foreign_key_serde,
            self.primary_key_serde,
            logged=self.logging,
            persistent=self.persistent,
        )
