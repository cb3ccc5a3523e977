"""What a function does to its stream before its loop: `group_by` and `through` need topics.

A topology is made before anything runs, so a function that names one of the two is run once, up to where it asks for
its first record, with a stream that only notes what it is asked.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millstream.agents.body.requests import Request
from millstream.agents.body.stream import SKIPPED, Step, Stream
from millstream.agents.records import Field
from millstream.agents.topics import Topic
from millstream.errors import ArgumentError, TopologyError, describe_callable
from millstream.serdes import Serdes
from millstream.serdes.serde import AnySerde


@dataclass(frozen=True)
class Regrouping:
    """`group_by`, and the steps before it."""

    steps: tuple[Step, ...]
    key: Callable[[Any], Any]
    key_serde: AnySerde
    name: str
    partitions: int | None


@dataclass(frozen=True)
class Detour:
    """`through`, and the steps before it."""

    steps: tuple[Step, ...]
    topic: Topic


Stage = Regrouping | Detour


def stages_of(function: Callable[..., Any], names: set[str]) -> list[Stage]:
    """What has to be done before the records come to the function.

    Args:
        function: the agent's.
        names: what its code names.
    """
    if not names & {"group_by", "through"}:
        return []
    planned: list[Stage] = []
    body = function(_PlanningStream(planned))
    coroutine: Any = anext(body) if inspect.isasyncgen(body) else body
    try:
        wanted = coroutine.send(None)
    except (StopIteration, StopAsyncIteration):
        wanted = None
    finally:
        coroutine.close()
    if not isinstance(wanted, Request):
        raise TopologyError(
            f"what {describe_callable(function)} groups by cannot be found out",
            detail=f"it was run up to its first record, and waits for {wanted!r} before",
            hint="call group_by and through before anything is awaited",
        )
    return planned


def apply_steps(steps: tuple[Step, ...], value: Any) -> Any:
    """The value behind some steps, or `SKIPPED`."""
    for step in steps:
        value = step(value)
        if inspect.isawaitable(value):
            raise TopologyError("what comes before group_by and through must be plain functions", detail=f"{step}")
        if value is SKIPPED:
            break
    return value


class _PlanningStream(Stream):
    """Notes `group_by` and `through`."""

    def __init__(self, planned: list[Stage], *, steps: tuple[Step, ...] = ()) -> None:
        super().__init__(steps=steps)
        self._planned = planned

    def then(self, step: Step) -> Stream:
        return _PlanningStream(self._planned, steps=(*self._steps, step))

    def group_by(self, key: Any, *, name: str | None = None, partitions: int | None = None) -> Stream:
        keys: AnySerde = Serdes.string if isinstance(key, Field) and key.is_text else Serdes.json
        if name is None:
            if not isinstance(key, Field):
                raise ArgumentError(
                    "group_by with a function needs a name",
                    detail=f"it got {key!r}",
                    hint='name what it groups by, as in group_by(region_of, name="region")',
                )
            name = key.field
        self._planned.append(Regrouping(self._steps, key, keys, name, partitions))
        return _PlanningStream(self._planned)

    def through(self, topic: Any) -> Stream:
        self._planned.append(Detour(self._steps, topic))
        return _PlanningStream(self._planned)
