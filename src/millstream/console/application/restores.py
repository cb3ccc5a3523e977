"""Which tasks of an application are being restored, and how far they are."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from millstream.hosting.restoring import LOGGER, Restoring

#: Who is restored says so every other second; who is silent for so long was given up, and begins anew.
_SILENT_SECONDS: Final = 30.0


class Restores(logging.Handler):
    """Hears what tasks say of their restoring, wherever they are: what lanes log comes to the driver.

    Args:
        clock: seconds that only go on.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._tasks: dict[str, tuple[float, Restoring]] = {}

    def start(self) -> None:
        """Begin to listen."""
        logging.getLogger(LOGGER).addHandler(self)

    def stop(self) -> None:
        """Listen no more."""
        logging.getLogger(LOGGER).removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        found = Restoring.heard(record.getMessage())
        if found is not None:
            self._tasks[found.who.removeprefix("task ")] = (self._clock(), found)

    def by_task(self) -> dict[str, Restoring]:
        """What was said last of each task that was restored in this run, or is being restored."""
        silent = self._clock() - _SILENT_SECONDS
        return {task: found for task, (at, found) in list(self._tasks.items()) if found.percent == 100 or at > silent}
