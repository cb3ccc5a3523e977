"""Choosing the stores behind the DSL's operators: `DslStoreSuppliers`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millstream.windows import EmitStrategy


@dataclass(frozen=True)
class DslKeyValueParams:
    """What is asked for: the store of a table.

    Args:
        name: of the store.
    """

    name: str


@dataclass(frozen=True)
class DslWindowParams:
    """What is asked for: the store of a windowed aggregation, or of one side of a join of two streams.

    Args:
        name: of the store.
        retention_ms: how long windows must be kept.
        window_size_ms: the size of the windows.
        retain_duplicates: keep all values of a key and window, as joins need.
        emit_strategy: when the aggregation passes its results on.
        is_sliding_window: whether it is of sliding windows.
    """

    name: str
    retention_ms: int
    window_size_ms: int
    retain_duplicates: bool = False
    emit_strategy: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE
    is_sliding_window: bool = False


@dataclass(frozen=True)
class DslSessionParams:
    """What is asked for: the store of an aggregation by sessions.

    Args:
        name: of the store.
        retention_ms: how long sessions must be kept.
        emit_strategy: when the aggregation passes its results on.
    """

    name: str
    retention_ms: int
    emit_strategy: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE


class DslStoreSuppliers:
    """Says which stores the DSL's operators get that are given none. A subclass overrides what it wants to choose.

    Give one as `dsl_store`: in `StreamsConfig` for a whole topology, in `Materialized` or `StreamJoined` for one
    operator. Each method returns a supplier, from `Stores`, of the name it is given; None leaves the store as
    "rocksdb" has it.

    >>> from millstream import Consumed, DslStoreSuppliers, Materialized, Serdes, Stores, StreamsBuilder
    >>> class SmallTablesInMemory(DslStoreSuppliers):
    ...     def key_value_store(self, params):
    ...         return Stores.in_memory_key_value(params.name) if params.name.startswith("small-") else None
    >>> builder, text = StreamsBuilder(), (Serdes.string, Serdes.string)
    >>> for name in ("small-users", "orders"):
    ...     table = builder.table(name, Consumed(*text), Materialized(name, dsl_store=SmallTablesInMemory()))
    >>> {name: store.supplier.persistent for name, store in builder.build().stores.items()}
    {'small-users': False, 'orders': True}
    """

    def key_value_store(self, params: DslKeyValueParams) -> Any:
        """The supplier of a table's store; it may be a versioned one."""
        return None

    def window_store(self, params: DslWindowParams) -> Any:
        """The supplier of a window store."""
        return None

    def session_store(self, params: DslSessionParams) -> Any:
        """The supplier of a session store."""
        return None
