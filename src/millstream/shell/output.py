"""How answers are shown."""

from __future__ import annotations

import enum


class Output(enum.StrEnum):
    """How answers are shown: as tables for people, or as JSON for programs."""

    TABULAR = "tabular"
    JSON = "json"
