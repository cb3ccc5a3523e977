"""What a store is, and where and how its rows are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from millstream.errors import ArgumentError

#: Segments of a window or session store are at least this long.
MIN_SEGMENT_MS = 60_000


class StoreKind(Enum):
    """The interface a store has."""

    KEY_VALUE = "key-value"
    TIMESTAMPED_KEY_VALUE = "timestamped key-value"
    VERSIONED_KEY_VALUE = "versioned key-value"
    WINDOW = "window"
    TIMESTAMPED_WINDOW = "timestamped window"
    SESSION = "session"
    TIMESTAMPED_KEY_VALUE_WITH_HEADERS = "timestamped key-value with headers"
    TIMESTAMPED_WINDOW_WITH_HEADERS = "timestamped window with headers"
    SESSION_WITH_HEADERS = "session with headers"

    @property
    def with_headers(self) -> StoreKind:
        """The same kind of store, which keeps headers too."""
        return _WITH_HEADERS.get(self, self)

    @property
    def without_headers(self) -> StoreKind:
        """The same kind of store, without headers. Their changelogs have the same keys, values and timestamps."""
        return next((kind for kind, other in _WITH_HEADERS.items() if other is self), self)


_WITH_HEADERS = {
    StoreKind.TIMESTAMPED_KEY_VALUE: StoreKind.TIMESTAMPED_KEY_VALUE_WITH_HEADERS,
    StoreKind.TIMESTAMPED_WINDOW: StoreKind.TIMESTAMPED_WINDOW_WITH_HEADERS,
    StoreKind.SESSION: StoreKind.SESSION_WITH_HEADERS,
}


@dataclass(frozen=True)
class StoreSupplier:
    """How the rows of a store are kept. Made by the functions of `Stores`.

    Args:
        name: the name of the store.
        persistent: on disk, if the task has a state directory; and with the semantics of Kafka Streams' RocksDB stores.
        retention_ms: how long rows of a window or session store are kept, on the store's own clock.
        window_size_ms: the size of the windows.
        retain_duplicates: keep all values of a key and window.
        segment_interval_ms: persistent rows expire in pieces of this length; None takes Kafka Streams' default.
        history_retention_ms: how far back a versioned store can look.
        max_entries: an LRU map holds so many entries.
        time_ordered: scans over all keys go by time; for windows that are emitted when they close.
        headers: a table or a windowed aggregation in this store keeps headers.
        open_map: opens a map of your own, in which a key-value store keeps its rows. It is called with the store's
            directory, or None where tasks have none.
    """

    name: str
    persistent: bool = True
    retention_ms: int | None = None
    window_size_ms: int | None = None
    retain_duplicates: bool = False
    segment_interval_ms: int | None = None
    history_retention_ms: int | None = None
    max_entries: int | None = None
    time_ordered: bool = False
    headers: bool = False
    open_map: Callable[[str | None], Any] | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise ArgumentError("a store must have a name")
        for field, least in (
            ("retention_ms", 0),
            ("window_size_ms", 0),
            ("history_retention_ms", 0),
            ("segment_interval_ms", 1),
            ("max_entries", 1),
        ):
            value: int | None = getattr(self, field)
            if value is not None and value < least:
                raise ArgumentError(f"{field} of store '{self.name}' must be at least {least}", detail=f"it is {value}")
        size, retention = self.window_size_ms, self.retention_ms
        if size is not None and retention is not None and size > retention:
            raise ArgumentError(
                f"store '{self.name}' would forget its windows before they end",
                detail=f"the windows are {size} ms long, and the retention is {retention} ms",
                hint="give a retention of at least the window's size plus its grace period",
            )

    def required(self, field: str) -> int:
        """A number that this kind of store cannot do without."""
        value: int | None = getattr(self, field)
        if value is None:
            raise ArgumentError(f"the supplier of store '{self.name}' has no {field}", hint="make it with Stores")
        return value

    def segment_ms(self) -> int | None:
        """The length of the segments of a window or session store; None: rows expire one by one."""
        if not self.persistent:
            return None
        return self.segment_interval_ms or max(self.required("retention_ms") // 2, MIN_SEGMENT_MS)

    def version_segment_ms(self) -> int:
        """The length of the segments of a versioned store: shorter where the history is short."""
        if self.segment_interval_ms is not None:
            return self.segment_interval_ms
        history = self.required("history_retention_ms")
        if history <= 60_000:
            return max(history // 3, 2_000)
        if history <= 300_000:
            return max(history // 5, 20_000)
        if history <= 3_600_000:
            return max(history // 12, 60_000)
        return max(history // 24, 300_000)
