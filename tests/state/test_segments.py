"""The binary format of changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import StateStoreError
from millstream.state import segments

CHANGES = st.dictionaries(st.binary(max_size=5), st.none() | st.binary(max_size=5), max_size=8)


@given(CHANGES)
def test_decode_gives_what_was_encoded(changes: dict[bytes, bytes | None]) -> None:
    assert segments.decode(segments.encode(changes)) == list(changes.items())
    assert segments.encode(list(changes.items())) == segments.encode(changes)


@given(st.lists(CHANGES, max_size=5))
def test_merging_keeps_the_last_write(batches: list[dict[bytes, bytes | None]]) -> None:
    merged: dict[bytes, bytes | None] = {}
    for batch in batches:
        merged.update(batch)
    encoded = [segments.encode(batch) for batch in batches]
    assert dict(segments.decode(segments.merge(encoded))) == merged
    live = {key: value for key, value in merged.items() if value is not None}
    assert dict(segments.decode(segments.merge(encoded, base=True))) == live


@given(CHANGES, st.data())
def test_what_is_not_whole_is_noticed(changes: dict[bytes, bytes | None], data: st.DataObject) -> None:
    segment = segments.encode(changes)
    with pytest.raises(StateStoreError):
        segments.decode(segment[: data.draw(st.integers(0, len(segment) - 1))])
    with pytest.raises(StateStoreError):
        segments.decode(segment + b"x")
    with pytest.raises(StateStoreError):
        segments.decode(b"X" + segment[1:])


def test_a_later_version_says_so() -> None:
    segment = bytearray(segments.encode({}))
    segment[4] = 9
    with pytest.raises(StateStoreError, match="version 9"):
        segments.decode(bytes(segment))


def test_the_format_stays() -> None:
    """What is on disk must be read by later releases: this is version 2."""
    stored = bytes.fromhex("4d5353470200000002000000020000000100000000000000010000000100000001000000ffffffff616231")
    assert segments.decode(stored) == [(b"a", b"1"), (b"b", None)]
    assert segments.encode({b"a": b"1", b"b": None}) == stored
