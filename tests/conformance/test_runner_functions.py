"""The function library of the case format."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.records import Window, Windowed
from millstream.testing.conformance.operators import functions

WINDOWED = Windowed("ab", Window(0, 10))


@pytest.mark.parametrize(("x", "expected"), [(None, None), ("a", "a"), (12, "12"), (WINDOWED, "ab@0/10"), ("", "")])
def test_text(x: Any, expected: str | None) -> None:
    assert functions.text(x) == expected


@pytest.mark.parametrize(
    ("name", "key", "value", "expected"),
    [
        ("true", None, None, True),
        ("false", "k", "v", False),
        ("not-null", None, "", True),
        ("not-null", "k", None, False),
        ("even-len", "k", "", True),
        ("even-len", "k", 12, True),
        ("even-len", "k", None, False),
        ("starts:a", "k", "ab", True),
        ("starts:a", "k", None, False),
        ("has:b:c", "k", "ab:cd", True),
        ("has:x", "k", None, False),
        ("num-even", "k", "a4", True),
        ("num-even", "k", "a5", False),
        ("num-even", "k", "", False),
        ("num-even", "k", 8, True),
        ("key-in:abc", "bz", "v", True),
        ("key-in:abc", "", "v", False),
        ("key-in:abc", None, "v", False),
        ("throw-if:x", "k", None, True),
    ],
)
def test_predicates(name: str, key: Any, value: Any, expected: bool) -> None:
    assert functions.predicate(name)(key, value) is expected


@pytest.mark.parametrize("library", [functions.predicate, functions.value_mapper])
def test_throw_if_raises(library: Any) -> None:
    with pytest.raises(RuntimeError, match="boom"):
        library("throw-if:x")("k", "axb")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("append:!", "a", "a!"),
        ("append:!", None, None),
        ("upper", "ab", "AB"),
        ("null-if:x", "x1", None),
        ("null-if:x", 7, "7"),
        ("const:c1", None, "c1"),
        ("str", 7, "7"),
        ("nvl:y", None, "y"),
        ("nvl:y", "v", "v"),
        ("len", "abc", "3"),
        ("len", None, None),
        ("kv", None, "k=null"),
        ("throw-if:x", "a", "a"),
    ],
)
def test_value_mappers(name: str, value: Any, expected: str | None) -> None:
    assert functions.value_mapper(name)("k", value) == expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("chars", "ab", ["a", "b"]),
        ("chars", None, []),
        ("dup", None, [None, None]),
        ("drop-empty", "", []),
        ("drop-empty", "a", ["a"]),
        ("pair", None, ["null1", "null2"]),
        ("kv-pair", None, ["k=null", None]),
        ("null-list", "a", None),
    ],
)
def test_flat_value_mappers(name: str, value: Any, expected: Any) -> None:
    assert functions.flat_value_mapper(name)("k", value) == expected


@pytest.mark.parametrize(
    ("name", "key", "value", "expected"),
    [
        ("first-char", "k", "ab", "a"),
        ("first-char", "k", "", None),
        ("second-char", "k", "ab", "b"),
        ("second-char", "k", "a", None),
        ("second-char", "k", None, None),
        ("value-as-key", "k", 3, "3"),
        ("mod-len:3", "k", "abcd", "1"),
        ("mod-len:3", "k", None, None),
        ("const:k:1", "a", "b", "k:1"),
        ("key-text", WINDOWED, "v", "ab@0/10"),
        ("key-only", WINDOWED, "v", "ab"),
        ("key-only", "k", "v", "k"),
        ("key-upper", "k", "v", "K"),
        ("key-upper", None, "v", None),
        ("null-if:x", "k", "x", None),
        ("null-if:x", "k", "v", "k"),
        ("null", "k", "v", None),
    ],
)
def test_key_mappers(name: str, key: Any, value: Any, expected: str | None) -> None:
    assert functions.key_mapper(name)(key, value) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("swap", ("xy", "k")),
        ("id", ("k", "xy")),
        ("rekey:mod-len:3", ("2", "xy")),
        ("rekey-kv:null-if:x", (None, "k=xy")),
        ("null-pair", None),
    ],
)
def test_pair_mappers(name: str, expected: Any) -> None:
    assert functions.pair_mapper(name)("k", "xy") == expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("chars", "ab", [("k", "a"), ("k", "b")]),
        ("char-keys", "ab", [("a", "ab"), ("b", "ab")]),
        ("char-keys", None, []),
        ("dup", None, [("k", None), ("k", None)]),
        ("none", "a", []),
        ("null-list", "a", None),
    ],
)
def test_flat_pair_mappers(name: str, value: Any, expected: Any) -> None:
    assert functions.flat_pair_mapper(name)("k", value) == expected


def test_joiners() -> None:
    assert functions.joiner("pair")("a", None) == "(a,null)"
    assert functions.joiner("null-if:x")("a", "x") is None
    assert functions.key_joiner("key-pair")("k", "a", 1) == "k:(a,1)"


@pytest.mark.parametrize(
    ("name", "value", "agg", "expected"),
    [
        ("concat", "v", "", "v;"),
        ("concat-key", None, "a", "ak=null;"),
        ("tag:L", "v", "a", "aLv;"),
        ("reset:x", "x", "a", None),
        ("reset:x", "v", None, "nullv;"),
        ("add", "v", "a", "a+v"),
        ("sub", "v", "a", "a-v"),
        ("sub-null:x", "xx", "a", None),
        ("sub-null:x", "v", "a", "a-v"),
    ],
)
def test_aggregators(name: str, value: Any, agg: Any, expected: str | None) -> None:
    assert functions.aggregator(name)("k", value, agg) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("bar", "a|b"), ("first", "a"), ("last", "b"), ("max", "b"), ("null-if:b", None), ("add", "a+b"), ("sub", "a-b")],
)
def test_reducers(name: str, expected: str | None) -> None:
    assert functions.reducer(name)("a", "b") == expected


def test_max_raises_on_null() -> None:
    with pytest.raises(TypeError):
        functions.reducer("max")("a", None)


def test_session_merger_and_initializer() -> None:
    assert functions.session_merger("k", functions.initializer(), "a;") == "(&a;)"


def test_unknown_functions_are_named() -> None:
    with pytest.raises(LookupError, match="no key mapper 'middle-char'"):
        functions.key_mapper("middle-char")
