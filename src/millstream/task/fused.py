"""Trees of stateless operators as one function each.

A record that passes a filter, a mapper and a sink would be handed on by three calls that do nothing else. So the task
writes a function of the whole tree, with the user's functions and the sinks' serdes in its namespace:

    def forward(key, value, timestamp, headers):
        if f0(key, value):  # KSTREAM-FILTER-0000000001
            value1 = f1(value)  # KSTREAM-MAPVALUES-0000000002
            p2(key, value1, timestamp, headers)  # KSTREAM-AGGREGATE-0000000004

What it does is what the operators' `process` does (`millstream.processors.stateless`, `aggregate`). Other operators are
called, and so are those with several parents, which have a function of their own.

A traceback shows these lines. The namespace tells which node a line belongs to, under `NODES`, and at which lines
records enter nodes, under `ENTRIES`.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import blake2b
from types import CodeType
from typing import Any, Final

from millstream.processors import stateless
from millstream.processors.aggregate import NULL, StreamAggregate
from millstream.processors.operator import Forward, Operator, forward_to_nobody
from millstream.processors.tables.to_stream import TableToStream
from millstream.records import Record
from millstream.task.errors.failures import ENTRIES, GENERATED, NODES
from millstream.task.sink import SinkOperator
from millstream.topology.nodes import Node

#: How deep blocks may be nested; Python allows 20 loops.
_MAX_DEPTH: Final = 12


class Fuser:
    """Makes the functions of one task.

    Args:
        nodes: the task's nodes, by name.
        operators: the task's operators, by name.
    """

    def __init__(self, nodes: Mapping[str, Node], operators: Mapping[str, Operator]) -> None:
        self._nodes = nodes
        self.operators = operators
        self._entries: dict[str, Forward] = {}

    def children(self, name: str) -> list[str]:
        """The children of a node that are in this task, in the order they were attached."""
        return [child for child in self._nodes[name].children if child in self.operators]

    def is_fused(self, name: str) -> bool:
        """Whether a node's work, and what is below it, is written into functions: its operator is not called."""
        return type(self.operators[name]) in _WRITERS

    def can_inline(self, name: str) -> bool:
        """Whether a node's work can be written into its parent's function."""
        operator = self.operators[name]
        if isinstance(operator, SinkOperator):
            return operator.plain_topic is not None
        return (self.is_fused(name) or type(operator) in _LEAVES) and len(self._nodes[name].parents) == 1

    def entry(self, name: str) -> Forward:
        """What handles a record for a node, and for all below that are fused with it."""
        found = self._entries.get(name)
        if found is None:
            found = self.operators[name].process
            if self.is_fused(name):
                found = self._function(name, lambda lines: lines.inline(name, "key", "value", 1))
            self._entries[name] = found
        return found

    def forward(self, name: str) -> Forward:
        """What hands a record to all children of a node."""
        children = self.children(name)
        if len(children) == 1:
            return self.entry(children[0])
        return self._function(name, lambda lines: lines.children(name, "key", "value", 1))

    def _function(self, name: str, write: Callable[[_Lines], None]) -> Forward:
        lines = _Lines(self)
        write(lines)
        return lines.compile(name)


class _Lines:
    """The lines of a function, and what they refer to."""

    def __init__(self, fuser: Fuser) -> None:
        self._fuser = fuser
        self._lines = ["def forward(key, value, timestamp, headers):"]
        self._nodes: dict[int, str] = {}
        self._entries: dict[int, list[tuple[str, str, str]]] = {}
        self._namespace: dict[str, Any] = {NODES: self._nodes, ENTRIES: self._entries}
        self._names = 0

    def add(self, depth: int, text: str, node: str) -> None:
        """Write a line that belongs to a node."""
        self._lines.append(f"{'    ' * depth}{text}  # {node}")
        self._nodes[len(self._lines)] = node

    def new(self, prefix: str) -> str:
        """A name that is not used yet."""
        self._names += 1
        return f"{prefix}{self._names}"

    def bind(self, prefix: str, thing: Any) -> str:
        """A new name for a thing."""
        name = self.new(prefix)
        self._namespace[name] = thing
        return name

    def children(self, name: str, key: str, value: str, depth: int) -> None:
        """Write what the children of a node do, one after another."""
        for child in self._fuser.children(name):
            self.child(child, key, value, depth)

    def child(self, name: str, key: str, value: str, depth: int) -> None:
        """Write what a node does, or a call of it."""
        if depth <= _MAX_DEPTH and self._fuser.can_inline(name):
            self.inline(name, key, value, depth)
        else:
            self.add(depth, f"{self.bind('p', self._fuser.entry(name))}({key}, {value}, timestamp, headers)", name)

    def inline(self, name: str, key: str, value: str, depth: int) -> None:
        """Write what a node and its children do."""
        operator = self._fuser.operators[name]
        write = _WRITERS.get(type(operator)) or _LEAVES[type(operator)]
        first = len(self._lines) + 1
        write(self, name, operator, key, value, depth)
        if len(self._lines) >= first:
            self._entries.setdefault(first, []).append((name, key, value))

    def block(self, head: str, name: str, key: str, value: str, depth: int, child: str | None = None) -> None:
        """Write a compound statement whose body is what the children of a node do, or one of them."""
        self.add(depth, head, name)
        before = len(self._lines)
        if child is None:
            self.children(name, key, value, depth + 1)
        else:
            self.child(child, key, value, depth + 1)
        if len(self._lines) == before:
            self.add(depth + 1, "pass", name)

    def compile(self, name: str) -> Forward:
        """The function."""
        if len(self._lines) == 1:
            return forward_to_nobody
        source = "\n".join(self._lines) + "\n"
        exec(_compiled(source, name), self._namespace)  # noqa: S102 - it is made of names and templates only
        forward: Forward = self._namespace["forward"]
        return forward


@lru_cache(maxsize=4096)
def _compiled(source: str, name: str) -> CodeType:
    """The code of a function; tasks of one topology share it."""
    digest = blake2b(source.encode(), digest_size=4).hexdigest()
    file = f"{GENERATED}{name} {digest}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    return compile(source, file, "exec")


# --- one function for each kind of operator

_Writer = Callable[[_Lines, str, Any, str, str, int], None]


def _pass_through(lines: _Lines, name: str, operator: Any, key: str, value: str, depth: int) -> None:
    lines.children(name, key, value, depth)


def _filter(lines: _Lines, name: str, operator: Any, key: str, value: str, depth: int) -> None:
    lines.block(f"if {lines.bind('f', operator.function)}({key}, {value}):", name, key, value, depth)


def _filter_not(lines: _Lines, name: str, operator: Any, key: str, value: str, depth: int) -> None:
    lines.block(f"if not {lines.bind('f', operator.function)}({key}, {value}):", name, key, value, depth)


def _drop_null_keys(lines: _Lines, name: str, operator: Any, key: str, value: str, depth: int) -> None:
    lines.block(f"if {key} is not None:", name, key, value, depth)


def _select_key(lines: _Lines, name: str, operator: Any, key: str, value: str, depth: int) -> None:
    new = lines.new("key")
    lines.add(depth, f"{new} = {lines.bind('f', operator.function)}({key}, {value})", name)
    lines.children(name, new, value, depth)


def _map(lines: _Lines, name: str, operator: Any, key: str, value: str, depth: int) -> None:
    function, error = lines.bind("f", operator.function), lines.bind("e", stateless.not_a_pair)
    pair, new_key, new_value = lines.new("pair"), lines.new("key"), lines.new("value")
    lines.add(depth, f"{pair} = {function}({key}, {value})", name)
    _take_apart(lines, name, pair, (new_key, new_value), f"{error}({function}, {pair})", depth)
    lines.children(name, new_key, new_value, depth)


def _map_values(lines: _Lines, name: str, operator: Any, key: str, value: str, depth: int) -> None:
    new = lines.new("value")
    lines.add(depth, f"{new} = {lines.bind('f', operator.function)}({value})", name)
    lines.children(name, key, new, depth)


def _map_values_with_key(lines: _Lines, name: str, operator: Any, key: str, value: str, depth: int) -> None:
    new = lines.new("value")
    lines.add(depth, f"{new} = {lines.bind('f', operator.function)}({key}, {value})", name)
    lines.children(name, key, new, depth)


def _map_values_in_context(lines: _Lines, name: str, operator: Any, key: str, value: str, depth: int) -> None:
    # The operator gets its context after the functions are written.
    new, function, holder = lines.new("value"), lines.bind("f", operator.function), lines.bind("o", operator)
    lines.add(depth, f"{new} = {function}({key}, {value}, timestamp, headers, {holder}.context)", name)
    lines.children(name, key, new, depth)


def _flat_map(lines: _Lines, name: str, operator: Any, key: str, value: str, depth: int) -> None:
    pairs = _results(lines, name, operator, f"{key}, {value}", depth)
    function, error = lines.bind("f", operator.function), lines.bind("e", stateless.not_pairs)
    pair, new_key, new_value = lines.new("pair"), lines.new("key"), lines.new("value")
    lines.add(depth, f"for {pair} in {pairs}:", name)
    _take_apart(lines, name, pair, (new_key, new_value), f"{error}({function}, {pair})", depth + 1)
    lines.children(name, new_key, new_value, depth + 1)


def _take_apart(lines: _Lines, name: str, pair: str, parts: tuple[str, str], error: str, depth: int) -> None:
    lines.add(depth, "try:", name)  # costs nothing unless it fails
    lines.add(depth + 1, f"{', '.join(parts)} = {pair}", name)
    lines.add(depth, "except (TypeError, ValueError) as error:", name)
    lines.add(depth + 1, f"raise {error} from error", name)


def _flat_map_values(lines: _Lines, name: str, operator: Any, key: str, value: str, depth: int) -> None:
    _each_value(lines, name, operator, value, key, depth)


def _flat_map_values_with_key(lines: _Lines, name: str, operator: Any, key: str, value: str, depth: int) -> None:
    _each_value(lines, name, operator, f"{key}, {value}", key, depth)


def _each_value(lines: _Lines, name: str, operator: Any, arguments: str, key: str, depth: int) -> None:
    values = _results(lines, name, operator, arguments, depth)
    new = lines.new("value")
    lines.block(f"for {new} in {values}:", name, key, new, depth)


def _results(lines: _Lines, name: str, operator: Any, arguments: str, depth: int) -> str:
    function, error = lines.bind("f", operator.function), lines.bind("e", stateless.returned_nothing)
    found = lines.new("found")
    lines.add(depth, f"{found} = {function}({arguments})", name)
    lines.add(depth, f"if {found} is None:", name)
    lines.add(depth + 1, f"raise {error}({function})", name)
    return found


def _peek(lines: _Lines, name: str, operator: Any, key: str, value: str, depth: int) -> None:
    lines.add(depth, f"{lines.bind('f', operator.function)}({key}, {value})", name)
    lines.children(name, key, value, depth)


def _table_to_stream(lines: _Lines, name: str, operator: Any, key: str, value: str, depth: int) -> None:
    new = lines.new("value")
    lines.add(depth, f"{new} = {value}[0]", name)
    lines.children(name, key, new, depth)


def _branch(lines: _Lines, name: str, operator: stateless.Branch, key: str, value: str, depth: int) -> None:
    word = "if"
    for predicate, child in operator.branches:
        test = f"{word} {lines.bind('f', predicate)}({key}, {value}):"
        lines.block(test, name, key, value, depth, child)
        word = "elif"
    if operator.default is None:
        return
    if operator.branches:
        lines.block("else:", name, key, value, depth, operator.default)
    else:
        lines.child(operator.default, key, value, depth)


def _aggregate(lines: _Lines, name: str, operator: StreamAggregate, key: str, value: str, depth: int) -> None:
    holder = lines.bind("o", operator)
    lines.add(depth, f"if {key} is None or {value} is None:", name)
    lines.add(depth + 1, f"{holder}.drop({NULL!r})", name)
    lines.add(depth, "else:", name)
    lines.add(depth + 1, f"{holder}.fold({key}, {value}, timestamp, headers)", name)


def _sink(lines: _Lines, name: str, operator: SinkOperator, key: str, value: str, depth: int) -> None:
    topic = str(operator.plain_topic)
    plain = operator.plain(topic)
    write_key, write_value = lines.bind("s", plain.serialize_key), lines.bind("s", plain.serialize_value)
    parts = (
        repr(topic),
        "None",
        f"None if {key} is None else {write_key}({key})",
        f"None if {value} is None else {write_value}({value})",
        "timestamp",
        "list(headers) if headers else None",
    )
    lines.add(depth, "try:", name)
    lines.add(depth + 1, f"{lines.bind('append', plain.append)}(({', '.join(parts)}))", name)
    lines.add(depth, "except Exception as error:", name)
    record = f"{lines.bind('Record', Record)}({key}, {value}, timestamp, headers)"
    lines.add(depth + 1, f"{lines.bind('unwritable', plain.unwritable)}({record}, error)", name)


_WRITERS: Final[dict[type, _Writer]] = {
    stateless.PassThrough: _pass_through,
    stateless.Filter: _filter,
    stateless.FilterNot: _filter_not,
    stateless.DropNullKeys: _drop_null_keys,
    stateless.SelectKey: _select_key,
    stateless.Map: _map,
    stateless.MapValues: _map_values,
    stateless.MapValuesWithKey: _map_values_with_key,
    stateless.MapValuesInContext: _map_values_in_context,
    stateless.FlatMap: _flat_map,
    stateless.FlatMapValues: _flat_map_values,
    stateless.FlatMapValuesWithKey: _flat_map_values_with_key,
    stateless.Peek: _peek,
    stateless.Foreach: _peek,
    stateless.Branch: _branch,
    TableToStream: _table_to_stream,
}
#: Those that end a function: what they forward to has functions of its own.
_LEAVES: Final[dict[type, _Writer]] = {StreamAggregate: _aggregate, SinkOperator: _sink}
