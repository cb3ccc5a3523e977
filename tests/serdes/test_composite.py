"""Lists, windowed keys and table updates: serdes around serdes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import ArgumentError, SerdeError
from millstream.records import MAX_TIMESTAMP, Window, Windowed
from millstream.serdes import ChangeSerde, Serde, Serdes, SessionWindowedSerde, TimeWindowedSerde
from millstream.serdes.change import read_varint, write_varint


class ByTopic(Serde[str]):
    """Like a serde with a schema registry: another one for each topic."""

    def __init__(self, prefix: str = "") -> None:
        super().__init__(lambda text: (prefix + text).encode(), bytes.decode, name="by-topic")

    def for_topic(self, topic: str, is_key: bool) -> Serde[str]:
        return ByTopic(f"{topic}{'!' if is_key else '?'}")


def long(number: int) -> bytes:
    return number.to_bytes(8, "big", signed=True)


def integer(number: int) -> bytes:
    return number.to_bytes(4, "big", signed=True)


class TestLists:
    def test_variable_size(self) -> None:
        serde = Serdes.list_of(Serdes.string)
        entries: Any = ["ab", None, ""]
        data = b"\x01" + integer(3) + integer(2) + b"ab" + integer(-1) + integer(0)
        assert serde.serialize(entries) == data
        assert serde.deserialize(data) == entries

    def test_fixed_size(self) -> None:
        serde = Serdes.list_of(Serdes.short)
        entries: Any = [1, None, 2]
        data = b"\x00" + integer(1) + integer(1) + integer(3) + b"\x00\x01\x00\x02"
        assert serde.serialize(entries) == data
        assert serde.deserialize(data) == entries

    @given(st.lists(st.lists(st.one_of(st.none(), st.integers(-100, 100)))))
    def test_nested(self, entries: list[list[int]]) -> None:
        serde = Serdes.list_of(Serdes.list_of(Serdes.long))
        assert serde.deserialize(serde.serialize(entries)) == entries

    @pytest.mark.parametrize(
        "data", [b"", b"\x02", b"\x01\x00", b"\x01" + integer(1) + integer(9) + b"x", b"\x00" + integer(0)]
    )
    def test_damaged(self, data: bytes) -> None:
        with pytest.raises(SerdeError, match=r"no such list|cannot read"):
            Serdes.list_of(Serdes.string).deserialize(data)
        with pytest.raises(SerdeError, match=r"no such list|cannot read"):
            Serdes.list_of(Serdes.long).deserialize(data)

    def test_for_topic(self) -> None:
        assert Serdes.list_of(ByTopic()).for_topic("t", False).serialize(["x"]).endswith(b"t?x")
        plain = Serdes.list_of(Serdes.string)
        assert plain.for_topic("t", False) is plain


class TestWindowed:
    def test_time(self) -> None:
        serde = Serdes.time_windowed(Serdes.string, timedelta(seconds=1))
        key = Windowed("eu", Window(5000, 6000))
        assert serde.serialize(key) == b"eu" + long(5000)
        assert serde.deserialize(b"eu" + long(5000)) == key
        assert isinstance(serde, TimeWindowedSerde)
        assert serde.inner is Serdes.string

    def test_time_of_unknown_size_ends_at_the_end_of_time(self) -> None:
        data = Serdes.windowed_string.serialize(Windowed("eu", Window(5, 10)))
        assert Serdes.windowed_string.deserialize(data) == Windowed("eu", Window(5, MAX_TIMESTAMP))

    def test_the_end_does_not_overflow(self) -> None:
        serde = Serdes.time_windowed(Serdes.string, timedelta(days=1))
        assert serde.deserialize(b"k" + long(MAX_TIMESTAMP - 1)).window.end == MAX_TIMESTAMP

    def test_session(self) -> None:
        key = Windowed("eu", Window(5, 10))
        assert Serdes.session_windowed_string.serialize(key) == b"eu" + long(10) + long(5)
        assert Serdes.session_windowed_string.deserialize(b"eu" + long(10) + long(5)) == key

    def test_hashable_only_when_the_bytes_hold_the_whole_window(self) -> None:
        assert Serdes.session_windowed(Serdes.string).hashable
        assert not Serdes.session_windowed(Serdes.json).hashable
        assert not Serdes.windowed_string.hashable

    @pytest.mark.parametrize("serde", [Serdes.windowed_string, Serdes.session_windowed_string])
    @pytest.mark.parametrize("key", ["eu", "ab", 5, ("eu", None)])
    def test_a_key_without_a_window(self, serde: Serde[Any], key: object) -> None:
        with pytest.raises(SerdeError, match="it takes a windowed key"):
            serde.serialize(key)

    @pytest.mark.parametrize("serde", [Serdes.windowed_string, Serdes.session_windowed_string])
    def test_a_key_of_the_wrong_type(self, serde: Serde[Any]) -> None:
        with pytest.raises(SerdeError, match="the string serde cannot write a value of type int"):
            serde.serialize(Windowed(5, Window(0, 1)))

    @pytest.mark.parametrize("serde", [Serdes.windowed_string, Serdes.session_windowed_string])
    @pytest.mark.parametrize("data", [b"", b"eu", b"1234567"])
    def test_too_short(self, serde: Serde[Any], data: bytes) -> None:
        with pytest.raises(SerdeError, match="the window alone has"):
            serde.deserialize(data)

    def test_size(self) -> None:
        with pytest.raises(ArgumentError, match="a window's size must be at least 1 ms"):
            Serdes.time_windowed(Serdes.string, timedelta(0))

    def test_for_topic(self) -> None:
        key = Windowed("k", Window(0, 1))
        for serde in (TimeWindowedSerde(ByTopic(), 1), SessionWindowedSerde(ByTopic())):
            assert serde.for_topic("t", True).serialize(key).startswith(b"t!k")
        assert Serdes.windowed_string.for_topic("t", True) is Serdes.windowed_string


class TestChange:
    serde = ChangeSerde(Serdes.string)

    @pytest.mark.parametrize(
        ("change", "data"),
        [
            (("new", None, True), b"new\x01"),
            ((None, "old", True), b"old\x00"),
            (("new", "older", True), b"\x06newolder\x02"),
            (("", "", True), b"\x00\x02"),
        ],
    )
    def test_layout(self, change: Any, data: bytes) -> None:
        assert self.serde.serialize(change) == data
        assert self.serde.deserialize(data) == change

    @given(st.text(max_size=300), st.text(max_size=5))
    def test_round_trip(self, new: str, old: str) -> None:
        assert self.serde.deserialize(self.serde.serialize((new, old, True))) == (new, old, True)

    def test_whether_it_is_the_latest_is_not_written(self) -> None:
        assert self.serde.serialize(("a", None, False)) == b"a\x01"

    def test_forms_of_later_versions_are_read(self) -> None:
        assert self.serde.deserialize(b"old\x00\x03") == (None, "old", False)
        assert self.serde.deserialize(b"new\x01\x04") == ("new", None, True)
        assert self.serde.deserialize(b"\x02no\x00\x05") == ("n", "o", False)

    def test_nothing_to_write(self) -> None:
        with pytest.raises(SerdeError, match="neither a new nor an old value"):
            self.serde.serialize((None, None, True))

    @pytest.mark.parametrize(
        "data", [b"", b"x\x06", b"\x04", b"x\x07\x03", b"\x40a\x02", b"\x01\x02", b"\xff" * 6 + b"\x02"]
    )
    def test_damaged(self, data: bytes) -> None:
        with pytest.raises(SerdeError, match=r"no update of a table|varint"):
            self.serde.deserialize(data)

    @given(st.integers(-(2**31), 2**31 - 1))
    def test_varint(self, number: int) -> None:
        data = write_varint(number)
        assert read_varint(data + b"rest") == (number, len(data))

    def test_for_topic(self) -> None:
        assert ChangeSerde(ByTopic()).for_topic("t", False).serialize(("x", None, True)) == b"t?x\x01"
        assert self.serde.for_topic("t", False) is self.serde
