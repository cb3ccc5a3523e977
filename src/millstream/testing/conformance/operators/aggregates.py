"""Windows, aggregations and suppression: how the case format calls them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from millstream import (
    BufferConfig,
    EmitStrategy,
    SessionWindows,
    SlidingWindows,
    Suppressed,
    TimeWindows,
    UnlimitedWindows,
)
from millstream.records import MAX_TIMESTAMP
from millstream.testing.conformance.case import Json
from millstream.testing.conformance.operators import functions
from millstream.testing.conformance.operators.functions import initializer, session_merger
from millstream.testing.conformance.operators.handles import Handle, Kind, OperatorBuilder, Scope, materialized
from millstream.testing.conformance.operators.types import SESSION_KEY, KeyType, ValueType, time_key


def _ms(n: int) -> timedelta:
    return timedelta(milliseconds=n)


def _windows(window: Json) -> tuple[Any, Kind, KeyType]:
    """The DSL's windows, what a windowed stream of them is, and the keys of its aggregations."""
    kind = window["type"]
    if kind == "session":
        sessions = SessionWindows.of_inactivity_gap(_ms(window["gap_ms"]), grace=_ms(window["grace_ms"]))
        return sessions, Kind.SESSION_WINDOWED, SESSION_KEY
    windows: Any
    if kind == "sliding":
        windows = SlidingWindows.of_time_difference(_ms(window["diff_ms"]), grace=_ms(window["grace_ms"]))
        return windows, Kind.TIME_WINDOWED, time_key(window["diff_ms"])
    if kind == "unlimited":
        return UnlimitedWindows.of(window["start_ms"]), Kind.TIME_WINDOWED, time_key(MAX_TIMESTAMP)
    if kind not in ("tumbling", "hopping"):
        raise LookupError(f"the case format has no window '{kind}'")
    windows = TimeWindows.of_size(_ms(window["size_ms"]), grace=_ms(window["grace_ms"]))
    if kind == "hopping":
        windows = windows.advance_by(_ms(window["advance_ms"]))
    return windows, Kind.TIME_WINDOWED, time_key(window["size_ms"])


def windowed_by(scope: Scope, op: Json) -> None:
    """`windowed_by` and, where a case names one, the emit strategy."""
    source = scope.handles[op["in"]]
    windows, kind, window_key = _windows(op["window"])
    made = source.dsl.windowed_by(windows)
    if emit := op.get("emit"):  # random cases also write "" for none
        strategy = EmitStrategy.ON_WINDOW_CLOSE if emit == "close" else EmitStrategy.ON_WINDOW_UPDATE
        made = made.emit_strategy(strategy)
    scope.handles[op["out"]] = source.to(
        made, kind=kind, window_key=window_key, cogrouped=source.kind is Kind.COGROUPED
    )


def cogroup(scope: Scope, op: Json) -> None:
    """The first input's `cogroup`, then one more for every other."""
    first, *others = op["inputs"]
    made = scope.handles[first["in"]].dsl.cogroup(functions.aggregator(first["fn"]))
    for other in others:
        made = made.cogroup(scope.handles[other["in"]].dsl, functions.aggregator(other["fn"]))
    scope.handles[op["out"]] = Handle(Kind.COGROUPED, made, key=scope.handles[first["in"]].key)


def _aggregated(scope: Scope, op: Json, method: str, *args: Any, value: ValueType, named_alone: bool) -> None:
    """Call an aggregation. `named_alone`: Kafka Streams has an overload with a name but without a `Materialized`."""
    source = scope.handles[op["in"]]
    store = materialized(op, source.key, value)
    name = op.get("name") if store is not None or named_alone else None
    made = getattr(source.dsl, method)(*args, name=name, materialized=store)
    scope.handles[op["out"]] = Handle(Kind.TABLE, made, key=source.window_key or source.key, value=value)


def count(scope: Scope, op: Json) -> None:
    """Counts are 64-bit integers."""
    _aggregated(scope, op, "count", value=ValueType.LONG, named_alone=True)


def reduce(scope: Scope, op: Json) -> None:
    """A reducer, or the adder and subtractor of a grouped table."""
    source = scope.handles[op["in"]]
    reducers = [functions.reducer(op[fn]) for fn in ("fn", "sub_fn") if fn in op]
    named_alone = source.window_key is not None
    _aggregated(scope, op, "reduce", *reducers, value=ValueType.STRING, named_alone=named_alone)


def aggregate(scope: Scope, op: Json) -> None:
    """An aggregator, the adder and subtractor of a grouped table, or none below a cogroup; a merger for sessions."""
    source = scope.handles[op["in"]]
    args: list[Any] = [initializer]
    args += [functions.aggregator(op[fn]) for fn in ("fn", "sub_fn") if fn in op]
    if source.kind is Kind.SESSION_WINDOWED:
        args.append(session_merger)
    named_alone = source.kind is not Kind.GROUPED_STREAM
    _aggregated(scope, op, "aggregate", *args, value=ValueType.STRING, named_alone=named_alone)


def suppress(scope: Scope, op: Json) -> None:
    """Until a time limit or until the window closes."""
    source = scope.handles[op["in"]]
    if op["until"] == "window_close":
        suppressed = Suppressed.until_window_closes(_buffer(op), name=op.get("name"))
    else:
        suppressed = Suppressed.until_time_limit(_ms(op["wait_ms"]), _buffer(op), name=op.get("name"))
    scope.handles[op["out"]] = source.to(source.dsl.suppress(suppressed))


def _buffer(op: Json) -> BufferConfig:
    if "max_records" not in op and "max_bytes" not in op:
        return BufferConfig.unbounded()
    if "max_records" in op:
        buffer = BufferConfig.max_records(op["max_records"])
        if "max_bytes" in op:
            buffer = buffer.with_max_bytes(op["max_bytes"])
    else:
        buffer = BufferConfig.max_bytes(op["max_bytes"])
    return buffer.shut_down_when_full() if op.get("full") == "shutdown" else buffer.emit_early_when_full()


OPERATORS: dict[str, OperatorBuilder] = {
    "windowed_by": windowed_by,
    "cogroup": cogroup,
    "count": count,
    "reduce": reduce,
    "aggregate": aggregate,
    "suppress": suppress,
}
