"""Builders: how a topology describes a store that every task then has one of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from millstream.errors import ArgumentError, SerdeError
from millstream.serdes import Serde
from millstream.state.keyvalue import KeyValueStore, TimestampedKeyValueStore
from millstream.state.session import SessionStore
from millstream.state.store import StateStore
from millstream.state.suppliers import StoreKind, StoreSupplier
from millstream.state.versioned import VersionedKeyValueStore
from millstream.state.window import TimestampedWindowStore, WindowStore
from millstream.state.with_headers import (
    SessionStoreWithHeaders,
    TimestampedKeyValueStoreWithHeaders,
    TimestampedWindowStoreWithHeaders,
)


@dataclass(frozen=True)
class StoreBuilder:
    """A store to be built, one per task. Made by the functions of `Stores`.

    Args:
        name: the name of the store.
        kind: the interface it has.
        supplier: how its rows are kept.
        key: the serde of its keys.
        value: the serde of its values.
        caching: hold writes back until a flush, if tasks have a cache. Versioned stores never do.
        logging: keep its changes, so that it can be rebuilt.
        log_config: settings of its changelog topic.
    """

    name: str
    kind: StoreKind
    supplier: StoreSupplier
    key: Serde[Any] | None = None
    value: Serde[Any] | None = None
    caching: bool = False
    logging: bool = True
    log_config: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        required = _REQUIRED[self.kind.without_headers]
        for name in required:
            self.supplier.required(name)
        if not self.logging and self.log_config:
            raise ArgumentError(f"store '{self.name}' has settings for a changelog, but logging is off")

    @property
    def is_versioned(self) -> bool:
        """Whether the store remembers older values."""
        return self.kind is StoreKind.VERSIONED_KEY_VALUE

    def with_caching(self) -> StoreBuilder:
        """The same store with a cache."""
        return replace(self, caching=True)

    def without_caching(self) -> StoreBuilder:
        """The same store without a cache."""
        return replace(self, caching=False)

    def with_logging(self, log_config: Mapping[str, str] | None = None) -> StoreBuilder:
        """The same store with a changelog, and settings for its topic."""
        return replace(self, logging=True, log_config=dict(log_config or {}))

    def without_logging(self) -> StoreBuilder:
        """The same store without a changelog: it is lost with its worker."""
        return replace(self, logging=False, log_config={})

    def with_serdes(self, key: Serde[Any] | None, value: Serde[Any] | None) -> StoreBuilder:
        """The same store with these serdes where it has none."""
        return replace(self, key=self.key or key, value=self.value or value)

    def build(self) -> StateStore:
        """A new store.

        Raises:
            SerdeError: a serde is missing.
        """
        key, value = self.key, self.value
        if key is None or value is None:
            missing = "key" if key is None else "value"
            raise SerdeError(
                f"store '{self.name}' has no {missing} serde",
                hint=f"give one with Materialized({missing}=...), or set default_{missing}_serde",
            )
        supplier = self.supplier if self.supplier.name == self.name else replace(self.supplier, name=self.name)
        if self.kind is StoreKind.VERSIONED_KEY_VALUE:
            return VersionedKeyValueStore(supplier, key, value, logged=self.logging)
        make = _STORES[self.kind]
        return make(supplier, key, value, caching=self.caching, logged=self.logging)


_STORES: dict[StoreKind, Callable[..., StateStore]] = {
    StoreKind.KEY_VALUE: KeyValueStore,
    StoreKind.TIMESTAMPED_KEY_VALUE: TimestampedKeyValueStore,
    StoreKind.WINDOW: WindowStore,
    StoreKind.TIMESTAMPED_WINDOW: TimestampedWindowStore,
    StoreKind.SESSION: SessionStore,
    StoreKind.TIMESTAMPED_KEY_VALUE_WITH_HEADERS: TimestampedKeyValueStoreWithHeaders,
    StoreKind.TIMESTAMPED_WINDOW_WITH_HEADERS: TimestampedWindowStoreWithHeaders,
    StoreKind.SESSION_WITH_HEADERS: SessionStoreWithHeaders,
}

_REQUIRED: dict[StoreKind, tuple[str, ...]] = {
    StoreKind.KEY_VALUE: (),
    StoreKind.TIMESTAMPED_KEY_VALUE: (),
    StoreKind.VERSIONED_KEY_VALUE: ("history_retention_ms",),
    StoreKind.WINDOW: ("retention_ms", "window_size_ms"),
    StoreKind.TIMESTAMPED_WINDOW: ("retention_ms", "window_size_ms"),
    StoreKind.SESSION: ("retention_ms",),
}
