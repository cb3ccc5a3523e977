"""Operators that keep nothing: each looks at one record and forwards what becomes of it.

They pass timestamp and headers on untouched and never drop a null key or value by themselves. The task fuses chains of
them into one function (`millstream.task.fused`), so their `process` also defines what the fused code must do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from millstream.errors import StreamsError, describe_callable
from millstream.processors.context import TaskContext
from millstream.processors.operator import Operator
from millstream.records import Headers
from millstream.serdes.serde import shorten


class WrongResult(StreamsError, TypeError):
    """A user's function returned something of the wrong kind."""


class PassThrough(Operator):
    """Forwards every record; a merge, or the common end of a join."""

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        self.forward(key, value, timestamp, headers)


class Filter(Operator):
    """Keeps what the predicate accepts."""

    def __init__(self, predicate: Callable[[Any, Any], bool]) -> None:
        self.function = predicate

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        if self.function(key, value):
            self.forward(key, value, timestamp, headers)


class FilterNot(Operator):
    """Keeps what the predicate refuses."""

    def __init__(self, predicate: Callable[[Any, Any], bool]) -> None:
        self.function = predicate

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        if not self.function(key, value):
            self.forward(key, value, timestamp, headers)


class DropNullKeys(Operator):
    """Stands before a repartition topic: a null key belongs to no partition, so it goes no further (uncounted)."""

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        if key is not None:
            self.forward(key, value, timestamp, headers)


class SelectKey(Operator):
    """Gives every record a new key."""

    def __init__(self, mapper: Callable[[Any, Any], Any]) -> None:
        self.function = mapper

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        self.forward(self.function(key, value), value, timestamp, headers)


class Map(Operator):
    """Gives every record a new key and value."""

    def __init__(self, mapper: Callable[[Any, Any], tuple[Any, Any]]) -> None:
        self.function = mapper

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        pair = self.function(key, value)
        try:
            new_key, new_value = pair
        except (TypeError, ValueError) as error:
            raise not_a_pair(self.function, pair) from error
        self.forward(new_key, new_value, timestamp, headers)


class MapValues(Operator):
    """Gives every record a new value computed from the old one."""

    def __init__(self, mapper: Callable[[Any], Any]) -> None:
        self.function = mapper

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        self.forward(key, self.function(value), timestamp, headers)


class MapValuesWithKey(Operator):
    """Gives every record a new value computed from key and value."""

    def __init__(self, mapper: Callable[[Any, Any], Any]) -> None:
        self.function = mapper

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        self.forward(key, self.function(key, value), timestamp, headers)


class MapValuesInContext(Operator):
    """Gives every record a new value computed from all there is: `(key, value, timestamp, headers, task context)`."""

    def __init__(self, mapper: Callable[[Any, Any, int, Headers | None, TaskContext], Any]) -> None:
        self.function = mapper

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        self.forward(key, self.function(key, value, timestamp, headers, self.context), timestamp, headers)


class FlatMap(Operator):
    """Turns a record into any number of records."""

    def __init__(self, mapper: Callable[[Any, Any], Iterable[tuple[Any, Any]]]) -> None:
        self.function = mapper

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        pairs = self.function(key, value)
        if pairs is None:
            raise returned_nothing(self.function)
        forward = self.forward
        for pair in pairs:
            try:
                new_key, new_value = pair
            except (TypeError, ValueError) as error:
                raise not_pairs(self.function, pair) from error
            forward(new_key, new_value, timestamp, headers)


class FlatMapValues(Operator):
    """Turns a value into any number of values under the same key."""

    def __init__(self, mapper: Callable[[Any], Iterable[Any]]) -> None:
        self.function = mapper

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        values = self.function(value)
        if values is None:
            raise returned_nothing(self.function)
        forward = self.forward
        for new_value in values:
            forward(key, new_value, timestamp, headers)


class FlatMapValuesWithKey(Operator):
    """Turns a key and a value into any number of values under the same key."""

    def __init__(self, mapper: Callable[[Any, Any], Iterable[Any]]) -> None:
        self.function = mapper

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        values = self.function(key, value)
        if values is None:
            raise returned_nothing(self.function)
        forward = self.forward
        for new_value in values:
            forward(key, new_value, timestamp, headers)


class Peek(Operator):
    """Shows every record to an action and passes it on."""

    def __init__(self, action: Callable[[Any, Any], object]) -> None:
        self.function = action

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        self.function(key, value)
        self.forward(key, value, timestamp, headers)


class Foreach(Operator):
    """Ends a stream in an action."""

    def __init__(self, action: Callable[[Any, Any], object]) -> None:
        self.function = action

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        self.function(key, value)


class Print(Operator):
    """Ends a stream in lines of text: `[label]: key, value`."""

    def __init__(self, label: str, mapper: Callable[[Any, Any], str] | None, path: str | None) -> None:
        self._label = label
        self._mapper = mapper or (lambda key, value: f"{key}, {value}")
        self._path = path
        self._file: TextIO | None = None

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        line = f"[{self._label}]: {self._mapper(key, value)}"
        if self._path is None:
            print(line, file=sys.stdout)
            return
        if self._file is None:
            self._file = open(self._path, "a", encoding="utf-8")  # noqa: SIM115 - closed in close()
        print(line, file=self._file)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class Branch(Operator):
    """Sends each record to the child of the first predicate that accepts it, or to the default child."""

    children: dict[str, Callable[[Any, Any, int, Headers | None], None]]

    def __init__(self, branches: tuple[tuple[Callable[[Any, Any], bool], str], ...], default: str | None) -> None:
        self.branches = branches
        self.default = default

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        for predicate, child in self.branches:
            if predicate(key, value):
                self.children[child](key, value, timestamp, headers)
                return
        if self.default is not None:
            self.children[self.default](key, value, timestamp, headers)


def not_a_pair(function: Callable[..., Any], result: object) -> WrongResult:
    """The error for a mapper whose result cannot be taken apart."""
    return _no_pair(function, result, "a (key, value) tuple")


def not_pairs(function: Callable[..., Any], result: object) -> WrongResult:
    """The error for a flat mapper one of whose results cannot be taken apart."""
    return _no_pair(function, result, "an iterable of (key, value) tuples")


def _no_pair(function: Callable[..., Any], result: object, wanted: str) -> WrongResult:
    return WrongResult(
        f"{describe_callable(function)} must return {wanted}, not {shorten(result)}",
        hint="end it with `return key, value`; where only the value changes, use map_values or flat_map_values",
    )


def returned_nothing(function: Callable[..., Any]) -> WrongResult:
    """The error for a flat mapper that gave None instead of an iterable."""
    return WrongResult(
        f"{describe_callable(function)} must return an iterable, not None",
        hint="return a list, empty for no records, or write it with `yield`",
    )
