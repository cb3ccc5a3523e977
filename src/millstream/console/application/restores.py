"""Which tasks of an application are being restored, and how far they are."""

from __future__ import annotations

import logging

from millstream.hosting.restoring import LOGGER, Restoring


class Restores(logging.Handler):
    """Hears what tasks say of their restoring, wherever they are: what lanes log comes to the driver."""

    def __init__(self) -> None:
        super().__init__()
        self._tasks: dict[str, Restoring] = {}

    def start(self) -> None:
        """Begin to listen."""
        logging.getLogger(LOGGER).addHandler(self)

    def stop(self) -> None:
        """Listen no more."""
        logging.getLogger(LOGGER).removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        found = Restoring.heard(record.getMessage())
        if found is not None:
            self._tasks[found.who.removeprefix("task ")] = found

    def by_task(self) -> dict[str, Restoring]:
        """What was said last of each task that was restored in this run."""
        return dict(self._tasks)
