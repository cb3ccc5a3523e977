"""A client that looks at an answer, and what it asks with."""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import Any

from millstream.ksqldb.api import Answer, End, Row
from millstream.sql.engine.api import Ksql
from millstream.sql.engine.context import Context

WAIT = 30.0


def context_of(ksql: Ksql, **properties: Any) -> Context:
    """What a request with these properties is executed with; `_` stands for a dot."""
    context = ksql._engine.context
    settings = context.settings
    for name, value in properties.items():
        settings = settings.with_override(name.replace("_", "."), value)
    return dataclasses.replace(context, settings=settings)


class Client:
    """Takes rows as they come."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.rows: list[Row] = []
        self._changed = threading.Event()
        answer.listen(self._changed.set)

    def wait_for(self, count: int) -> list[tuple[Any, ...]]:
        """Until there are so many rows; those."""
        self._until(lambda: len(self.rows) >= count, f"{count} rows")
        return [row.values for row in self.rows]

    def wait_for_end(self) -> End:
        """Until it has ended; how."""
        self._until(lambda: self.answer.end is not None, "an end")
        end = self.answer.end
        assert end is not None
        return end

    def _until(self, condition: Any, what: str) -> None:
        deadline = time.monotonic() + WAIT
        while True:
            self._changed.clear()
            self.rows += self.answer.take()
            if condition():
                return
            end = self.answer.end
            assert end is None, f"waited for {what}; it ended with {end}, after {self.rows}"
            assert self._changed.wait(deadline - time.monotonic()), f"no {what}, only {self.rows}"
