"""The joins of a stream: with a stream, a table, a global table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from millstream.dsl import prefixes
from millstream.dsl.functions import checked, takes_key, with_key
from millstream.dsl.kstream import KStream
from millstream.dsl.ktable import GlobalKTable, KTable
from millstream.dsl.options import Joined, StreamJoined
from millstream.dsl.stores import join_store
from millstream.dsl.stream import Place
from millstream.durations import milliseconds
from millstream.errors import ArgumentError, TopologyError
from millstream.graph.nodes import (
    JoinWindowNode,
    ProcessorNode,
    StreamStreamJoinNode,
    StreamTableJoinNode,
)
from millstream.processors.joins.grace_buffer import GraceBufferBuilder
from millstream.processors.joins.outer_store import OuterJoinStoreBuilder
from millstream.processors.joins.stream_global import StreamGlobalJoin
from millstream.processors.joins.stream_stream import JoinWindowStoreOperator
from millstream.serdes.deferred import DEFAULT_KEY, DEFAULT_VALUE
from millstream.windows import JoinWindows

AnyStream = KStream[Any, Any]


def join_streams(
    kind: str,
    left: AnyStream,
    right: AnyStream,
    joiner: Callable[..., Any],
    windows: JoinWindows | None = None,
    joined: StreamJoined | None = None,
) -> AnyStream:
    """Join two streams within windows of time."""
    if not isinstance(windows, JoinWindows):
        raise TopologyError(
            "a join of two streams needs JoinWindows",
            detail=f"got {windows!r}",
            hint="give JoinWindows.of_time_difference(timedelta(...)) after the joiner",
        )
    options = joined or StreamJoined()
    joiner = with_key(joiner, "join", "left", "right")
    name = options.name
    this = left._ready_for_join(name and f"{name}-left", options.key, options.value)
    other = right._ready_for_join(name and f"{name}-right", options.key, options.other_value)
    options = replace(
        options,
        key=options.key or this.key,
        value=options.value or this.value,
        other_value=options.other_value or other.value,
    )
    this.dsl.graph.copartition(this.sources | other.sources)
    return _StreamStreamJoin(kind, this, other, joiner, windows, options).add()


class _StreamStreamJoin:
    """One stream-stream join on its way into the graph."""

    def __init__(
        self,
        kind: str,
        this: Place,
        other: Place,
        joiner: Callable[..., Any],
        windows: JoinWindows,
        options: StreamJoined,
    ) -> None:
        self._left_outer = kind in ("left", "outer")
        self._right_outer = kind == "outer"
        self._this, self._other = this, other
        self._joiner, self._windows, self._options = joiner, windows, options

    def add(self) -> AnyStream:
        dsl, options, windows = self._this.dsl, self._options, self._windows
        this_suffix = "-outer-this-join" if self._right_outer else "-this-join"
        other_suffix = "-outer-other-join" if self._left_outer else "-other-join"
        this_windowed = dsl.name(prefixes.WINDOWED, options.name, "-this-windowed")
        other_windowed = dsl.name(prefixes.WINDOWED, options.name, "-other-windowed")
        this_generated = dsl.name(prefixes.OUTER_THIS if self._right_outer else prefixes.JOIN_THIS)
        other_generated = dsl.name(prefixes.OUTER_OTHER if self._left_outer else prefixes.JOIN_OTHER)
        merge_name = dsl.name(prefixes.MERGE, options.name, "-merge")
        base = options.store_name
        this_store = join_store(
            dsl.config,
            options,
            options.this_store,
            this_generated if base is None else base + this_suffix,
            windows,
            options.value,
        )
        other_store = join_store(
            dsl.config,
            options,
            options.other_store,
            other_generated if base is None else base + other_suffix,
            windows,
            options.other_value,
        )
        for place, name, store in (
            (self._this, this_windowed, this_store),
            (self._other, other_windowed, other_store),
        ):
            dsl.graph.add(
                JoinWindowNode,
                name=name,
                parents=(place.node,),
                factory=partial(JoinWindowStoreOperator, store.name),
            )
        node = dsl.graph.add(
            StreamStreamJoinNode,
            name=merge_name,
            parents=(self._this.node, self._other.node),
            this_name=this_generated if options.name is None else options.name + this_suffix,
            other_name=other_generated if options.name is None else options.name + other_suffix,
            this_windowed_name=this_windowed,
            other_windowed_name=other_windowed,
            this_store=this_store,
            other_store=other_store,
            outer_store=self._outer_store(this_generated) if self._left_outer else None,
            left_outer=self._left_outer,
            right_outer=self._right_outer,
            windows=windows,
            joiner=self._joiner,
            accepts_null_keys=self._left_outer,
        )
        place = Place(dsl, node, merge_name, options.key, None, self._this.sources | self._other.sources)
        return KStream(place, repartition_needed=False)

    def _outer_store(self, this_generated: str) -> OuterJoinStoreBuilder:
        options = self._options
        suffix = "-outer-shared-join" if self._right_outer else "-left-shared-join"
        if options.this_store is not None:
            base = options.this_store.name + suffix
        elif options.store_name is not None:
            base = options.store_name + suffix
        else:
            base = prefixes.OUTER_SHARED + this_generated[-10:]
        return OuterJoinStoreBuilder(
            f"{base}-store",
            options.key or DEFAULT_KEY,
            options.value or DEFAULT_VALUE,
            options.other_value or DEFAULT_VALUE,
            logging=options.logging,
        )


def join_table(
    kind: str,
    stream: AnyStream,
    table: KTable[Any, Any],
    joiner: Callable[..., Any],
    joined: Joined | None = None,
) -> AnyStream:
    """Join a stream with the current rows of a table."""
    options = joined or Joined()
    left = kind == "left"
    joiner_takes_key = takes_key(joiner, f"{'left_' if left else ''}join", "value", "row")
    place = stream._ready_for_join(options.name, options.key, options.value)
    dsl = place.dsl
    sources = place.sources | table._place.sources
    dsl.graph.copartition(sources)
    name = dsl.name(prefixes.LEFT_JOIN if left else prefixes.JOIN, options.name)
    key = options.key or place.key
    grace_ms = None if options.grace is None else milliseconds(options.grace, "grace")
    buffer = None
    if grace_ms is not None:
        _check_grace(table, grace_ms)
        buffer = GraceBufferBuilder(
            f"{name}-Buffer", key or DEFAULT_KEY, options.value or place.value or DEFAULT_VALUE, grace_ms
        )
    node = dsl.graph.add(
        StreamTableJoinNode,
        name=name,
        parents=(place.node,),
        table=table._place.node,
        left=left,
        joiner=joiner,
        joiner_takes_key=joiner_takes_key,
        grace_ms=grace_ms,
        buffer=buffer,
        accepts_null_keys=left,
    )
    return KStream(Place(dsl, node, name, key, None, sources), repartition_needed=False)


def join_global_table(
    kind: str,
    stream: AnyStream,
    table: GlobalKTable[Any, Any],
    key_selector: Callable[[Any, Any], Any],
    joiner: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
) -> AnyStream:
    """Join a stream with the rows of a global table that a selector finds."""
    if joiner is None:
        raise TopologyError(
            "a join with a global table needs a key selector and a joiner",
            hint="write join(table, lambda key, value: ..., lambda value, row: ...)",
        )
    left = kind == "left"
    checked(key_selector, "the key selector", "key", "value")
    factory = partial(
        StreamGlobalJoin,
        store=table._store_name,
        key_selector=key_selector,
        joiner=joiner,
        joiner_takes_key=takes_key(joiner, "join", "value", "row"),
        left=left,
    )
    place = stream._place
    node_name = place.dsl.name(prefixes.LEFT_JOIN, name)
    node = place.dsl.graph.add(
        ProcessorNode, name=node_name, parents=(place.node,), factory=factory, accepts_null_keys=left
    )
    result = replace(place, node=node, name=node_name, value=None)
    return KStream(result, repartition_needed=stream._repartition_needed)


def _check_grace(table: KTable[Any, Any], grace_ms: int) -> None:
    """A stream can be held back only for a table that can still answer for the past."""
    place = table._place
    graph = place.dsl.graph.graph()
    if not graph.output_versioned(place.node):
        raise ArgumentError(
            "KTable must be versioned to use a grace period in a stream table join.",
            hint="materialise the table with Stores.persistent_versioned_key_value(...)",
        )
    history = table._history_ms()
    if history is not None and history < grace_ms:
        raise ArgumentError(
            "History retention must be at least grace period.",
            detail=f"the table keeps {history} ms of history, the join's grace is {grace_ms} ms",
        )
