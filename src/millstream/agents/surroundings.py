"""What an application's topics, tables and agents need where no agent runs: in the process that was started, in a test.

In a task they find their way by `CURRENT`. The surroundings are left behind when they are sent to one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from millstream.agents.body.outgoing import Outgoing
from millstream.errors import StreamsError
from millstream.records import Headers


class Outside(Protocol):
    """A running application, seen from outside of its agents."""

    def send(self, key: bytes | None, outgoing: Outgoing, timestamp: int | None, headers: Headers | None) -> None:
        """Write a record."""

    def read(self, table: str, key: Any) -> Any:
        """The row of a table, or None."""

    def read_window(self, table: str, key: Any, start: int) -> Any:
        """The value of a table's window, or None."""

    def rows(self, table: str) -> list[tuple[Any, Any]]:
        """All rows of a table."""

    def now(self) -> int:
        """The wall clock, in milliseconds."""

    async def ask(self, question: tuple[bytes | None, Outgoing], headers: Headers) -> Any:
        """Send a question, and wait for what is answered: a dict with `value`."""


class Surroundings:
    """Holds what is there while the application runs here."""

    def __init__(self) -> None:
        self.running: Outside | None = None
        #: Makes the test context of an agent.
        self.agent_test: Callable[[Any], Any] | None = None

    def outside(self, what: str) -> Outside:
        """What runs here; `what` is what somebody wants of it."""
        if self.running is None:
            raise StreamsError(
                f"cannot {what}: the application does not run here",
                detail="neither an agent is at a record, nor is the application started in this process",
                hint="do it in an agent, a task or a timer, or in app.test_context()",
            )
        return self.running

    def __reduce__(self) -> tuple[type[Surroundings], tuple[()]]:
        return Surroundings, ()
