"""Finding a driver's stores by name and kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from millstream.errors import StateStoreError
from millstream.state import (
    KeyValueStore,
    TimestampedKeyValueStore,
    TimestampedKeyValueStoreWithHeaders,
    TimestampedWindowStore,
    TimestampedWindowStoreWithHeaders,
    WindowStore,
)
from millstream.testing.facades import KeyValueFacade, WindowFacade

S = TypeVar("S")


def find(stores: Mapping[str, Any], name: str) -> Any:
    """The store of that name."""
    try:
        return stores[name]
    except KeyError:
        raise StateStoreError(
            f"the topology has no state store '{name}'",
            detail=f"it has {', '.join(sorted(stores)) or 'none'}",
            hint="name the store with Materialized or Stores",
        ) from None


def of_kind(stores: Mapping[str, Any], name: str, kind: type[S]) -> S:
    """The store of that name, which must be of that kind."""
    store = find(stores, name)
    if not isinstance(store, kind):
        raise _other_kind(name, store, kind)
    return store


def key_value(stores: Mapping[str, Any], name: str) -> KeyValueStore[Any, Any] | KeyValueFacade[Any, Any]:
    """The key-value store of that name, without timestamps."""
    store = find(stores, name)
    if isinstance(store, TimestampedKeyValueStore | TimestampedKeyValueStoreWithHeaders):
        return KeyValueFacade(store)
    if isinstance(store, KeyValueStore):
        return store
    raise _other_kind(name, store, KeyValueStore)


def window(stores: Mapping[str, Any], name: str) -> WindowStore[Any, Any] | WindowFacade[Any, Any]:
    """The window store of that name, without timestamps."""
    store = find(stores, name)
    if isinstance(store, TimestampedWindowStore | TimestampedWindowStoreWithHeaders):
        return WindowFacade(store)
    if isinstance(store, WindowStore):
        return store
    raise _other_kind(name, store, WindowStore)


def _other_kind(name: str, store: object, kind: type[Any]) -> StateStoreError:
    return StateStoreError(f"state store '{name}' is not a {kind.__name__}", detail=f"it is a {type(store).__name__}")
