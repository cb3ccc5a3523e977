"""What an operator has to know of its agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millstream.serdes.serde import AnySerde


@dataclass(frozen=True, kw_only=True)
class AgentSpec:
    """An agent, as its tasks need it.

    Args:
        name: the agent's name.
        function: called with a stream; gives a coroutine or an async generator.
        tables: names of the tables it may use.
        sinks: functions that are called with what it yields, before it goes to topics.
        sends: the name of the sink for what it sends to topics of its choice.
        waits: its code has an `await`: it may wait for something outside.
        in_flight: how many records may be under way at once, if it waits.
        open_list: the name of the store of what `take` has not handed out yet; None if it is not used.
        key: of its records, for that store.
        value: of its records, for that store.
    """

    name: str
    function: Callable[..., Any]
    tables: tuple[str, ...]
    sinks: tuple[Callable[[Any], Any], ...]
    sends: str
    waits: bool
    in_flight: int
    open_list: str | None
    key: AnySerde
    value: AnySerde
