"""Bars on a terminal for tasks that are restored from Kafka."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table

from millstream.hosting.restoring import LOGGER, Restoring

_WIDTH = 30


class RestoreBars(logging.Handler):
    """Hears what tasks say of their restoring, and shows it."""

    def __init__(self) -> None:
        super().__init__()
        self._tasks: dict[str, Restoring] = {}

    def emit(self, record: logging.LogRecord) -> None:
        found = Restoring.heard(record.getMessage())
        if found is not None and found.percent < 100:
            self._tasks[found.who] = found
        elif found is not None:
            self._tasks.pop(found.who, None)

    def bars(self) -> RenderableType:
        """A bar for each task that is under way."""
        table = Table.grid(padding=(0, 1))
        for who, found in sorted(self._tasks.copy().items()):
            bar = ProgressBar(total=100, completed=found.percent, width=_WIDTH)
            table.add_row(f"restoring {who}", bar, f"{found.percent:>3} %", found.rest)
        return table


@contextmanager
def restore_bars() -> Iterator[RestoreBars]:
    """Have bars instead of lines in the log, as long as this lasts."""
    logger, bars = logging.getLogger(LOGGER), RestoreBars()
    before = logger.propagate
    logger.addHandler(bars)
    logger.propagate = False
    try:
        yield bars
    finally:
        logger.removeHandler(bars)
        logger.propagate = before
