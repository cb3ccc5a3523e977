"""The stores behind tables, from what `Materialized` and the configuration say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.config import StreamsConfig
from millstream.dsl.options import Materialized, StreamJoined
from millstream.durations import milliseconds
from millstream.errors import ArgumentError
from millstream.records import MAX_TIMESTAMP
from millstream.serdes import Serde
from millstream.state import StoreBuilder, StoreKind, StoreSupplier
from millstream.windows import JoinWindows, SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows


def check_store_builder(builder: Any, operator: str) -> None:
    """A store's builder has a name and makes stores."""
    if not all(hasattr(builder, part) for part in ("name", "logging", "build")):
        raise ArgumentError(
            f"{operator} needs a store builder",
            detail=f"it was given {builder!r}",
            hint="for instance Stores.key_value_store(Stores.in_memory_key_value(name), Serdes.string, Serdes.long)",
        )


def key_value_store(
    config: StreamsConfig, materialized: Materialized, name: str, key: Serde[Any], value: Serde[Any]
) -> StoreBuilder:
    """A table's store: timestamped, or versioned if the user gave such a supplier."""
    if materialized.store is not None:
        _check_kind(materialized.store, "key-value", "versioned key-value")
    supplier = materialized.store or StoreSupplier(name, persistent=_persistent(config, materialized))
    kind = StoreKind.TIMESTAMPED_KEY_VALUE
    if supplier.history_retention_ms is not None:
        kind = StoreKind.VERSIONED_KEY_VALUE
    return _builder(materialized, supplier, kind, key, value, caching=kind is not StoreKind.VERSIONED_KEY_VALUE)


def window_store(
    config: StreamsConfig,
    materialized: Materialized,
    name: str,
    windows: TimeWindows | UnlimitedWindows | SlidingWindows,
    key: Serde[Any],
    value: Serde[Any],
    *,
    emit_on_close: bool,
) -> StoreBuilder:
    """The store of a windowed aggregation."""
    if materialized.store is not None:
        _check_kind(materialized.store, "window")
    supplier = materialized.store or StoreSupplier(
        name,
        persistent=_persistent(config, materialized),
        retention_ms=_retention(materialized, windows.retention_ms),
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
    key: Serde[Any],
    value: Serde[Any],
    *,
    emit_on_close: bool,
) -> StoreBuilder:
    """The store of a session-windowed aggregation."""
    if materialized.store is not None:
        _check_kind(materialized.store, "session")
    supplier = materialized.store or StoreSupplier(
        name,
        persistent=_persistent(config, materialized),
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
    key: Serde[Any],
    value: Serde[Any],
) -> StoreBuilder:
    """The store of one side of a stream-stream join."""
    if given is not None:
        _check_join_store(given, windows)
    supplier = given or StoreSupplier(
        f"{name}-store",
        persistent=_persistent(config, joined),
        retention_ms=windows.retention_ms,
        window_size_ms=windows.size_ms,
        retain_duplicates=True,
    )
    return StoreBuilder(
        supplier.name,
        StoreKind.WINDOW,
        supplier,
        key,
        value,
        caching=False,
        **_log(joined.logging),
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


def _persistent(config: StreamsConfig, options: Materialized | StreamJoined) -> bool:
    return (options.dsl_store or config.dsl_store) == "rocksdb"


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


_FACTORIES = {
    "key-value": "persistent_key_value",
    "versioned key-value": "persistent_versioned_key_value",
    "window": "persistent_window",
    "session": "persistent_session",
}


def _check_kind(supplier: StoreSupplier, *wanted: str) -> None:
    """A given store must be of a kind that the operator can use."""
    if supplier.history_retention_ms is not None:
        kind = "versioned key-value"
    elif supplier.window_size_ms is not None:
        kind = "window"
    elif supplier.retention_ms is not None:
        kind = "session"
    else:
        kind = "key-value"
    if kind not in wanted:
        raise ArgumentError(
            f"store '{supplier.name}' is a {kind} store, but a {wanted[0]} store is needed here",
            hint=f"make it with Stores.{_FACTORIES[wanted[0]]}(...)",
        )


def _check_join_store(supplier: StoreSupplier, windows: JoinWindows) -> None:
    _check_kind(supplier, "window")
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
    key: Serde[Any],
    value: Serde[Any],
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
        **_log(materialized.logging),
    )


def _log(logging: bool | Mapping[str, str]) -> dict[str, Any]:
    """What a builder is told of a store's changelog."""
    if isinstance(logging, bool):
        return {"logging": logging}
    return {"logging": True, "log_config": dict(logging)}
