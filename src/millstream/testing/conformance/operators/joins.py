"""Joins: how the case format calls them. The kind of a join follows from what is joined."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from millstream import Joined, JoinWindows, StreamJoined, TableJoined
from millstream.testing.conformance.case import Json
from millstream.testing.conformance.operators import functions
from millstream.testing.conformance.operators.handles import Handle, Kind, OperatorBuilder, Scope, materialized
from millstream.testing.conformance.operators.types import ValueType


def _ms(n: int) -> timedelta:
    return timedelta(milliseconds=n)


def _join(method: str) -> OperatorBuilder:
    def build(scope: Scope, op: Json) -> None:
        left, right = scope.handles[op["left"]], scope.handles[op["right"]]
        join = getattr(left.dsl, method)
        if left.kind is Kind.TABLE:
            made = _table_table(join, left, right, op)
        elif right.kind is Kind.GLOBAL_TABLE:
            selector = functions.key_mapper(op["key_fn"])
            made = join(right.dsl, selector, functions.key_joiner(op["fn"]), name=op.get("name"))
        elif right.kind is Kind.TABLE:
            made = _stream_table(join, left, right, op)
        else:
            made = _stream_stream(join, left, right, op)
        scope.handles[op["out"]] = left.to(made, value=ValueType.STRING)

    return build


def _table_table(join: Any, left: Handle, right: Handle, op: Json) -> Any:
    joiner = functions.joiner(op["fn"])
    store = materialized(op, left.key, ValueType.STRING)
    if "fk_fn" not in op:
        return join(right.dsl, joiner, name=op.get("name"), materialized=store)
    table_joined = TableJoined(name=op["name"]) if "name" in op else None
    foreign_key = functions.key_mapper(op["fk_fn"])
    return join(right.dsl, joiner, foreign_key=foreign_key, table_joined=table_joined, materialized=store)


def _stream_table(join: Any, left: Handle, right: Handle, op: Json) -> Any:
    grace = _ms(op["grace_ms"]) if "grace_ms" in op else None
    joined = Joined(left.key.serde(), left.value.serde(), right.value.serde(), name=op.get("name"), grace=grace)
    return join(right.dsl, functions.key_joiner(op["fn"]), joined)


def _stream_stream(join: Any, left: Handle, right: Handle, op: Json) -> Any:
    joined = StreamJoined(
        left.key.serde(), left.value.serde(), right.value.serde(), name=op.get("name"), store_name=op.get("store")
    )
    return join(right.dsl, functions.key_joiner(op["fn"]), _join_windows(op), joined)


def _join_windows(op: Json) -> JoinWindows:
    before, after, grace = op["before_ms"], op["after_ms"], _ms(op["grace_ms"])
    if op.get("legacy"):
        return JoinWindows.of(_ms(0)).before(_ms(before)).after(_ms(after)).grace(grace)
    if before == after:
        return JoinWindows.of_time_difference(_ms(before), grace=grace)
    wide = JoinWindows.of_time_difference(_ms(max(before, after)), grace=grace)
    return wide.before(_ms(before)).after(_ms(after))


OPERATORS: dict[str, OperatorBuilder] = {name: _join(name) for name in ("join", "left_join", "outer_join")}
