"""Rows of several partitions come as one store would give them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from millstream import Serdes
from millstream.kafka.partitioner import partition_for
from millstream.records import Headers, Window, Windowed
from millstream.state.builders import StoreBuilder
from millstream.state.suppliers import StoreKind, StoreSupplier
from millstream.views.answers import Answer, AnsweredBy, PartitionLag, Row
from millstream.views.instance import lookup
from millstream.views.queries import Position, Query, RangeQuery, SessionRangeQuery, WindowRangeQuery
from millstream.views.questions.merging import merged, row_order

PARTITIONS = 3
HOUR = 3_600_000
SUPPLIERS = {
    "key-value": (StoreKind.KEY_VALUE, StoreSupplier("s")),
    "windows": (StoreKind.WINDOW, StoreSupplier("s", retention_ms=HOUR, window_size_ms=10)),
    "windows in memory": (StoreKind.WINDOW, StoreSupplier("s", False, HOUR, 10)),
    "time-ordered windows": (StoreKind.WINDOW, StoreSupplier("s", True, HOUR, 10, time_ordered=True)),
    "duplicates": (StoreKind.WINDOW, StoreSupplier("s", True, HOUR, 10, retain_duplicates=True)),
    "sessions": (StoreKind.SESSION, StoreSupplier("s", retention_ms=HOUR)),
    "sessions in memory": (StoreKind.SESSION, StoreSupplier("s", False, HOUR)),
}


class _Context:
    topic, partition, offset, timestamp, headers, cache_max_bytes = None, 0, 0, 0, Headers(), 0
    store_memory_max_bytes = 0

    def configure_rocksdb(self, store: str, options: object) -> None:
        pass

    def store_directory(self, name: str) -> None:
        return None

    def drop(self, who: str, reason: str) -> None:
        raise AssertionError(reason)

    def forwarding(self) -> None:
        raise AssertionError("it has no cache")


def _open(kind: StoreKind, supplier: StoreSupplier) -> Any:
    store: Any = StoreBuilder("s", kind, supplier, Serdes.bytes, Serdes.bytes, logging=False).build()
    store.init(_Context())
    return store


@pytest.mark.parametrize("name", SUPPLIERS)
@pytest.mark.parametrize("reverse", [False, True])
def test_merging(name: str, reverse: bool) -> None:
    kind, supplier = SUPPLIERS[name]
    parts, one = [_open(kind, supplier) for _ in range(PARTITIONS)], _open(kind, supplier)
    chance = random.Random(7)
    for number in range(500):
        key = chance.choice([b"a", b"aa", b"b", b"\xff", b"ab", b"c", b"d"]) * chance.randrange(1, 3)
        time = chance.randrange(HOUR - 1)
        for store in (one, parts[partition_for(key, PARTITIONS)]):
            if kind is StoreKind.KEY_VALUE:
                store.put(key, b"%d" % number)
            elif kind is StoreKind.WINDOW:
                store.put(key, b"%d" % number, time)
            else:
                store.put(Windowed(key, Window(time, time + number)), b"%d" % number)
    query: Query = WindowRangeQuery(reverse=reverse)
    if kind is StoreKind.KEY_VALUE:
        query = RangeQuery(reverse=reverse)
    elif kind is StoreKind.SESSION:
        query = SessionRangeQuery(reverse=reverse)
    answers = [Answer(list(lookup.rows(store, query))) for store in parts]
    expected = list(lookup.rows(one, query))
    order = row_order(kind, supplier)
    assert merged(answers, order, reverse=reverse, limit=None).rows == expected
    some = merged(answers, order, reverse=reverse, limit=9)
    assert (some.rows, some.more) == (expected[:9], len(expected) > 9)


def test_what_answers_say_of_themselves_is_put_together() -> None:
    answers = [
        Answer(
            [Row(b"%d" % number, b"")],
            Position({"t": {number: number + 1}}),
            {number: PartitionLag(1, 2, 3)},
            {number: AnsweredBy(f"i{number}", number == 1)},
            number == 1,
            5,
        )
        for number in range(2)
    ]
    found = merged(answers, lambda row: row.key, reverse=False, limit=None)
    assert found.position == Position({"t": {0: 1, 1: 2}})
    assert (set(found.lags), set(found.answered_by), found.more, found.count) == ({0, 1}, {0, 1}, True, 10)
