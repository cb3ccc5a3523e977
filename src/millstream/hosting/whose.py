"""Whose functions run just now in this process, for what they print and log."""

from __future__ import annotations


class Place:
    """A lane, or a task of it."""

    def __init__(self) -> None:
        self.lane = 0
        self.task: str | None = None

    def __str__(self) -> str:
        return f"lane {self.lane}" if self.task is None else f"task {self.task}"


#: That of this process.
PLACE = Place()


def is_at(task: str | None) -> None:
    """Note that what is printed from now on is from this task, or from none. Once per chunk of records."""
    PLACE.task = task
