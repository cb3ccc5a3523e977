"""Fused operators do what the operators do one by one."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.config import StreamsConfig
from millstream.errors import ProcessingError
from millstream.handlers import LogAndContinueProcessingExceptionHandler
from millstream.processors.context import TaskContext
from millstream.processors.operator import Operator
from millstream.processors.stateless import (
    Branch,
    DropNullKeys,
    Filter,
    FilterNot,
    FlatMap,
    FlatMapValues,
    FlatMapValuesWithKey,
    Foreach,
    Map,
    MapValues,
    MapValuesInContext,
    MapValuesWithKey,
    PassThrough,
    Peek,
    SelectKey,
)
from millstream.processors.tables.to_stream import TableToStream
from millstream.serdes import Serdes
from millstream.task.records import RawRecord
from millstream.task.task import Task
from millstream.topology.topology import Topology

TEXT: dict[str, Any] = {"key": Serdes.string, "value": Serdes.string}
FUSED = StreamsConfig(application_id="app")
ONE_BY_ONE = StreamsConfig(
    application_id="app", processing_exception_handler=LogAndContinueProcessingExceptionHandler()
)
RECORDS: list[RawRecord] = [(b"a", b"aa", 3, None, 0), (None, b"b", 4, [("h", b"1")], 1), (b"c", b"cab", 5, None, 2)]


class Told:
    """A function that writes down its name and arguments before it answers."""

    def __init__(self, log: list[Any], name: str, function: Callable[..., Any]) -> None:
        self._log = log
        self._name = name
        self._function = function

    def __call__(self, *arguments: Any) -> Any:
        self._log.append((self._name, *(one for one in arguments if not isinstance(one, TaskContext))))
        return self._function(*arguments)


class Opaque(Operator):
    """An operator that cannot be fused."""

    def process(self, key: Any, value: Any, timestamp: int, headers: Any) -> None:
        self.forward(key, value, timestamp + 1, headers)


#: An operator's class, and its function; None: it has none.
KINDS: dict[str, tuple[Callable[..., Operator], Callable[..., Any] | None]] = {
    "pass": (PassThrough, None),
    "filter": (Filter, lambda key, value: "a" in value),
    "filter-not": (FilterNot, lambda key, value: "b" in value),
    "drop": (DropNullKeys, None),
    "select": (SelectKey, lambda key, value: None if value == "b" else value[-1]),
    "map": (Map, lambda key, value: (value, f"{key}{value}")),
    "map-values": (MapValues, lambda value: value + "!"),
    "map-values-key": (MapValuesWithKey, lambda key, value: f"{key}.{value}"),
    "map-in-context": (
        MapValuesInContext,
        lambda key, value, timestamp, headers, context: f"{value}{timestamp}{headers}{context.offset}",
    ),
    "flat-map": (FlatMap, lambda key, value: [(key, value), (value, "x")]),
    "flat-map-values": (FlatMapValues, lambda value: list(value[:2])),
    "flat-map-values-key": (FlatMapValuesWithKey, lambda key, value: iter((value, f"{key}"))),
    "peek": (Peek, lambda key, value: None),
    "foreach": (Foreach, lambda key, value: None),
    "first": (TableToStream, None),
    "opaque": (Opaque, None),
}


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[str, str, tuple[int, ...]]]:
    """Kinds of nodes, each with the numbers of its parents among those before it (0 is the source)."""
    nodes: list[tuple[str, str, tuple[int, ...]]] = []
    for number in range(1, draw(st.integers(1, 14)) + 1):
        kind = draw(st.sampled_from([*KINDS, "sink", "sink", "branch"]))
        candidates = [
            0,
            *(index for index, node in enumerate(nodes, 1) if node[0] not in ("sink", "foreach", "branch")),
        ]
        parents = draw(st.lists(st.sampled_from(candidates), min_size=1, max_size=2, unique=True))
        nodes.append((kind, f"n{number}", tuple(parents)))
    return nodes


def build(nodes: list[tuple[str, str, tuple[int, ...]]], log: list[Any]) -> Topology:
    topology = Topology().add_source("n0", "in", **TEXT)
    for kind, name, parents in nodes:
        above = [f"n{parent}" for parent in parents]
        if kind == "sink":
            topology.add_sink(name, f"out-{name}", *above, **TEXT)
        elif kind == "branch":
            tests = [Told(log, f"{name}-{letter}", partial(_has, letter)) for letter in "ac"]
            ends = [f"{name}-a", f"{name}-c", f"{name}-rest"]
            topology.add_operator(name, partial(Branch, tuple(zip(tests, ends[:2], strict=True)), ends[2]), *above)
            for end in ends[:2]:
                topology.add_sink(end, end, name, **TEXT)
            topology.add_operator(ends[2], partial(Peek, Told(log, ends[2], lambda key, value: None)), name)
        else:
            operator, function = KINDS[kind]
            factory = operator if function is None else partial(operator, Told(log, name, function))
            topology.add_operator(name, factory, *above)
    return topology


def _has(letter: str, key: Any, value: str) -> bool:
    return letter in value


def outcome(nodes: list[tuple[str, str, tuple[int, ...]]], config: StreamsConfig) -> tuple[list[Any], list[Any]]:
    log: list[Any] = []
    task = Task(build(nodes, log), config)
    task.add_records("in", 0, RECORDS)
    task.process_all()
    return task.take_outputs(), log


@settings(max_examples=150, deadline=None)
@given(trees())
def test_fused_operators_do_the_same_in_the_same_order(nodes: list[tuple[str, str, tuple[int, ...]]]) -> None:
    assert outcome(nodes, FUSED) == outcome(nodes, ONE_BY_ONE)


@pytest.mark.parametrize("kind", ["filter", "flat-map-values", "map", "pass"])
def test_long_chains_are_cut(kind: str) -> None:
    """Python allows neither more than 20 loops in each other, nor more than 100 levels of indentation."""
    nodes: list[tuple[str, str, tuple[int, ...]]] = [
        (kind if kind != "map" or number < 9 else "map-values", f"n{number}", (number - 1,)) for number in range(1, 120)
    ]
    nodes.append(("sink", "n120", (119,)))
    fused = outcome(nodes, FUSED)
    assert fused == outcome(nodes, ONE_BY_ONE)
    assert fused[0]


def test_many_merges_do_not_multiply_the_code() -> None:
    nodes: list[tuple[str, str, tuple[int, ...]]] = []
    for _ in range(12):
        last = len(nodes)
        nodes += [("filter", f"n{last + 1}", (last,)), ("filter-not", f"n{last + 2}", (last,))]
        nodes.append(("pass", f"n{last + 3}", (last + 1, last + 2)))
    assert outcome(nodes, FUSED) == outcome(nodes, ONE_BY_ONE)


def failing(value: str) -> str:
    raise ValueError(f"bad {value}")


def failed(*nodes: tuple[str, Callable[[], Operator]]) -> ProcessingError:
    topology, last = Topology().add_source("source", "in", **TEXT), "source"
    for name, factory in nodes:
        topology.add_operator(name, factory, last)
        last = name
    task = Task(topology, FUSED)
    task.add_records("in", 0, RECORDS)
    with pytest.raises(ProcessingError) as raised:
        task.process_all()
    return raised.value


def test_an_error_names_the_node_and_the_users_function() -> None:
    error = failed(
        ("first", PassThrough),
        ("second", partial(Filter, lambda key, value: True)),
        ("third", partial(MapValues, failing)),
        ("fourth", partial(Peek, lambda key, value: None)),
    )
    line = failing.__code__.co_firstlineno + 1
    assert error.detail is not None
    assert "node 'third' of task 0_0, at topic 'in', partition 0, offset 0" in error.detail
    assert f"raised by failing at test_fused.py:{line}: ValueError: bad aa" in error.detail


def test_a_function_without_a_frame_of_its_own_is_found_by_its_node() -> None:
    error = failed(("first", PassThrough), ("number", partial(MapValues, int)))
    assert error.detail is not None
    assert error.detail.startswith("node 'number' of task 0_0")
    assert "raised by" not in error.detail


def test_an_error_below_a_fused_function_is_found_there() -> None:
    class Broken(Operator):
        def process(self, key: Any, value: Any, timestamp: int, headers: Any) -> None:
            raise KeyError("gone")

    error = failed(("first", PassThrough), ("second", partial(Peek, lambda key, value: None)), ("broken", Broken))
    assert error.detail is not None
    assert error.detail.startswith("node 'broken' of task 0_0")


@pytest.mark.parametrize(
    ("mapper", "function", "message"),
    [
        (
            Map,
            lambda key, value: 3,
            r"<lambda> at test_fused.py:\d+ must return a \(key, value\) tuple, not 3",
        ),
        (Map, lambda key, value: (key, value, 1), r"must return a \(key, value\) tuple, not \('a', .*, 1\)"),
        (FlatMap, lambda key, value: [key, 5], r"must return an iterable of \(key, value\) tuples, not 'a'"),
        (FlatMap, lambda key, value: None, r"<lambda> at test_fused.py:\d+ must return an iterable, not None"),
        (
            FlatMapValues,
            lambda value: None,
            r"<lambda> at test_fused.py:\d+ must return an iterable, not None",
        ),
    ],
)
def test_bad_results_of_mappers_are_explained(
    mapper: Callable[[Any], Operator], function: Callable[..., Any], message: str
) -> None:
    error = failed(("before", PassThrough), ("mapper", partial(mapper, function)), ("after", PassThrough))
    with pytest.raises(TypeError, match=message):
        raise error.__cause__  # type: ignore[misc]
    assert error.detail is not None
    assert error.detail.startswith("node 'mapper' of task 0_0")
    assert re.search(message, error.detail)
    assert error.hint is not None
    assert "handle it" not in error.hint


def test_a_traceback_shows_what_was_called() -> None:
    error = failed(("first", PassThrough), ("numbers", partial(MapValues, failing)))
    text = "".join(traceback.format_exception(error))
    assert "(value)  # numbers" in text
    assert 'File "<millstream first ' in text
