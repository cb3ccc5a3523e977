"""The contract between a task and the operators it runs.

An operator is one node's work in one task. Records travel as four plain arguments (key, value, timestamp, headers), so
that passing one on allocates nothing. Below a table the value is a `Change` tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from millstream.records import Headers, Record

if TYPE_CHECKING:
    from millstream.processors.context import TaskContext

Forward = Callable[[Any, Any, int, Headers | None], None]


def forward_to_nobody(key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
    """What a node without children forwards to."""


class Guard(Protocol):
    """Handles errors of work that goes on after `process` has returned, where errors may be passed over.

    The task does it for what `process` raises. It cannot for what is raised later, when it is at another record.
    """

    def source(self) -> Any:
        """The input record in process: to be kept for `failed`."""

    def failed(self, error: Exception, record: Record[Any, Any], source: Any) -> None:
        """Ask the handler; raises unless it goes on."""


class Operator:
    """One node's work in one task.

    The task sets `name` and `forward` (to all children, in order) before it calls `init`, so an operator may keep
    `self.forward` in a local. With one child `forward` *is* the child's `process`, unless the child is fused with what
    is below it (`millstream.task.fused`).
    """

    name: str = ""
    forward: Forward = staticmethod(forward_to_nobody)
    context: TaskContext

    #: True: it runs code of the user's that may forward to single children (the task sets `children`, by name, before
    #: `init`) and schedule punctuations.
    hosts_user_code = False
    children: Mapping[str, Forward]
    #: Set for those by the task before `init`; None where an error ends the task.
    guard: Guard | None = None

    def init(self, context: TaskContext) -> None:
        """Called once, after all stores of the task are open. Subclasses call `super().init(context)` first."""
        self.context = context

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        """Handle one record; forward any number of results."""
        raise NotImplementedError

    def drain(self) -> None:
        """Finish what is under way, and forward its results: called before a commit, parents first."""

    def clock(self) -> list[int] | None:
        """The numbers it has to remember beside its stores, so that it can go on in another process; None: nothing.

        Asked between two batches, when caches are flushed. Things that operators share are told by one of them.
        """
        return None

    def set_clock(self, values: list[int]) -> None:
        """Go on from what `clock` said, in a task whose stores are as they were then. Called after `init`."""

    def close(self) -> None:
        """Called once, before the stores are closed."""

    def drop(self, reason: str) -> None:
        """Skip a record: counted in `dropped-records-total`, and logged."""
        self.context.drop(self.name, reason)

    def let_go(self) -> None:
        """Skip a record that has done its part: counted as `drop` does, and nothing to tell anybody."""
        self.context.dropped_records += 1


OperatorFactory = Callable[[], Operator]
