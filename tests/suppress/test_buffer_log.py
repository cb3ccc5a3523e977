"""The buffer's log: its layout, and buffers rebuilt from it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import StateStoreError
from millstream.processors.suppress.layout import LoggedUpdate, decode, encode
from millstream.records import Headers
from millstream.serdes import Serdes

blocks = st.one_of(st.none(), st.binary(max_size=9))
times = st.integers(0, 2**63 - 1)
header_lists = st.lists(st.tuples(st.text(max_size=4), blocks), max_size=3)


@given(
    update=st.builds(
        LoggedUpdate,
        times,
        times,
        st.integers(-1, 2**63 - 1),
        st.integers(-1, 2**31 - 1),
        st.one_of(st.none(), st.text(max_size=6)),
        header_lists.map(lambda items: Headers(items) if items else None),
        blocks,
        blocks,
        blocks,
    )
)
def test_an_update_survives_the_log(update: LoggedUpdate) -> None:
    assert decode(encode(update)) == update


def test_an_old_value_equal_to_the_prior_one_is_logged_once() -> None:
    update = LoggedUpdate(1, 2, 3, 4, "t", None, b"p" * 100, b"p" * 100, b"n")
    assert len(encode(update)) < 200
    assert decode(encode(update)) == update


def test_an_unknown_version_is_refused() -> None:
    data = encode(LoggedUpdate(1, 2, 3, 4, "t", None, None, None, None))
    with pytest.raises(StateStoreError, match="unknown layout"):
        decode(b"\x09" + data[1:])


def test_a_key_that_came_and_went_is_logged_as_a_deletion(task: Any) -> None:
    run = task(5)
    run.feed("a", "1", None, 0)
    run.feed("b", "1", None, 4)
    run.feed("c", "1", None, 5)
    changes = run.buffer.take_changes()
    assert list(changes) == [b"a", b"b", b"c"]
    assert changes[b"a"] is None
    assert run.buffer.take_changes() == {}
    run.feed("b", "2", "1", 5)
    assert list(run.buffer.take_changes()) == [b"b"]


def test_without_logging_nothing_is_kept_for_the_log(task: Any) -> None:
    run = task(5, logging=False)
    run.feed("a", "1", None, 0)
    assert not run.buffer.logged
    assert run.buffer.take_changes() == {}


@pytest.mark.parametrize("value", [Serdes.string, Serdes.json])
def test_a_rebuilt_buffer_goes_on_where_the_first_stopped(task: Any, value: Any) -> None:
    first = task(10, value=value)
    headers = Headers([("h", b"1"), ("n", None)])
    log: dict[bytes, bytes | None] = {}
    first.feed("gone", "1", None, 0)
    log |= first.buffer.take_changes()
    first.feed("b", "1", "before", 7)
    first.feed("b", "2", "1", 8, headers)
    first.feed("a", "3", None, 7)
    assert first.feed("c", None, "4", 11)[0][0] == "gone"
    log |= first.buffer.take_changes()

    def end(run: Any) -> tuple[list[Any], list[Any]]:
        run.context.offset = 100
        return run.feed("z", "9", None, 100), run.origins

    by_log, by_snapshot = task(10, value=value), task(10, value=value)
    by_log.buffer.apply_changes(log.items())
    by_snapshot.buffer.apply_changes(first.buffer.snapshot())
    assert by_log.buffer.prior("b") == ("before",)
    assert by_log.buffer.take_changes() == {}
    assert by_log.buffer.size_in_bytes == first.buffer.size_in_bytes
    expected = end(first)
    assert [output[:2] for output in expected[0]] == [("a", "3"), ("b", "2"), ("c", None)]
    assert end(by_log) == expected
    assert end(by_snapshot) == expected
