"""A mark beside a database that somebody else has filled: all rows are in it.

The database of a store that keeps rows in memory, too, never has all of them, and is of no use to the next process.
Whoever fills one with all rows and hands it over leaves the mark; whoever opens it takes the mark away.
"""

from __future__ import annotations

from pathlib import Path

_MARK = ".complete"


def mark_complete(directory: Path) -> None:
    """Say that a database, which is closed, has all rows."""
    (directory / _MARK).touch()


def take_mark(directory: Path) -> bool:
    """Whether a database has all rows; from now on nobody says so any more."""
    try:
        (directory / _MARK).unlink()
    except FileNotFoundError:
        return False
    return True
