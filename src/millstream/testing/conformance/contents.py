"""What is left in the stores at the end of a case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from millstream.records import Windowed
from millstream.state import (
    KeyValueStore,
    SessionStore,
    TimestampedKeyValueStore,
    TimestampedKeyValueStoreWithHeaders,
    TimestampedWindowStore,
    TimestampedWindowStoreWithHeaders,
    VersionedKeyValueStore,
    WindowStore,
)
from millstream.testing.conformance.case import Case

_TIMESTAMPED = (
    TimestampedKeyValueStore,
    TimestampedKeyValueStoreWithHeaders,
    TimestampedWindowStore,
    TimestampedWindowStoreWithHeaders,
)


def store_rows(case: Case, stores: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The rows `[key, value, timestamp]` of the stores whose contents the case tells, sorted."""
    told = case.expected.get("stores") or {}
    return {name: sorted(_rows(case, stores[name]), key=row_order) for name in told if name in stores}


def row_order(row: list[Any]) -> tuple[Any, ...]:
    """Sorts rows by the key's text, then by its window."""
    key = row[0]
    return tuple(key) if isinstance(key, list) else (key, 0, 0)


def _rows(case: Case, store: Any) -> Iterable[list[Any]]:
    if isinstance(store, VersionedKeyValueStore):
        found = ((key, store.get(key)) for key in case.input_keys())
        return [[key, record.value, record.timestamp] for key, record in found if record is not None]
    if isinstance(store, SessionStore):
        return [[_key(key), value, None] for key, value in store.for_operators().fetch_keys(None, None)]
    if isinstance(store, _TIMESTAMPED):
        return [[_key(key), stored.value, stored.timestamp] for key, stored in store.all()]
    if isinstance(store, KeyValueStore | WindowStore):
        return [[_key(key), value, None] for key, value in store.all()]
    raise TypeError(f"the contents of a {type(store).__name__} cannot be listed")


def _key(key: Any) -> Any:
    return [key.key, key.window.start, key.window.end] if isinstance(key, Windowed) else key
