"""State stores: what tasks remember."""

from millstream.state.builders import StoreBuilder
from millstream.state.keyvalue import KeyValueStore, TimestampedKeyValueStore
from millstream.state.session import SessionStore
from millstream.state.store import (
    LATEST,
    NOT_STORED,
    KeyValueListener,
    LogEntry,
    SessionListener,
    StateStore,
    StoreContext,
    WindowListener,
)
from millstream.state.stores import Stores
from millstream.state.suppliers import StoreKind, StoreSupplier
from millstream.state.versioned import VersionedKeyValueStore, VersionedRecord
from millstream.state.window import TimestampedWindowStore, WindowStore
from millstream.state.with_headers import (
    SessionStoreWithHeaders,
    TimestampedKeyValueStoreWithHeaders,
    TimestampedWindowStoreWithHeaders,
)

__all__ = [
    "LATEST",
    "NOT_STORED",
    "KeyValueListener",
    "KeyValueStore",
    "LogEntry",
    "SessionListener",
    "SessionStore",
    "SessionStoreWithHeaders",
    "StateStore",
    "StoreBuilder",
    "StoreContext",
    "StoreKind",
    "StoreSupplier",
    "Stores",
    "TimestampedKeyValueStore",
    "TimestampedKeyValueStoreWithHeaders",
    "TimestampedWindowStore",
    "TimestampedWindowStoreWithHeaders",
    "VersionedKeyValueStore",
    "VersionedRecord",
    "WindowListener",
    "WindowStore",
]
