"""What is in memory first and on disk second, against plain models; and the memory that is shared."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.state.backends.pool import MemoryPool
from millstream.state.backends.scratch import Scratch
from millstream.state.backends.tiered_map import ROW_OVERHEAD, TieredMap
from millstream.state.backends.tiered_timetable import TieredTimeTable
from millstream.state.layout import SESSION_SUFFIX, WINDOW_SUFFIX

KEYS = st.binary(max_size=2).map(lambda key: bytes(b % 4 * 85 for b in key))
BOUNDS = st.none() | KEYS
MAP_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.binary(max_size=3)),
        st.tuples(st.just("put"), KEYS, st.binary(max_size=300)),
        st.tuples(st.just("delete"), KEYS),
        st.tuples(st.just("get"), KEYS),
        st.tuples(st.just("range"), BOUNDS, BOUNDS, st.booleans()),
        st.tuples(st.just("drop"), KEYS, KEYS),
        st.tuples(st.just("sync")),
    ),
    max_size=40,
)
TIMES = st.integers(0, 30)
TABLE_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, TIMES, st.integers(0, 2), st.binary(max_size=3)),
        st.tuples(st.just("put"), KEYS, TIMES, st.integers(0, 2), st.binary(max_size=300)),
        st.tuples(st.just("delete"), KEYS, TIMES, st.integers(0, 2)),
        st.tuples(st.just("get"), KEYS, TIMES, st.integers(0, 2)),
        st.tuples(st.just("of key"), KEYS, TIMES, TIMES, st.booleans()),
        st.tuples(st.just("scan"), TIMES, TIMES, st.booleans()),
        st.tuples(st.just("drop"), TIMES),
        st.tuples(st.just("sync")),
    ),
    max_size=40,
)
MEMORY = st.sampled_from([0, 600, 1_500, 4_000])
SEGMENT, SPAN = 10, 3


@contextmanager
def directory() -> Iterator[str]:
    path = tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)  # noqa: S108 - memory
    try:
        yield path
    finally:
        shutil.rmtree(path)


@given(MEMORY, MAP_STEPS)
@settings(max_examples=60, deadline=None)
def test_a_tiered_map_is_a_sorted_dict(memory: int, steps: list[Any]) -> None:
    model: dict[bytes, bytes] = {}
    with directory() as path:
        subject = TieredMap(path, MemoryPool(memory))
        for step in steps:
            match step:
                case "put", key, value:
                    subject.put(key, value)
                    model[key] = value
                case "delete", key:
                    subject.delete(key)
                    model.pop(key, None)
                case "get", key:
                    assert subject.get(key) == model.get(key)
                case "range", low, high, reverse:
                    assert list(subject.range(low, high, reverse)) == between(model, low, high)[:: -1 if reverse else 1]
                case "drop", low, high:
                    subject.delete_range(low, high)
                    for key, _ in between(model, low, high):
                        del model[key]
                case ("sync",):
                    subject.sync()
        assert list(subject.range(None, None)) == sorted(model.items())
        assert {key: subject.get(key) for key in model} == model
        subject.close()
        assert list(Path(path).iterdir()) == []


def between(model: dict[bytes, bytes], low: bytes | None, high: bytes | None) -> list[tuple[bytes, bytes]]:
    return [row for row in sorted(model.items()) if (low or b"") <= row[0] and (high is None or row[0] < high)]


@pytest.mark.parametrize("time_index", [False, True])
@pytest.mark.parametrize("number_first", [False, True])
def test_so_is_a_tiered_table(number_first: bool, time_index: bool) -> None:
    suffix = SESSION_SUFFIX if number_first else WINDOW_SUFFIX

    def by_time(row: tuple[bytes, int, int]) -> Any:
        key, time, number = row
        return (time, number, key) if number_first else (time, key + suffix.pack(0, number))

    def by_segment(row: tuple[bytes, int, int]) -> Any:
        key, time, number = row
        return time // SEGMENT, key + suffix.pack(time, number)

    @given(MEMORY, TABLE_STEPS)
    @settings(max_examples=40, deadline=None)
    def check(memory: int, steps: list[Any]) -> None:
        model: dict[tuple[bytes, int, int], bytes] = {}
        with directory() as path:
            pool = MemoryPool(memory)
            subject = TieredTimeTable(path, pool, suffix, SEGMENT, number_first, SPAN, time_index)
            for step in steps:
                match step:
                    case "put", key, time, number, value:
                        subject.put(key, time, number, value)
                        model[key, time, number] = value
                    case "delete", key, time, number:
                        subject.delete(key, time, number)
                        model.pop((key, time, number), None)
                    case "get", key, time, number:
                        assert subject.get(key, time, number) == model.get((key, time, number))
                    case "of key", key, low, high, reverse:
                        rows = sorted((t, n, v) for (k, t, n), v in model.items() if k == key and low <= t <= high)
                        assert subject.list_of_key(key, low, high) == rows
                        assert list(subject.of_key(key, low, high, reverse)) == rows[:: -1 if reverse else 1]
                    case "scan", low, high, reverse:
                        rows_of = [row for row in model if low <= row[1] <= high]
                        for scan, order in ((subject.by_time, by_time), (subject.by_segment, by_segment)):
                            found = [(*row, model[row]) for row in sorted(rows_of, key=order, reverse=reverse)]
                            assert list(scan(low, high, reverse)) == found
                    case "drop", time:
                        # On disk rows go by the segment, and stores do not ask for what they have dropped.
                        time -= time % SEGMENT
                        subject.drop_before(time)
                        model = {row: value for row, value in model.items() if row[1] >= time}
                    case ("sync",):
                        subject.sync()
            assert sorted(subject.rows()) == sorted((*row, value) for row, value in model.items())
            subject.close()
            assert list(Path(path).iterdir()) == []

    check()


def test_what_fits_needs_no_disk(tmp_path: Path) -> None:
    subject = TieredMap(str(tmp_path), MemoryPool(1 << 20))
    for number in range(1000):
        subject.put(b"%d" % number, b"x")
    subject.sync()
    assert list(tmp_path.iterdir()) == []
    assert len(subject) == 1000
    subject.close()


def test_rows_that_are_used_stay_in_memory(tmp_path: Path) -> None:
    subject = TieredMap(str(tmp_path), MemoryPool(100 * (ROW_OVERHEAD + 10)))
    hot = [b"hot-%d" % number for number in range(10)]
    for key in hot:
        subject.put(key, b"x")
    for number in range(1000):
        subject.put(b"%09d" % number, b"x")
        assert subject.get(hot[number % 10]) == b"x"
    assert all(key in subject._young or key in subject._old for key in hot)
    assert len(subject._young) + len(subject._old) <= 100
    subject.close()


def test_rows_written_while_iterating(tmp_path: Path) -> None:
    subject = TieredMap(str(tmp_path), MemoryPool(1000))
    for number in range(20):
        subject.put(b"%02d" % number, b"x")
    seen = []
    for key, _ in subject.range(b"05", b"15"):
        seen.append(key)
        subject.put(b"%03d" % (1000 - len(seen)), b"y")
        subject.put(key, b"y")
    assert seen == [b"%02d" % number for number in range(5, 15)]
    assert subject.get(b"05") == b"y"
    subject.close()


def test_all_stores_together_take_what_the_pool_has() -> None:
    pool = MemoryPool(800)  # in steps of 100
    first, second = pool.share(), pool.share()
    assert first.covers(750)
    assert not first.covers(801)
    assert second.covers(400)  # its fair part, at once
    assert not second.covers(401)
    first.settle(750)
    assert first.limit == 400  # gives the rest back
    second.settle(50)
    assert second.limit == 100
    assert first.covers(700)
    first.close()
    assert second.covers(800)


def test_what_a_dead_process_left_is_removed(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left, other = tmp_path / f"{dead.pid}-scratch-x", tmp_path / "other"
    left.mkdir()
    other.mkdir()
    scratch = Scratch(str(tmp_path))
    assert left.exists()
    own = Path(scratch.path())
    assert own.exists()
    assert not left.exists()
    scratch.remove()
    assert list(tmp_path.iterdir()) == [other]
