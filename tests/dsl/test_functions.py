"""The functions users give: value-only or key-first, and all the forms a callable has in Python."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import timedelta
from functools import partial, wraps
from typing import Any

import pytest

from millstream import Consumed, JoinWindows, KStream, Materialized, Produced, Serdes, StreamsBuilder, TopologyError
from millstream.dsl.functions import takes_key
from millstream.testing import TopologyTestDriver

TEXT = Consumed(Serdes.string, Serdes.string)
OUT = Produced(Serdes.string, Serdes.string)


class Suffix:
    """A callable object, and one with a method to call."""

    def __init__(self, suffix: str) -> None:
        self.suffix = suffix

    def __call__(self, value: str) -> str:
        return value + self.suffix

    def with_key(self, key: str, value: str) -> str:
        return f"{key}:{value}{self.suffix}"

    @staticmethod
    def twice(value: str) -> str:
        return value * 2

    @classmethod
    def named(cls, value: str) -> str:
        return f"{cls.__name__} {value}"


class Shout:
    """A class as a function: its instances are the values."""

    def __init__(self, value: str) -> None:
        self.text = value.upper()

    def __str__(self) -> str:
        return self.text


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator, which passes on whatever it gets."""

    @wraps(function)
    def wrapper(*args: Any, **options: Any) -> Any:
        return function(*args, **options)

    return wrapper


@counted
def decorated(key: str, value: str) -> str:
    return f"{key}+{value}"


def with_default(value: str, suffix: str = "?") -> str:
    return value + suffix


def with_keyword(value: str, *, suffix: str = "!") -> str:
    return value + suffix


def three(first: str, key: str, value: str) -> str:
    return first + key + value


@pytest.mark.parametrize(
    ("mapper", "expected"),
    [
        pytest.param(lambda value: value + ".", "v.", id="value"),
        pytest.param(lambda key, value: key + value, "kv", id="key and value"),
        pytest.param(str.upper, "V", id="method of a type"),
        pytest.param(len, 1, id="built-in"),
        pytest.param(str, "v", id="type that hides its signature"),
        pytest.param(Shout, "V", id="class"),
        pytest.param(Suffix("!"), "v!", id="callable object"),
        pytest.param(Suffix("!").with_key, "k:v!", id="bound method"),
        pytest.param(Suffix.twice, "vv", id="static method"),
        pytest.param(Suffix.named, "Suffix v", id="class method"),
        pytest.param(partial(operator.add, "0"), "0v", id="partial of a built-in"),
        pytest.param(partial(three, ">"), ">kv", id="partial that leaves two"),
        pytest.param(partial(with_default, suffix="."), "v.", id="partial with a keyword"),
        pytest.param(with_default, "v?", id="default argument"),
        pytest.param(with_keyword, "v!", id="keyword-only argument"),
        pytest.param(lambda *values: len(values), 1, id="any number of arguments"),
        pytest.param(decorated, "k+v", id="decorated"),
    ],
)
def test_map_values_takes_any_callable(mapper: Any, expected: object) -> None:
    builder = StreamsBuilder()
    seen: list[object] = []
    builder.stream("in", TEXT).map_values(mapper).foreach(lambda key, value: seen.append(value))
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", Serdes.string, Serdes.string).pipe("k", "v")

    assert [str(value) if isinstance(value, Shout) else value for value in seen] == [expected]


def test_flat_map_values_with_and_without_key(texts: KStream[str, str], run: Any) -> None:
    texts.flat_map_values(str.split).to("out", OUT)
    texts.flat_map_values(lambda key, value: [key, value]).to("out", OUT)

    assert run([("in", "k", "a b")]) == [("k", "a"), ("k", "b"), ("k", "k"), ("k", "a b")]


def test_a_flat_mapper_may_be_a_generator(texts: KStream[str, str], run: Any) -> None:
    def swapped(key: str, value: str) -> Any:
        yield value, key
        yield key, value

    texts.flat_map(swapped).to("out", OUT)

    assert run([("in", "k", "v")]) == [("v", "k"), ("k", "v")]


def test_joiners_of_tables_with_and_without_key(builder: StreamsBuilder, run: Any) -> None:
    left, right = builder.table("left", TEXT), builder.table("right", TEXT)
    left.join(right, operator.add).to_stream().to("out", OUT)
    left.left_join(right, lambda key, one, two: f"{key}={one}{two}").to_stream().to("out", OUT)

    records = [("right", "k", "r"), ("left", "k", "l")]
    assert run(records) == [("k", "lr"), ("k", "k=lr")]


def test_joiners_of_a_stream_and_a_table_with_and_without_key(
    builder: StreamsBuilder, texts: KStream[str, str], run: Any
) -> None:
    table = builder.table("table", TEXT)
    texts.join(table, operator.add).to("out", OUT)
    texts.left_join(table, lambda key, value, row: f"{key}={value}{row}").to("out", OUT)

    assert run([("table", "k", "r"), ("in", "k", "v")]) == [("k", "vr"), ("k", "k=vr")]


def test_joiners_of_streams_with_and_without_key(builder: StreamsBuilder, texts: KStream[str, str], run: Any) -> None:
    other = builder.stream("other", TEXT)
    windows = JoinWindows.of_time_difference(timedelta(seconds=1))
    texts.join(other, operator.add, windows).to("out", OUT)
    texts.join(other, lambda key, one, two: f"{key}={one}{two}", windows).to("out", OUT)

    assert run([("other", "k", "o"), ("in", "k", "v")]) == [("k", "vo"), ("k", "k=vo")]


def test_joiners_of_a_stream_and_a_global_table_with_and_without_key(
    builder: StreamsBuilder, texts: KStream[str, str], run: Any
) -> None:
    table = builder.global_table("table", TEXT)
    texts.join(table, lambda key, value: value, lambda value, row: value + row).to("out", OUT)
    texts.left_join(table, lambda key, value: value, lambda key, value, row: f"{key}={row}", name="left").to("out", OUT)

    assert run([("table", "v", "r"), ("in", "k", "v")]) == [("k", "vr"), ("k", "k=r")]


def test_a_foreign_key_of_value_or_key_and_value(builder: StreamsBuilder, run: Any) -> None:
    left, right = builder.table("left", TEXT), builder.table("right", TEXT)
    kept = Materialized(value=Serdes.string)
    left.join(right, operator.add, kept, foreign_key=lambda value: value).to_stream().to("out", OUT)
    left.join(right, operator.add, kept, foreign_key=lambda key, value: key[:1]).to_stream().to("out", OUT)

    assert run([("right", "a", "1"), ("right", "b", "2"), ("left", "ab", "b")]) == [("ab", "b2"), ("ab", "b1")]


def test_aggregations_take_operators_and_types(texts: KStream[str, str], run: Any) -> None:
    texts.group_by_key().reduce(max).to_stream().to("out", OUT)
    kept = Materialized("sets", value=Serdes.json)
    texts.group_by_key().aggregate(list, lambda key, value, kept: [*kept, value], kept)

    assert run([("in", "k", "a"), ("in", "k", "c"), ("in", "k", "b")]) == [("k", "a"), ("k", "c"), ("k", "c")]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda value: value, False),
        (lambda key, value: value, True),
        (lambda value, more=1: value, False),
        (lambda *values: values, False),
        (print, False),
        (int, False),
    ],
)
def test_what_can_be_called_without_the_key_gets_none(function: Any, expected: bool) -> None:
    assert takes_key(function, "map_values", "value") is expected


def test_a_function_with_a_required_keyword_fits_nowhere() -> None:
    with pytest.raises(TopologyError, match="cannot call"):
        takes_key(lambda value, *, how: value, "map_values", "value")
