"""Functions that an operator cannot call are refused when it is called, by name and line."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from millstream import (
    Branched,
    Consumed,
    Grouped,
    JoinWindows,
    Serdes,
    SessionWindows,
    StreamsBuilder,
    TimeWindows,
    TopologyError,
)

TEXT = Consumed(Serdes.string, Serdes.string)
DAY = timedelta(days=1)


def nobody(a: Any, b: Any, c: Any, d: Any, e: Any) -> None:
    """No operator gives five arguments."""


def two(a: Any, b: Any) -> Any:
    return a


def three(a: Any, b: Any, c: Any) -> Any:
    return a


def stream(builder: StreamsBuilder) -> Any:
    return builder.stream("in", TEXT)


def table(builder: StreamsBuilder) -> Any:
    return builder.table("table", TEXT)


def grouped(builder: StreamsBuilder) -> Any:
    return stream(builder).group_by_key()


def grouped_table(builder: StreamsBuilder) -> Any:
    return table(builder).group_by(lambda key, value: (value, key), Grouped(Serdes.string, Serdes.string))


def in_time(builder: StreamsBuilder) -> Any:
    return grouped(builder).windowed_by(TimeWindows.of_size(DAY))


def in_sessions(builder: StreamsBuilder) -> Any:
    return grouped(builder).windowed_by(SessionWindows.of_inactivity_gap(DAY))


def others(builder: StreamsBuilder) -> Any:
    return builder.stream("other", TEXT)


#: Every operator that takes a function: its name, what a call of it looks like, the parameters it gives.
CALLS: list[tuple[str, Callable[[StreamsBuilder, Any], object], str]] = [
    ("filter", lambda b, f: stream(b).filter(f), "(key, value)"),
    ("filter_not", lambda b, f: stream(b).filter_not(f), "(key, value)"),
    ("map", lambda b, f: stream(b).map(f), "(key, value)"),
    ("map_values", lambda b, f: stream(b).map_values(f), "(value) or (key, value)"),
    ("flat_map", lambda b, f: stream(b).flat_map(f), "(key, value)"),
    ("flat_map_values", lambda b, f: stream(b).flat_map_values(f), "(value) or (key, value)"),
    ("select_key", lambda b, f: stream(b).select_key(f), "(key, value)"),
    ("peek", lambda b, f: stream(b).peek(f), "(key, value)"),
    ("foreach", lambda b, f: stream(b).foreach(f), "(key, value)"),
    ("print", lambda b, f: stream(b).print(mapper=f), "(key, value)"),
    ("branch", lambda b, f: stream(b).split().branch(f), "(key, value)"),
    ("Branched(function=...)", lambda b, f: Branched(function=f), "(stream)"),
    ("Branched(consumer=...)", lambda b, f: Branched(consumer=f), "(stream)"),
    ("to", lambda b, f: stream(b).to(f), "(key, value, context)"),
    ("group_by", lambda b, f: stream(b).group_by(f), "(key, value)"),
    (
        "join",
        lambda b, f: stream(b).join(others(b), f, JoinWindows.of_time_difference(DAY)),
        "(left, right) or (key, left, right)",
    ),
    (
        "outer_join",
        lambda b, f: stream(b).outer_join(others(b), f, JoinWindows.of_time_difference(DAY)),
        "(left, right) or (key, left, right)",
    ),
    ("join", lambda b, f: stream(b).join(table(b), f), "(value, row) or (key, value, row)"),
    ("left_join", lambda b, f: stream(b).left_join(table(b), f), "(value, row) or (key, value, row)"),
    ("the key selector", lambda b, f: stream(b).join(b.global_table("g", TEXT), f, two), "(key, value)"),
    (
        "left_join",
        lambda b, f: stream(b).left_join(b.global_table("g", TEXT), two, f),
        "(value, row) or (key, value, row)",
    ),
    ("reduce", lambda b, f: grouped(b).reduce(f), "(aggregate, value)"),
    ("the initializer of aggregate", lambda b, f: grouped(b).aggregate(f, three), "()"),
    ("the aggregator of aggregate", lambda b, f: grouped(b).aggregate(list, f), "(key, value, aggregate)"),
    ("cogroup", lambda b, f: grouped(b).cogroup(f), "(key, value, aggregate)"),
    ("the initializer of aggregate", lambda b, f: grouped(b).cogroup(three).aggregate(f), "()"),
    ("reduce", lambda b, f: in_time(b).reduce(f), "(aggregate, value)"),
    ("the aggregator of aggregate", lambda b, f: in_time(b).aggregate(list, f), "(key, value, aggregate)"),
    ("reduce", lambda b, f: in_sessions(b).reduce(f), "(aggregate, value)"),
    ("the merger of aggregate", lambda b, f: in_sessions(b).aggregate(list, three, f), "(key, a, b)"),
    ("filter", lambda b, f: table(b).filter(f), "(key, value)"),
    ("filter_not", lambda b, f: table(b).filter_not(f), "(key, value)"),
    ("map_values", lambda b, f: table(b).map_values(f), "(value) or (key, value)"),
    ("select_key", lambda b, f: table(b).to_stream(f), "(key, value)"),
    ("group_by", lambda b, f: table(b).group_by(f), "(key, value)"),
    ("join", lambda b, f: table(b).join(b.table("t2", TEXT), f), "(left, right) or (key, left, right)"),
    ("outer_join", lambda b, f: table(b).outer_join(b.table("t2", TEXT), f), "(left, right) or (key, left, right)"),
    ("foreign_key", lambda b, f: table(b).join(b.table("t2", TEXT), two, foreign_key=f), "(value) or (key, value)"),
    ("join by foreign key", lambda b, f: table(b).join(b.table("t2", TEXT), f, foreign_key=two), "(left, right)"),
    ("the adder of reduce", lambda b, f: grouped_table(b).reduce(f, two), "(aggregate, value)"),
    ("the subtractor of reduce", lambda b, f: grouped_table(b).reduce(two, f), "(aggregate, value)"),
    ("the adder of aggregate", lambda b, f: grouped_table(b).aggregate(list, f, three), "(key, value, aggregate)"),
    ("the subtractor of aggregate", lambda b, f: grouped_table(b).aggregate(list, three, f), "(key, value, aggregate)"),
]


@pytest.mark.parametrize(
    ("operator", "use", "parameters"),
    [pytest.param(*call, id=f"{number} {call[0]}") for number, call in enumerate(CALLS)],
)
def test_a_function_of_the_wrong_arity_is_named(operator: str, use: Any, parameters: str) -> None:
    with pytest.raises(TopologyError) as raised:
        use(StreamsBuilder(), nobody)

    line = nobody.__code__.co_firstlineno
    assert raised.value.primary == f"{operator} cannot call nobody at test_arity_errors.py:{line}"
    assert raised.value.detail is not None
    assert raised.value.detail.startswith("the function takes (a: 'Any', b: 'Any', c: 'Any', d: 'Any', e: 'Any')")
    assert raised.value.hint == f"write it as {parameters}"


@pytest.mark.parametrize(
    ("operator", "use"),
    [
        pytest.param(operator, use, id=f"{number} {operator}")
        for number, (operator, use, _) in enumerate(CALLS)
        if operator != "to"  # takes a topic's name too
    ],
)
def test_what_is_no_function_is_refused(operator: str, use: Any) -> None:
    with pytest.raises(TopologyError) as raised:
        use(StreamsBuilder(), "no function")

    assert raised.value.primary == f"{operator} needs a function"
    assert raised.value.detail == "it was given 'no function'"
    assert raised.value.hint == "give a function or a lambda"
