"""What happens to errors of generated code: they are told, and the value is NULL."""

from __future__ import annotations

import linecache
from collections import deque
from dataclasses import dataclass
from typing import Any

from millstream.sql.processing_log import ProcessingLog, record_error

#: A server compiles expressions for every pull query: tracebacks show the lines of the latest only.
_MOST_KNOWN = 5_000
_known: deque[str] = deque()


@dataclass(frozen=True)
class Failures:
    """Tells of errors. Generated functions take it along, and with it their source for tracebacks.

    Attributes:
        log: where to tell.
        logger: who tells.
        messages: what could not be done, one per column.
        filename: what the generated code is called.
        source: the generated code.
        include_rows: whether the rows are told too.
    """

    log: ProcessingLog
    logger: str
    messages: tuple[str, ...]
    filename: str
    source: str
    include_rows: bool = False

    def __post_init__(self) -> None:
        # Wherever the functions arrive, tracebacks can show their lines.
        if self.filename not in linecache.cache:
            _known.append(self.filename)
            if len(_known) > _MOST_KNOWN:
                linecache.cache.pop(_known.popleft(), None)
        linecache.cache[self.filename] = (len(self.source), None, self.source.splitlines(keepends=True), self.filename)

    def column(self, error: Exception, index: int, row: tuple[Any, ...]) -> None:
        """A column could not be computed."""
        self._tell(self.messages[index], error, row)

    def part(self, error: Exception, name: str, row: tuple[Any, ...]) -> None:
        """A part of an expression could not be computed: it is NULL, the rest goes on."""
        self._tell(f"Error processing {name}", error, row)

    def _tell(self, message: str, error: Exception, row: tuple[Any, ...]) -> None:
        self.log.error(self.logger, record_error(message, error, str(row) if self.include_rows else None))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.log, self.logger, self.messages, self.filename, self.source, self.include_rows)
