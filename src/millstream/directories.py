"""Where files of the user live that are not the project's: caches and state."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_directory() -> Path:
    """For what can be fetched again: `$XDG_CACHE_HOME/millstream`, or where the system keeps such things."""
    return _directory("XDG_CACHE_HOME", linux=".cache", mac="Library/Caches")


def state_directory() -> Path:
    """For what should last: `$XDG_STATE_HOME/millstream`, or where the system keeps such things."""
    return _directory("XDG_STATE_HOME", linux=".local/state", mac="Library/Application Support")


def _directory(variable: str, *, linux: str, mac: str) -> Path:
    given = os.environ.get(variable)
    base = Path(given) if given else Path.home() / (mac if sys.platform == "darwin" else linux)
    return base / "millstream"
