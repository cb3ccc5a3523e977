"""The record that an agent's function is at, and the way to its task from there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from millstream.records import Headers

if TYPE_CHECKING:
    from millstream.agents.body.outgoing import Outgoing


class Access(NamedTuple):
    """How a table's store is used in one task."""

    store: Any
    read: Callable[..., Any]
    write: Callable[..., Any]


class Current:
    """One running copy of an agent's function: the record it is at, and what it may use.

    It is what `CURRENT` holds while the function runs. Only what differs from record to record is set for each.
    """

    __slots__ = ("agent", "headers", "key", "now", "place", "send", "tables", "timestamp", "value")

    def __init__(
        self,
        agent: str,
        tables: Mapping[str, Access],
        now: Callable[[], int],
        place: Callable[[], tuple[str | None, int, int]],
        send: Callable[[Any, Outgoing, int, Headers | None], None],
    ) -> None:
        self.agent = agent
        self.tables = tables
        self.now = now
        #: Topic, partition and offset of the record.
        self.place = place
        #: Hands a record for any topic on.
        self.send = send
        self.key: Any = None
        self.value: Any = None
        self.timestamp = -1
        self.headers: Headers | None = None


#: Set in the context that each copy of an agent's function runs in; None outside of agents.
CURRENT: ContextVar[Current | None] = ContextVar("millstream.agents.current", default=None)
