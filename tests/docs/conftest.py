"""What examples change for themselves must not last."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def log_level_kept() -> Iterator[None]:
    """Examples set the level of Millstream's logger."""
    log = logging.getLogger("millstream")
    level = log.level
    yield
    log.setLevel(level)
