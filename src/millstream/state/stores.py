"""`Stores`: the suppliers and builders there are."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from millstream.durations import milliseconds
from millstream.serdes import Serde
from millstream.state.builders import StoreBuilder
from millstream.state.suppliers import StoreKind, StoreSupplier

AnySerde = Serde[Any]


class Stores:
    """Where stores come from: a supplier says how rows are kept, a builder makes a store of it.

    >>> from millstream.serdes import Serdes
    >>> builder = Stores.key_value_store(Stores.in_memory_key_value("seen"), Serdes.string, Serdes.long)
    >>> builder.name, builder.supplier.persistent
    ('seen', False)
    """

    @staticmethod
    def persistent_key_value(name: str) -> StoreSupplier:
        """A key-value store on disk."""
        return StoreSupplier(name)

    @staticmethod
    def in_memory_key_value(name: str) -> StoreSupplier:
        """A key-value store in memory."""
        return StoreSupplier(name, persistent=False)

    @staticmethod
    def lru_map(name: str, max_entries: int) -> StoreSupplier:
        """A key-value store in memory that holds so many entries; the least recently used one makes room."""
        return StoreSupplier(name, persistent=False, max_entries=max_entries)

    @staticmethod
    def persistent_versioned_key_value(
        name: str, history: timedelta, segment_interval: timedelta | None = None
    ) -> StoreSupplier:
        """A store of the versions of values, as far back as `history`."""
        return StoreSupplier(
            name,
            history_retention_ms=milliseconds(history, "history"),
            segment_interval_ms=_optional(segment_interval, "segment_interval"),
        )

    @staticmethod
    def persistent_window(
        name: str, retention: timedelta, window_size: timedelta, retain_duplicates: bool = False
    ) -> StoreSupplier:
        """A window store on disk."""
        return _window(name, True, retention, window_size, retain_duplicates)

    @staticmethod
    def in_memory_window(
        name: str, retention: timedelta, window_size: timedelta, retain_duplicates: bool = False
    ) -> StoreSupplier:
        """A window store in memory."""
        return _window(name, False, retention, window_size, retain_duplicates)

    @staticmethod
    def persistent_session(name: str, retention: timedelta) -> StoreSupplier:
        """A session store on disk."""
        return StoreSupplier(name, retention_ms=milliseconds(retention, "retention"))

    @staticmethod
    def in_memory_session(name: str, retention: timedelta) -> StoreSupplier:
        """A session store in memory."""
        return StoreSupplier(name, persistent=False, retention_ms=milliseconds(retention, "retention"))

    @staticmethod
    def persistent_key_value_with_headers(name: str) -> StoreSupplier:
        """A key-value store on disk; a table in it keeps headers too."""
        return replace(Stores.persistent_key_value(name), headers=True)

    @staticmethod
    def persistent_window_with_headers(
        name: str, retention: timedelta, window_size: timedelta, retain_duplicates: bool = False
    ) -> StoreSupplier:
        """A window store on disk; a windowed aggregation in it keeps headers too."""
        return replace(Stores.persistent_window(name, retention, window_size, retain_duplicates), headers=True)

    @staticmethod
    def persistent_session_with_headers(name: str, retention: timedelta) -> StoreSupplier:
        """A session store on disk; an aggregation by sessions in it keeps headers too."""
        return replace(Stores.persistent_session(name, retention), headers=True)

    @staticmethod
    def key_value_store(
        supplier: StoreSupplier, key: AnySerde | None = None, value: AnySerde | None = None
    ) -> StoreBuilder:
        """A store of keys and values."""
        return StoreBuilder(supplier.name, StoreKind.KEY_VALUE, supplier, key, value)

    @staticmethod
    def timestamped_key_value_store(
        supplier: StoreSupplier, key: AnySerde | None = None, value: AnySerde | None = None
    ) -> StoreBuilder:
        """A store of keys, values and timestamps."""
        return StoreBuilder(supplier.name, StoreKind.TIMESTAMPED_KEY_VALUE, supplier, key, value)

    @staticmethod
    def versioned_key_value_store(
        supplier: StoreSupplier, key: AnySerde | None = None, value: AnySerde | None = None
    ) -> StoreBuilder:
        """A store of the versions of values."""
        return StoreBuilder(supplier.name, StoreKind.VERSIONED_KEY_VALUE, supplier, key, value)

    @staticmethod
    def window_store(
        supplier: StoreSupplier, key: AnySerde | None = None, value: AnySerde | None = None
    ) -> StoreBuilder:
        """A store of values by key and window."""
        return StoreBuilder(supplier.name, StoreKind.WINDOW, supplier, key, value)

    @staticmethod
    def timestamped_window_store(
        supplier: StoreSupplier, key: AnySerde | None = None, value: AnySerde | None = None
    ) -> StoreBuilder:
        """A store of values and timestamps by key and window."""
        return StoreBuilder(supplier.name, StoreKind.TIMESTAMPED_WINDOW, supplier, key, value)

    @staticmethod
    def session_store(
        supplier: StoreSupplier, key: AnySerde | None = None, value: AnySerde | None = None
    ) -> StoreBuilder:
        """A store of values by key and session."""
        return StoreBuilder(supplier.name, StoreKind.SESSION, supplier, key, value)

    @staticmethod
    def timestamped_key_value_store_with_headers(
        supplier: StoreSupplier, key: AnySerde | None = None, value: AnySerde | None = None
    ) -> StoreBuilder:
        """A store of keys, values, timestamps and headers (`ValueTimestampHeaders`)."""
        return StoreBuilder(supplier.name, StoreKind.TIMESTAMPED_KEY_VALUE_WITH_HEADERS, supplier, key, value)

    @staticmethod
    def timestamped_window_store_with_headers(
        supplier: StoreSupplier, key: AnySerde | None = None, value: AnySerde | None = None
    ) -> StoreBuilder:
        """A store of values, timestamps and headers (`ValueTimestampHeaders`) by key and window."""
        return StoreBuilder(supplier.name, StoreKind.TIMESTAMPED_WINDOW_WITH_HEADERS, supplier, key, value)

    @staticmethod
    def session_store_with_headers(
        supplier: StoreSupplier, key: AnySerde | None = None, value: AnySerde | None = None
    ) -> StoreBuilder:
        """A store of values and headers (`AggregationWithHeaders`) by key and session."""
        return StoreBuilder(supplier.name, StoreKind.SESSION_WITH_HEADERS, supplier, key, value)


def _optional(duration: timedelta | None, what: str) -> int | None:
    return None if duration is None else milliseconds(duration, what)


def _window(
    name: str, persistent: bool, retention: timedelta, window_size: timedelta, retain_duplicates: bool
) -> StoreSupplier:
    return StoreSupplier(
        name,
        persistent=persistent,
        retention_ms=milliseconds(retention, "retention"),
        window_size_ms=milliseconds(window_size, "window_size"),
        retain_duplicates=retain_duplicates,
    )
