"""Which of a user's functions cannot be sent to lanes, and why: a pickling error alone names neither."""

from __future__ import annotations

import dis
import functools
import gc
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import cloudpickle

from millstream.config import StreamsConfig
from millstream.errors import MillstreamError, StreamsError, describe_callable
from millstream.topology.nodes import ProcessorNode, SinkNode, SourceNode
from millstream.topology.topology import Topology

_MSGSPEC_CACHE = "__msgspec_cache__"
_PACKAGE = __name__.split(".", maxsplit=1)[0]
_MOST = 2000  # things that are looked at; a program is never that deep


@dataclass(frozen=True)
class _Step:
    """A thing, and how it is reached from the one before: `the variable 'db'`."""

    thing: Any
    how: str


def check_shippable(topology: Topology, config: StreamsConfig) -> None:
    """Refuse a topology that cannot be sent to lanes.

    Raises:
        StreamsError: says which function holds what.
    """
    try:
        cloudpickle.dumps((topology, config))
    except Exception:
        forget_msgspec_caches()
        try:
            cloudpickle.dumps((topology, config))
        except Exception as error:
            raise explain(topology, error, config) from error


def forget_msgspec_caches() -> None:
    """Remove what msgspec notes on dataclasses: it cannot be sent, and is found out again."""
    for kind in gc.get_objects():
        if isinstance(kind, type) and _MSGSPEC_CACHE in vars(kind):
            delattr(kind, _MSGSPEC_CACHE)


def explain(topology: Topology, error: Exception, config: StreamsConfig | None = None) -> StreamsError:
    """What to raise instead of an error of pickling.

    Args:
        topology: what was to be sent.
        error: what cloudpickle said.
        config: what was to be sent along.
    """
    for where, thing in [*_things(topology), *_settings(config)]:
        if not _fails(thing):
            continue
        return _told(where, _way_to_culprit(thing), error)
    return StreamsError(
        "the application cannot be sent to Spark's processes",
        detail=f"{type(error).__name__}: {error}",
        hint="functions must not hold open files, connections, locks or threads",
    )


def _told(where: str, way: list[_Step], error: Exception) -> StreamsError:
    culprit = way[-1]
    holder = next((at for at in range(len(way) - 2, -1, -1) if _is_users_function(way[at].thing)), None)
    if holder is None:
        who, detail = where, f"{culprit.how or 'it'} is a {_kind(culprit.thing)}"
    else:
        named = way[holder + 1]  # what the function's text names
        who, detail = f"{describe_callable(way[holder].thing)} ({where})", f"{named.how} is a {_kind(named.thing)}"
        if named is not culprit:
            detail += f" and holds a {_kind(culprit.thing)}"
    return StreamsError(
        f"{who} cannot be sent to Spark's processes",
        detail=f"{detail}, which lives in this process only ({_short(error)})",
        hint="open it where it is used, not while the topology is built: in a function that keeps what it opened "
        "(functools.cache), or in `init` of a Processor",
    )


def _is_users_function(thing: Any) -> bool:
    return isinstance(thing, types.FunctionType) and thing.__module__.split(".", maxsplit=1)[0] != _PACKAGE


def _things(topology: Topology) -> Iterator[tuple[str, Any]]:
    """All that a topology holds of the user's, with the node that holds it."""
    for node in topology.nodes.values():
        where = f"node '{node.name}'"
        if isinstance(node, ProcessorNode):
            yield where, node.factory
        elif isinstance(node, SourceNode):
            yield from ((where, thing) for thing in (node.key, node.value, node.timestamp_extractor))
        elif isinstance(node, SinkNode):
            yield from ((where, thing) for thing in (node.key, node.value, node.topic, node.partitioner))
    for name, builder in topology.stores.items():
        yield f"store '{name}'", builder
    for name, store in topology.global_stores.items():
        yield f"store '{name}'", store.builder
    yield "the topology", topology


def _settings(config: StreamsConfig | None) -> Iterator[tuple[str, Any]]:
    if config is None:
        return
    for field in fields(config):
        value = getattr(config, field.name)
        if isinstance(value, Mapping):
            yield from ((f"{field.name}[{name!r}] of the configuration", held) for name, held in value.items())
        else:
            yield f"{field.name} of the configuration", value


def _way_to_culprit(thing: Any) -> list[_Step]:
    """From a thing that cannot be sent, down to what in it cannot be."""
    way, seen, looked = [_Step(thing, "")], {id(thing)}, 0
    while True:
        for step in _parts(way[-1].thing):
            looked += 1
            if id(step.thing) in seen or looked > _MOST:
                continue
            seen.add(id(step.thing))
            if _fails(step.thing):
                way.append(step)
                break
        else:
            return way


def _parts(thing: Any) -> Iterator[_Step]:
    """What pickles together with a thing, with the names that the user gave it."""
    if isinstance(thing, functools.partial):
        for part in (thing.func, *thing.args, *thing.keywords.values()):
            yield _Step(part, "an argument of functools.partial")
    elif isinstance(thing, types.MethodType):
        yield _Step(thing.__self__, f"the object of method {thing.__name__}")
        yield _Step(thing.__func__, "its function")
    elif isinstance(thing, types.FunctionType):
        yield from _parts_of_function(thing)
    elif isinstance(thing, type):
        for name, value in vars(thing).items():
            if not name.startswith("__"):
                yield _Step(getattr(value, "__func__", value), f"attribute '{name}' of class {thing.__name__}")
        for base in thing.__bases__:
            yield _Step(base, f"class {base.__name__}")
    elif isinstance(thing, Mapping):
        for key, value in thing.items():
            yield _Step(value, f"the entry {key!r}")
    elif isinstance(thing, list | tuple | set | frozenset):
        for value in thing:
            yield _Step(value, "an entry")
    else:
        yield from _parts_of_object(thing)


def _parts_of_function(function: types.FunctionType) -> Iterator[_Step]:
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield _Step(cell.cell_contents, f"the variable '{name}'")
        except ValueError:  # not set yet
            continue
    for name in _global_names(code):
        if name in function.__globals__:
            yield _Step(function.__globals__[name], f"the global variable '{name}'")
    for value in function.__defaults__ or ():
        yield _Step(value, "a default value")
    for name, value in (function.__kwdefaults__ or {}).items():
        yield _Step(value, f"the default value of '{name}'")
    for name, value in vars(function).items():
        yield _Step(value, f"the attribute '{name}'")


def _global_names(code: types.CodeType) -> set[str]:
    """The global names that a function uses, also in functions inside of it."""
    found = {at.argval for at in dis.get_instructions(code) if at.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _global_names(constant)
    return found


def _parts_of_object(thing: Any) -> Iterator[_Step]:
    kind = type(thing)
    for name, value in getattr(thing, "__dict__", {}).items():
        yield _Step(value, f"attribute '{name}' of {kind.__name__}")
    for owner in kind.__mro__:
        task_ids = vars(owner).get("__slots__", ())
        for name in (task_ids,) if isinstance(task_ids, str) else task_ids:
            if name not in ("__dict__", "__weakref__") and hasattr(thing, name):
                yield _Step(getattr(thing, name), f"attribute '{name}' of {kind.__name__}")
    yield _Step(kind, f"class {kind.__name__}")


def _fails(thing: Any) -> bool:
    try:
        cloudpickle.dumps(thing)
    except Exception:
        return True
    return False


def _kind(thing: Any) -> str:
    kind = type(thing)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _short(error: BaseException) -> str:
    if isinstance(error, MillstreamError):
        return error.primary
    return str(error).splitlines()[0] if str(error) else type(error).__name__
