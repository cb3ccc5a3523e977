"""Pull queries asked of views: which questions they become."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millstream.records import Window
from millstream.sql.pull import Found, Times
from millstream.sql.pull.view_rows import ViewRows
from millstream.state.suppliers import StoreKind
from millstream.views.answers import Answer, Row, StoreDescription
from millstream.views.queries import (
    NO_REQUIREMENTS,
    KeysQuery,
    Query,
    RangeQuery,
    Requirements,
    SessionKeyQuery,
    SessionRangeQuery,
    WindowKeyQuery,
    WindowRangeQuery,
)


class Views:
    """Views that give the same rows to every question."""

    def __init__(self, kind: StoreKind, *rows: Row, size: int | None = None) -> None:
        self._description = StoreDescription("s", kind, "topic", 1, False, size)
        self._rows = rows
        self.asked: list[Query] = []

    def stores(self) -> dict[str, StoreDescription]:
        return {"s": self._description}

    def ask(self, store: str, query: Query, requirements: Requirements = NO_REQUIREMENTS) -> Answer:
        self.asked.append(query)
        return Answer(self._rows)

    def pages(self, store: str, query: Query, requirements: Requirements = NO_REQUIREMENTS) -> Iterator[Answer]:
        yield self.ask(store, query, requirements)
        yield Answer(())


def test_keys_ranges_and_scans_of_a_table() -> None:
    views = Views(StoreKind.TIMESTAMPED_KEY_VALUE, Row(("a",), (1,), 5))
    rows = ViewRows(views, "s")
    assert list(rows.get([("a",), ("b",)])) == [Found(("a",), (1,), 5)]
    assert list(rows.range(("a",), None)) == list(rows.scan()) == [Found(("a",), (1,), 5)]
    assert views.asked == [KeysQuery((("a",), ("b",))), RangeQuery(("a",), None), RangeQuery()]


@pytest.mark.parametrize(
    ("starts", "ends", "asked"),
    [
        (Times(), Times(), (0, Times().last - 10)),
        (Times(5, 20), Times(), (5, 20)),
        (Times(5, 20), Times(12, 25), (5, 15)),
        (Times(), Times(0, 40), (0, 30)),
    ],
)
def test_windows_are_asked_for_by_their_start(starts: Times, ends: Times, asked: tuple[int, int]) -> None:
    views = Views(StoreKind.TIMESTAMPED_WINDOW, Row(("a",), (1,), 7, Window(5, 15)), size=10)
    rows = ViewRows(views, "s")
    assert list(rows.windows(("a",), starts, ends)) == [Found(("a",), (1,), 7, Window(5, 15))]
    assert views.asked == [WindowKeyQuery(("a",), *asked)]
    list(rows.scan())
    assert views.asked[1] == WindowRangeQuery()


def test_sessions_have_the_time_of_their_end() -> None:
    sessions: list[Any] = [Row(("a",), (1,), None, Window(5, 15)), Row(("a",), (2,), None, Window(30, 40))]
    views = Views(StoreKind.SESSION, *sessions)
    rows = ViewRows(views, "s")
    assert list(rows.windows(("a",), Times(6, 30), Times(10, 50))) == [Found(("a",), (2,), 40, Window(30, 40))]
    assert views.asked == [SessionKeyQuery(("a",), 10, 30)]
    assert [found.timestamp for found in rows.scan()] == [15, 40]
    assert views.asked[1] == SessionRangeQuery()
