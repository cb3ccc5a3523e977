"""Running cases without what the engine logs."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Cases drop records and fail on purpose; what the engine logs about it would hide the results."""
    log = logging.getLogger("millstream")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(level)
