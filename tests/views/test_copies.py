"""Copies: what they apply, what a restart finds, and when they are made anew."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from millstream import Serdes, Stores, StoreSupplier
from millstream.errors import NotReady, NotUpToBound, OversizedScan
from millstream.state.suppliers import StoreKind
from millstream.views.answers import Row
from millstream.views.catalogue import ViewStore
from millstream.views.instance.copies import PartitionCopy, Records, Task, TaskCopies
from millstream.views.instance.progress import Progress
from millstream.views.queries import KeyQuery, Position, RangeQuery, Requirements, VersionedKeyQuery

TASK = Task(2, 1)
HOUR = timedelta(hours=1)


def store(name: str = "s", kind: StoreKind = StoreKind.TIMESTAMPED_KEY_VALUE, **options: Any) -> ViewStore:
    supplier = StoreSupplier(name, **options)
    return ViewStore(name, kind, supplier, Serdes.string, Serdes.string, f"app-{name}-changelog", 2, False)


KEY_VALUE = store()
IN_MEMORY = store("m", persistent=False)
VERSIONED = ViewStore(
    "v", StoreKind.VERSIONED_KEY_VALUE, Stores.persistent_versioned_key_value("v", HOUR), Serdes.string, Serdes.string,
    "app-v-changelog", 2, False,
)  # fmt: skip


def record(offset: int, key: bytes | None, value: bytes | None, timestamp: int = 0) -> Any:
    return offset, (key, value, timestamp)


def taken(*records: Any) -> Records:
    """Records as they are read."""
    return Records([offset for offset, _ in records], [found for _, found in records], [])


def opened(
    tmp_path: Path, topic_id: str = "id", views: tuple[ViewStore, ...] = (KEY_VALUE, IN_MEMORY, VERSIONED)
) -> Any:
    return TaskCopies(TASK, [(view, topic_id) for view in views], tmp_path)


def read_up(copy: PartitionCopy) -> PartitionCopy:
    copy.look(1, 0, 0.0)
    return copy


def rows(copy: PartitionCopy, query: Any = None, **needs: Any) -> list[Row]:
    return list(copy.answer("me", query or RangeQuery(), Requirements(**needs), 1000).rows)


def fill(copies: TaskCopies) -> None:
    for copy in copies.copies:
        copy.apply(1, taken(record(3, b"a", b"1", 5), record(4, b"b", b"2", 6), record(7, b"a", b"3", 7)))


def test_what_a_clean_restart_finds(tmp_path: Path) -> None:
    copies = opened(tmp_path)
    fill(copies)
    copies.close()
    kept, memory, versioned = opened(tmp_path).copies
    assert [copy.progress[1].position for copy in (kept, memory, versioned)] == [8, 0, 8]
    assert rows(read_up(kept)) == [Row(b"a", b"3", 7), Row(b"b", b"2", 6)]
    assert rows(read_up(versioned), VersionedKeyQuery(b"a", 6)) == [Row(b"a", b"1", 5, None, 7)]
    assert rows(read_up(memory)) == []


def test_what_a_kill_leaves(tmp_path: Path) -> None:
    copies = opened(tmp_path)
    fill(copies)
    copies.save()
    copies.copies[0].apply(1, taken(record(8, b"a", b"4", 9)))
    for copy in copies.copies:
        copy.close()  # no clean checkpoint is written
    kept, _, versioned = opened(tmp_path).copies
    assert [copy.progress[1].position for copy in (kept, versioned)] == [8, 0]
    kept.apply(1, taken(record(8, b"a", b"4", 9)))
    assert rows(read_up(kept))[0] == Row(b"a", b"4", 9)


@pytest.mark.parametrize("topic_id", ["another", ""])
def test_another_topic_of_the_same_name(tmp_path: Path, topic_id: str) -> None:
    copies = opened(tmp_path)
    fill(copies)
    copies.close()
    kept = opened(tmp_path, topic_id).copies[0]
    assert kept.progress[1].position == 0
    assert rows(read_up(kept)) == []


def test_damaged_files_are_made_anew(tmp_path: Path) -> None:
    copies = opened(tmp_path, views=(KEY_VALUE,))
    fill(copies)
    copies.close()
    (tmp_path / "2_1" / "s" / "CURRENT").write_bytes(b"nonsense\n")
    kept = opened(tmp_path, views=(KEY_VALUE,)).copies[0]
    assert kept.progress[1].position == 0
    assert rows(read_up(kept)) == []


def test_records_that_it_has_and_records_without_a_key(tmp_path: Path) -> None:
    (copy,) = opened(tmp_path, views=(KEY_VALUE,)).copies
    copy.apply(1, taken(record(0, b"a", b"1"), record(1, None, b"lost"), record(2, b"b", b"2")))
    copy.apply(
        1, taken(record(0, b"a", b"old"), record(1, b"a", b"old"), record(2, b"a", b"old"), record(3, b"c", b"3"))
    )
    copy.apply(1, taken(record(3, b"c", b"old")))
    assert [row[:2] for row in rows(read_up(copy))] == [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]
    assert copy.applied == 4
    copy.begin_anew()
    with pytest.raises(NotReady):
        rows(copy)
    assert rows(read_up(copy)) == []
    copy.close()
    with pytest.raises(NotReady):
        rows(copy)


def test_what_a_caller_requires(tmp_path: Path) -> None:
    (copy,) = opened(tmp_path, views=(KEY_VALUE,)).copies
    copy.apply(1, taken(*(record(number, b"%d" % number, b"v") for number in range(9))))
    copy.look(1, 9, 0.0)
    topic = KEY_VALUE.topic
    assert len(rows(copy, bound=Position({topic: {1: 9, 2: 100}, "others": {1: 100}}))) == 9
    with pytest.raises(NotUpToBound, match="not up to the bound"):
        rows(copy, bound=Position({topic: {1: 10}}))
    with pytest.raises(NotUpToBound, match="older than allowed"):
        rows(copy, max_staleness=HOUR * 0)
    answer = copy.answer("me", RangeQuery(), Requirements(limit=4), 1000)
    assert (len(answer.rows), answer.more) == (4, True)
    assert not copy.answer("me", RangeQuery(), Requirements(limit=9), 1000).more
    with pytest.raises(OversizedScan):
        copy.answer("me", RangeQuery(), Requirements(), 8)
    with pytest.raises(OversizedScan):
        copy.answer("me", RangeQuery(), Requirements(limit=9), 8)
    assert copy.answer("me", KeyQuery(b"1"), Requirements(), 8).answered_by[1].is_standby


def test_progress() -> None:
    at = Progress()
    assert not at.has_read_up
    at.look(5, 1.0)
    at.advance(4)
    assert not at.has_read_up
    assert at.lag(9.0).records == 1
    at.advance(5)
    assert at.current_at == 1.0
    at.look(7, 2.0)
    assert at.lag(3.0).stale_ms == 2000
    at.look(9, 3.0)
    at.advance(8)
    assert at.current_at == 1.0
    at.advance(9)
    at.advance(2)  # it never goes back
    assert (at.position, at.current_at) == (9, 3.0)
