"""How a punctuator is found again in another process, where a function object of this one means nothing.

A method of the processor is found by its name. What is fixed of its arguments (`functools.partial`) goes along if it is
plain. Nothing else can be found: a lambda or a nested function lives in the process that made it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from millstream.processors.api import FixedKeyProcessor, Processor, ValueTransformer
from millstream.processors.punctuation import CallName, Punctuator

_PLAIN: Final = (str, bytes, float, bool, type(None))
_LARGEST: Final = 2**63

_USER_CODE: Final = (Processor, FixedKeyProcessor, ValueTransformer)


def name_of(callback: Punctuator, processor: object) -> CallName | None:
    """The name under which the processor of another process has the same callback; None if it has none."""
    arguments: tuple[Any, ...] = ()
    function: Any = callback
    if isinstance(callback, partial):
        if callback.keywords or not all(map(_is_plain, callback.args)):
            return None
        function, arguments = callback.func, callback.args
    name, owner = getattr(function, "__name__", None), getattr(function, "__self__", None)
    if not isinstance(name, str) or owner is None or getattr(owner, name, None) != function:
        return None
    for path, found in _held(processor, "", {id(processor)}):
        if found is owner:
            return CallName(path + name, arguments)
    return None


def found_by(name: CallName, processor: object) -> Punctuator | None:
    """The callback of that name; None if the processor has no such method (any more)."""
    function: Any = processor
    for part in name.path.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        return None
    return partial(function, *name.arguments) if name.arguments else function


def _held(processor: object, path: str, seen: set[int]) -> Iterator[tuple[str, object]]:
    """A processor and those that it holds in attributes, as wrappers do, with the way there."""
    yield path, processor
    for attribute, value in getattr(processor, "__dict__", {}).items():
        if isinstance(value, _USER_CODE) and id(value) not in seen:
            seen.add(id(value))
            yield from _held(value, f"{path}{attribute}.", seen)


def _is_plain(value: object) -> bool:
    if type(value) is int:
        return -_LARGEST <= value < _LARGEST
    return type(value) in _PLAIN
