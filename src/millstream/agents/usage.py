"""What an agent's code uses, found by looking at it: tables, and whether it waits for anything.

A topology must know which stores a node has, and before the first record. An agent just names its tables, so they are
looked for in the names of its function, and of the functions of the same kind that it names in turn.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from millstream.agents.tables import TableBase


@dataclass
class Usage:
    """What was found."""

    tables: dict[str, TableBase] = field(default_factory=dict)
    #: All attributes and globals that the code names.
    names: set[str] = field(default_factory=set)
    #: It has an `await`, or loops over something asynchronous beside its stream.
    waits: bool = False


def usage_of(function: Callable[..., Any], further: tuple[Callable[..., Any], ...] = ()) -> Usage:
    """What an agent's function uses.

    Args:
        function: the agent's.
        further: functions that are called for what it yields.
    """
    found, loops = Usage(), 0
    seen: set[types.CodeType] = set()
    waiting: list[types.FunctionType] = [one for one in (function, *further) if isinstance(one, types.FunctionType)]
    while waiting:
        one = waiting.pop()
        if one.__code__ in seen:
            continue
        seen.add(one.__code__)
        for code in _codes(one.__code__):
            found.names.update(code.co_names)
            for instruction in dis.get_instructions(code):
                found.waits |= instruction.opname == "GET_AWAITABLE"
                loops += instruction.opname == "GET_AITER"
        for value in _values(one):
            if isinstance(value, TableBase):
                found.tables[value.name] = value
            elif isinstance(value, types.FunctionType) and value.__module__ == one.__module__:
                waiting.append(value)
    found.waits |= loops > 1
    return found


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A function's code, and that of functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _values(function: types.FunctionType) -> Iterator[Any]:
    """What the names of a function stand for, as far as that is known before it runs."""
    for code in _codes(function.__code__):
        for name in code.co_names:
            if name in function.__globals__:
                yield function.__globals__[name]
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not set yet
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
