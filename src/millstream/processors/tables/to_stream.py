"""Where a table's updates become records again."""

from __future__ import annotations

from typing import Any

from millstream.processors.operator import Operator
from millstream.records import Change, Headers


class TableToStream(Operator):
    """Forwards the new value of every update, deletions as null."""

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers | None) -> None:
        self.forward(key, value[0], timestamp, headers)
