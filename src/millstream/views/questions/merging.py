"""Rows of several partitions as one answer, in the order that the store of one partition would give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import merge
from itertools import islice
from typing import Any

from millstream.records import Window
from millstream.state.backends.timetable import segment_order, time_order
from millstream.state.layout import SESSION_SUFFIX, WINDOW_SUFFIX
from millstream.state.suppliers import StoreKind, StoreSupplier
from millstream.views.answers import Answer, AnsweredBy, PartitionLag, Row
from millstream.views.queries import Position

RowOrder = Callable[[Row], Any]


def row_order(kind: StoreKind, supplier: StoreSupplier) -> RowOrder:
    """The place of a row in a scan over many keys of such a store."""
    if kind in (StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW):
        if not supplier.persistent or supplier.time_ordered:
            by_time = time_order(WINDOW_SUFFIX, False)
            return lambda row: by_time(row.key, _window(row).start, 0)
        by_segment = segment_order(supplier.segment_ms() or 1, WINDOW_SUFFIX)
        return lambda row: by_segment(row.key, _window(row).start, 0)
    if kind is StoreKind.SESSION:
        segment_ms = supplier.segment_ms()
        place = time_order(SESSION_SUFFIX, False) if segment_ms is None else segment_order(segment_ms, SESSION_SUFFIX)
        return lambda row: place(row.key, _window(row).end, _window(row).start)
    return lambda row: row.key


def _window(row: Row) -> Window:
    if row.window is None:
        raise AssertionError("a row of a windowed store without a window")
    return row.window


def merged(answers: Sequence[Answer], order: RowOrder, *, reverse: bool, limit: int | None) -> Answer:
    """Several answers as one.

    Args:
        answers: those of different partitions, each with its rows in order.
        order: the place of a row.
        reverse: the rows are in reverse order.
        limit: so many rows at most.
    """
    if len(answers) == 1:
        return answers[0]
    rows = list(
        islice(
            merge(*(answer.rows for answer in answers), key=order, reverse=reverse),
            None if limit is None else limit + 1,
        )
    )
    more = any(answer.more for answer in answers)
    if limit is not None and len(rows) > limit:
        rows.pop()
        more = True
    return with_rows(answers, rows, more)


def with_rows(answers: Sequence[Answer], rows: Sequence[Row], more: bool) -> Answer:
    """These rows, with what all the answers say of themselves."""
    position = Position()
    lags: dict[int, PartitionLag] = {}
    answered_by: dict[int, AnsweredBy] = {}
    for answer in answers:
        position = position.merged(answer.position)
        lags.update(answer.lags)
        answered_by.update(answer.answered_by)
    counts = [answer.count for answer in answers if answer.count is not None]
    return Answer(rows, position, lags, answered_by, more, sum(counts) if counts else None)
