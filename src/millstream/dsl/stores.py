"""The stores behind tables, from what `Materialized` and the configuration say."""

from __future__ import annotations

from typing import Any

from millstream.config import StreamsConfig
from millstream.dsl.options import Materialized, StreamJoined
from millstream.durations import milliseconds
from millstream.errors import ArgumentError
from millstream.records import MAX_TIMESTAMP
from millstream.serdes import Serde
from millstream.state import StoreBuilder, StoreKind, StoreSupplier
from millstream.windows import JoinWindows, SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows


def key_value_store(
    config: StreamsConfig, materialized: Materialized, name: str, key: Serde[Any] | None, value: Serde[Any] | None
) -> StoreBuilder:
    """A table's store: timestamped, or versioned if the user gave such a supplier."""
    supplier = materialized.store or StoreSupplier(name, persistent=_persistent(config))
    kind = StoreKind.TIMESTAMPED_KEY_VALUE
    if supplier.history_retention_ms is not None:
        kind = StoreKind.VERSIONED_KEY_VALUE
    return _builder(materialized, supplier, kind, key, value, caching=kind is not StoreKind.VERSIONED_KEY_VALUE)


def window_store(
    config: StreamsConfig,
    materialized: Materialized,
    name: str,
    windows: TimeWindows | UnlimitedWindows | SlidingWindows,
    key: Serde[Any] | None,
    value: Serde[Any] | None,
    *,
    emit_on_close: bool,
) -> StoreBuilder:
    """The store of a windowed aggregation."""
    retention_ms = _retention(materialized, windows.retention_ms)
    supplier = materialized.store or StoreSupplier(
        name,
        persistent=_persistent(config),
        retention_ms=retention_ms,
        window_size_ms=window_size(windows),
        time_ordered=emit_on_close,
    )
    caching = not (emit_on_close and isinstance(windows, SlidingWindows))
    return _builder(materialized, supplier, StoreKind.TIMESTAMPED_WINDOW, key, value, caching=caching)


def session_store(
    config: StreamsConfig,
    materialized: Materialized,
    name: str,
    windows: SessionWindows,
    key: Serde[Any] | None,
    value: Serde[Any] | None,
    *,
    emit_on_close: bool,
) -> StoreBuilder:
    """The store of a session-windowed aggregation."""
    supplier = materialized.store or StoreSupplier(
        name,
        persistent=_persistent(config),
        retention_ms=_retention(materialized, windows.retention_ms),
        time_ordered=emit_on_close,
    )
    return _builder(materialized, supplier, StoreKind.SESSION, key, value, caching=not emit_on_close)


def join_store(
    config: StreamsConfig,
    joined: StreamJoined,
    given: StoreSupplier | None,
    name: str,
    windows: JoinWindows,
    value: Serde[Any] | None,
) -> StoreBuilder:
    """The store of one side of a stream-stream join."""
    if given is not None:
        _check_join_store(given, windows)
    supplier = given or StoreSupplier(
        f"{name}-store",
        persistent=_persistent(config),
        retention_ms=windows.retention_ms,
        window_size_ms=windows.size_ms,
        retain_duplicates=True,
    )
    return StoreBuilder(
        supplier.name,
        StoreKind.WINDOW,
        supplier,
        joined.key,
        value,
        caching=False,
        logging=joined.logging,
        log_config=joined.log_config,
    )


def window_size(windows: TimeWindows | UnlimitedWindows | SlidingWindows) -> int:
    """From a window's start to its end."""
    match windows:
        case TimeWindows():
            return windows.size_ms
        case SlidingWindows():
            return windows.difference_ms
        case UnlimitedWindows():
            return MAX_TIMESTAMP


def _persistent(config: StreamsConfig) -> bool:
    return config.dsl_store == "rocksdb"


def _retention(materialized: Materialized, least: int) -> int:
    if materialized.retention is None:
        return least
    retention_ms = milliseconds(materialized.retention, "retention")
    if retention_ms < least:
        raise ArgumentError(
            "the retention of a window store must cover its windows and their grace",
            detail=f"retention is {retention_ms} ms, the windows need {least} ms",
            hint="raise Materialized(retention=...), or leave it out",
        )
    return retention_ms


def _check_join_store(supplier: StoreSupplier, windows: JoinWindows) -> None:
    if not supplier.retain_duplicates:
        raise ArgumentError(
            f"join store '{supplier.name}' must retain duplicates", hint="create it with retain_duplicates=True"
        )
    if supplier.retention_ms != windows.retention_ms or supplier.window_size_ms != windows.size_ms:
        raise ArgumentError(
            f"join store '{supplier.name}' does not fit the join's windows",
            detail=f"it has retention {supplier.retention_ms} ms and window size {supplier.window_size_ms} ms; "
            f"the join needs {windows.retention_ms} ms and {windows.size_ms} ms",
        )


def _builder(
    materialized: Materialized,
    supplier: StoreSupplier,
    kind: StoreKind,
    key: Serde[Any] | None,
    value: Serde[Any] | None,
    *,
    caching: bool,
) -> StoreBuilder:
    return StoreBuilder(
        supplier.name,
        kind,
        supplier,
        materialized.key or key,
        materialized.value or value,
        caching=materialized.caching and caching,
        logging=materialized.logging,
        log_config=materialized.log_config,
    )
