"""The stores behind tables, from what `Materialized` and the configuration say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.config import DslStore, StreamsConfig
from millstream.dsl.options import Materialized, StreamJoined
from millstream.dsl.unknown import needed_for
from millstream.dsl_stores import DslKeyValueParams, DslSessionParams, DslStoreSuppliers, DslWindowParams
from millstream.durations import milliseconds
from millstream.errors import ArgumentError
from millstream.processors.suppress.buffer import SuppressBufferBuilder
from millstream.records import MAX_TIMESTAMP
from millstream.serdes import Serde
from millstream.state import StoreBuilder, StoreKind, StoreSupplier
from millstream.suppressed import BufferConfig
from millstream.windows import EmitStrategy, JoinWindows, SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows


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
    supplier = materialized.store or table_supplier(config, materialized, name)
    _check_kind(supplier, "key-value", "versioned key-value")
    kind = _with_headers(config, supplier, StoreKind.TIMESTAMPED_KEY_VALUE)
    if supplier.history_retention_ms is not None:
        kind = StoreKind.VERSIONED_KEY_VALUE
    return _builder(materialized, supplier, kind, key, value, caching=kind is not StoreKind.VERSIONED_KEY_VALUE)


def table_supplier(config: StreamsConfig, options: Materialized | None, name: str) -> StoreSupplier:
    """How the rows of a table are kept whose store is not given."""
    chosen = _chosen(config, options)
    if isinstance(chosen, DslStoreSuppliers):
        supplier = _named(chosen.key_value_store(DslKeyValueParams(name)), name)
        return supplier or StoreSupplier(name)
    return StoreSupplier(name, persistent=chosen == "rocksdb")


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
    sliding = isinstance(windows, SlidingWindows)
    supplier = materialized.store or _window_supplier(
        _chosen(config, materialized),
        DslWindowParams(
            name,
            _retention(materialized, windows.retention_ms),
            window_size(windows),
            emit_strategy=_strategy(emit_on_close),
            is_sliding_window=sliding,
        ),
    )
    _check_kind(supplier, "window")
    kind = _with_headers(config, supplier, StoreKind.TIMESTAMPED_WINDOW)
    return _builder(materialized, supplier, kind, key, value, caching=not (emit_on_close and sliding))


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
    supplier = materialized.store or _session_supplier(
        _chosen(config, materialized),
        DslSessionParams(name, _retention(materialized, windows.retention_ms), _strategy(emit_on_close)),
    )
    _check_kind(supplier, "session")
    kind = _with_headers(config, supplier, StoreKind.SESSION)
    return _builder(materialized, supplier, kind, key, value, caching=not emit_on_close)


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
    params = DslWindowParams(f"{name}-store", windows.retention_ms, windows.size_ms, retain_duplicates=True)
    supplier = given or _window_supplier(_chosen(config, joined), params)
    _check_join_store(supplier, windows)
    return StoreBuilder(
        supplier.name,
        StoreKind.WINDOW,
        supplier,
        key,
        value,
        caching=False,
        **_log(joined.logging),
    )


def suppress_buffer(buffer: BufferConfig, name: str, key: Serde[Any], value: Serde[Any]) -> SuppressBufferBuilder:
    """What `suppress` holds updates back in."""
    return SuppressBufferBuilder(
        name,
        needed_for("Materialized(key=...) above the suppress", key),
        needed_for("Materialized(value=...) above the suppress", value),
        **_log(buffer.logging),
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


def _chosen(config: StreamsConfig, options: Materialized | StreamJoined | None) -> DslStore | DslStoreSuppliers:
    """Who chooses the store of an operator that is given none."""
    return (options.dsl_store if options is not None else None) or config.dsl_store


def _window_supplier(chosen: DslStore | DslStoreSuppliers, params: DslWindowParams) -> StoreSupplier:
    if isinstance(chosen, DslStoreSuppliers):
        supplier = _named(chosen.window_store(params), params.name)
        if supplier is not None:
            return supplier
    return StoreSupplier(
        params.name,
        persistent=chosen != "in_memory",
        retention_ms=params.retention_ms,
        window_size_ms=params.window_size_ms,
        retain_duplicates=params.retain_duplicates,
        time_ordered=params.emit_strategy is EmitStrategy.ON_WINDOW_CLOSE,
    )


def _session_supplier(chosen: DslStore | DslStoreSuppliers, params: DslSessionParams) -> StoreSupplier:
    if isinstance(chosen, DslStoreSuppliers):
        supplier = _named(chosen.session_store(params), params.name)
        if supplier is not None:
            return supplier
    return StoreSupplier(
        params.name,
        persistent=chosen != "in_memory",
        retention_ms=params.retention_ms,
        time_ordered=params.emit_strategy is EmitStrategy.ON_WINDOW_CLOSE,
    )


def _named(supplier: object, name: str) -> StoreSupplier | None:
    """What a user's suppliers gave."""
    if supplier is None or (isinstance(supplier, StoreSupplier) and supplier.name == name):
        return supplier
    raise ArgumentError(
        f"DslStoreSuppliers must give a store supplier called '{name}', or None",
        detail=f"it gave {supplier!r}",
        hint="for instance Stores.in_memory_key_value(params.name)",
    )


def _strategy(emit_on_close: bool) -> EmitStrategy:
    return EmitStrategy.ON_WINDOW_CLOSE if emit_on_close else EmitStrategy.ON_WINDOW_UPDATE


def _with_headers(config: StreamsConfig, supplier: StoreSupplier, kind: StoreKind) -> StoreKind:
    return kind.with_headers if supplier.headers or config.dsl_store_format == "headers" else kind


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
