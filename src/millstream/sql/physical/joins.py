"""Joins of streams and tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.dsl.options import Joined, Materialized, StreamJoined
from millstream.records import Windowed
from millstream.sql.physical.flow import Flow, Surroundings, delta, name_of
from millstream.sql.plan.steps import ForeignKeyJoin, Step, StreamStreamJoin, StreamTableJoin, TableTableJoin
from millstream.sql.tree.queries import JoinKind
from millstream.windows import JoinWindows

_Row = tuple[Any, ...] | None
_Joiner = Callable[[Any, Any, Any], Any]


def join_streams(step: StreamStreamJoin, left: Flow, right: Flow, around: Surroundings) -> Flow:
    """Two streams within a time of each other."""
    joiner = _joiner(step, left, right)
    name = name_of(step)
    first, second, formats, second_formats = left, right, step.left_formats, step.right_formats
    if step.kind is JoinKind.RIGHT:  # a left join seen from the other side
        first, second, formats, second_formats = right, left, step.right_formats, step.left_formats
        joiner = _swapped(joiner)
    joined = StreamJoined(
        around.key_serde(formats.key, first.schema, first.window, name),
        around.kept_serde(formats, first.schema.value, f"{name}-Left"),
        around.kept_serde(second_formats, second.schema.value, f"{name}-Right"),
        name=name,
    )
    before, after = delta(step.before_ms), delta(step.after_ms)
    if step.grace_ms is None:
        windows = JoinWindows.of(before)
    else:
        windows = JoinWindows.of_time_difference(before, delta(step.grace_ms))
    windows = windows.after(after)
    if step.kind is JoinKind.INNER:
        stream = first.stream.join(second.stream, joiner, windows, joined)
    elif step.kind is JoinKind.OUTER:
        stream = first.stream.outer_join(second.stream, joiner, windows, joined)
    else:
        stream = first.stream.left_join(second.stream, joiner, windows, joined)
    return left.then(stream, step)


def join_stream_with_table(step: StreamTableJoin, left: Flow, right: Flow, around: Surroundings) -> Flow:
    """A stream and the row of each record's key."""
    name = name_of(step)
    joined = Joined(
        around.key_serde(step.formats.key, left.schema, left.window, name),
        around.kept_serde(step.formats, left.schema.value, name),
        name=name,
    )
    joiner = _joiner(step, left, right)
    if step.kind is JoinKind.INNER:
        return left.then(left.stream.join(right.table, joiner, joined), step)
    return left.then(left.stream.left_join(right.table, joiner, joined), step)


def join_tables(step: TableTableJoin, left: Flow, right: Flow) -> Flow:
    """Two tables with the same primary key."""
    joiner = _joiner(step, left, right)
    if step.kind is JoinKind.INNER:
        table = left.table.join(right.table, joiner)
    elif step.kind is JoinKind.LEFT:
        table = left.table.left_join(right.table, joiner)
    elif step.kind is JoinKind.RIGHT:
        table = right.table.left_join(left.table, _swapped(joiner))
    else:
        table = left.table.outer_join(right.table, joiner)
    return left.then(table, step, kept=None)


def join_on_foreign_key(step: ForeignKeyJoin, left: Flow, right: Flow, around: Surroundings) -> Flow:
    """A table and the row of another whose key an expression gives."""
    evaluate = around.rows((step.foreign_key,), left.schema, step)

    def foreign_key(row: Any) -> tuple[Any, ...] | None:
        found = evaluate(row)
        return None if found[0] is None else found

    name = name_of(step)
    materialized = Materialized(
        key=around.key_serde(step.formats.key, left.schema, left.window, name),
        value=around.kept_serde(step.formats, step.schema.value, name),
    )
    # A foreign-key join's functions know no key of their own: nothing of it goes into the row.
    joiner = _joiner(step, left, right)

    def plain(one: Any, two: Any) -> Any:
        return joiner(None, one, two)

    join = left.table.join if step.kind is JoinKind.INNER else left.table.left_join
    table = join(right.table, plain, foreign_key=foreign_key, materialized=materialized)
    return left.then(table, step, kept=None)


def _joiner(step: Step, left: Flow, right: Flow) -> _Joiner:
    """What puts two rows together: the left one, the right one, and the key where the schema has it once more."""
    nothing_left = (None,) * len(left.schema.value)
    nothing_right = (None,) * len(right.schema.value)
    names = [column.name for column in step.schema.value]
    turned = names[: len(nothing_right)] == [column.name for column in right.schema.value] and bool(nothing_right)
    turned = turned and names[: len(nothing_left)] != [column.name for column in left.schema.value]
    with_key = len(names) > len(nothing_left) + len(nothing_right)

    def join(key: Any, one: _Row, two: _Row) -> _Row:
        one = nothing_left if one is None else one
        two = nothing_right if two is None else two
        row = two + one if turned else one + two
        if with_key:
            row += key.key if isinstance(key, Windowed) else key
        return row

    return join


def _swapped(joiner: _Joiner) -> _Joiner:
    def swapped(key: Any, two: Any, one: Any) -> Any:
        return joiner(key, one, two)

    return swapped
