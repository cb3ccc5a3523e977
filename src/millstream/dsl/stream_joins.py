"""The joins of a stream: with a stream, a table, a global table."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from millstream.dsl import prefixes
from millstream.dsl.functions import checked, takes_key, with_key
from millstream.dsl.kstream import KStream
from millstream.dsl.ktable import GlobalKTable, KTable
from millstream.dsl.options import Joined, StreamJoined, chosen
from millstream.dsl.stores import join_store
from millstream.dsl.stream import Place, check_same_builder
from millstream.dsl.unknown import call, needed_for, unknown_value
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
from millstream.serdes import Serde
from millstream.windows import JoinWindows

AnyStream = KStream[Any, Any]
JoinKind = Literal["inner", "left", "outer"]

_OPERATORS: dict[JoinKind, str] = {"inner": "join", "left": "left_join", "outer": "outer_join"}


def join(
    kind: JoinKind, stream: AnyStream, other: Any, arguments: tuple[Any, ...], options: dict[str, Any]
) -> AnyStream:
    """Join a stream with a stream, a table or a global table; the arguments are those of the functions below."""
    operator = _OPERATORS[kind]
    add: Callable[..., AnyStream]
    match other:
        case KStream():
            check_same_builder(stream._place.dsl, other._place.dsl, operator)
            add, form = join_streams, "stream, joiner, windows, StreamJoined(...)"
        case KTable() if kind != "outer":
            check_same_builder(stream._place.dsl, other._place.dsl, operator)
            add, form = join_table, "table, joiner, Joined(...)"
        case GlobalKTable() if kind != "outer":
            check_same_builder(stream._place.dsl, other._dsl, operator)
            add, form = join_global_table, "table, key_selector, joiner, name=..."
        case _:
            raise TopologyError(
                "a stream can be outer-joined with a KStream"
                if kind == "outer"
                else "a stream can be joined with a KStream, a KTable or a GlobalKTable",
                detail=f"got {type(other).__name__}",
                hint="a table's rows without a match are no records of a stream: outer-join two tables instead"
                if isinstance(other, KTable | GlobalKTable)
                else None,
            )
    try:
        inspect.signature(add).bind(kind, stream, other, *arguments, **options)
    except TypeError as error:
        raise TopologyError(
            f"{operator} with a {type(other).__name__} cannot take these arguments",
            detail=str(error),
            hint=f"write {operator}({form})",
        ) from None
    return add(kind, stream, other, *arguments, **options)


def join_streams(
    kind: JoinKind,
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
    operator = _OPERATORS[kind]
    options = chosen(joined, StreamJoined, f"{operator} of two streams")
    origin = call(operator, joiner)
    joiner = with_key(joiner, operator, "left", "right")
    name = options.name
    this = _side(left, name and f"{name}-left", options.key, options.value, "StreamJoined(value=...)")
    other = _side(right, name and f"{name}-right", options.key, options.other_value, "StreamJoined(other_value=...)")
    this.dsl.graph.copartition(this.sources | other.sources)
    return _StreamStreamJoin(kind, this, other, joiner, windows, options, origin).add()


def _side(
    stream: AnyStream, base: str | None, key: Serde[Any] | None, value: Serde[Any] | None, value_option: str
) -> Place:
    """One side of a join of two streams, with its serdes there: the given ones, or those of the stream."""

    def known(place: Place) -> Place:
        return replace(
            place,
            key=key or needed_for("StreamJoined(key=...)", place.key),
            value=value or needed_for(value_option, place.value),
        )

    wanted = known(stream._place)
    return known(stream._ready_for_join(base, wanted.key, wanted.value))


class _StreamStreamJoin:
    """One stream-stream join on its way into the graph."""

    def __init__(
        self,
        kind: JoinKind,
        this: Place,
        other: Place,
        joiner: Callable[..., Any],
        windows: JoinWindows,
        options: StreamJoined,
        origin: str,
    ) -> None:
        self._left_outer = kind in ("left", "outer")
        self._right_outer = kind == "outer"
        self._this, self._other = this, other
        self._joiner, self._windows, self._options = joiner, windows, options
        self._origin = origin

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
            self._this.key,
            self._this.value,
        )
        other_store = join_store(
            dsl.config,
            options,
            options.other_store,
            other_generated if base is None else base + other_suffix,
            windows,
            self._this.key,
            self._other.value,
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
        sources = self._this.sources | self._other.sources
        place = Place(dsl, node, merge_name, self._this.key, unknown_value(self._origin), sources)
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
            self._this.key,
            self._this.value,
            self._other.value,
            logging=options.logging is not False,
        )


def join_table(
    kind: JoinKind,
    stream: AnyStream,
    table: KTable[Any, Any],
    joiner: Callable[..., Any],
    joined: Joined | None = None,
) -> AnyStream:
    """Join a stream with the current rows of a table."""
    operator, left = _OPERATORS[kind], kind == "left"
    options = chosen(joined, Joined, f"{operator} with a table")
    joiner_takes_key = takes_key(joiner, operator, "value", "row")
    place = stream._ready_for_join(
        options.name,
        options.key or needed_for("Joined(key=...)", stream._place.key),
        options.value or needed_for("Joined(value=...)", stream._place.value),
    )
    dsl = place.dsl
    sources = place.sources | table._place.sources
    dsl.graph.copartition(sources)
    name = dsl.name(prefixes.LEFT_JOIN if left else prefixes.JOIN, options.name)
    key = options.key or needed_for("Joined(key=...)", place.key)
    grace_ms = None if options.grace is None else milliseconds(options.grace, "grace")
    buffer = None
    if grace_ms is not None:
        _check_grace(table, grace_ms)
        value = options.value or needed_for("Joined(value=...)", place.value)
        buffer = GraceBufferBuilder(f"{name}-Buffer", key, value, grace_ms)
    node = dsl.graph.add(
        StreamTableJoinNode,
        name=name,
        parents=(place.node,),
        table=table._place.node,
        left=left,
        joiner=joiner,
        joiner_takes_key=joiner_takes_key,
        wait_ms=grace_ms,
        buffer=buffer,
        accepts_null_keys=left,
    )
    result = Place(dsl, node, name, key, unknown_value(call(operator, joiner)), sources)
    return KStream(result, repartition_needed=False)


def join_global_table(
    kind: JoinKind,
    stream: AnyStream,
    table: GlobalKTable[Any, Any],
    key_selector: Callable[[Any, Any], Any],
    joiner: Callable[..., Any],
    *,
    name: str | None = None,
) -> AnyStream:
    """Join a stream with the rows of a global table that a selector finds."""
    operator, left = _OPERATORS[kind], kind == "left"
    checked(key_selector, "the key selector", "key", "value")
    factory = partial(
        StreamGlobalJoin,
        store=table._store_name,
        key_selector=key_selector,
        joiner=joiner,
        joiner_takes_key=takes_key(joiner, operator, "value", "row"),
        left=left,
    )
    place = stream._place
    node_name = place.dsl.name(prefixes.LEFT_JOIN, name)
    node = place.dsl.graph.add(
        ProcessorNode, name=node_name, parents=(place.node,), factory=factory, accepts_null_keys=left
    )
    result = replace(place, node=node, name=node_name, value=unknown_value(call(operator, joiner)))
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
