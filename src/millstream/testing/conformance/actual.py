"""What Millstream did with a case."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from millstream.testing.conformance.case import Json


@dataclass(frozen=True)
class Failure:
    """An exception of the engine; `step` is None while the topology is built."""

    error: Exception
    step: int | None = None

    @property
    def phase(self) -> str:
        """As the case format names it."""
        return "build" if self.step is None else "run"


@dataclass
class Actual:
    """What Millstream did with a case; the fields are those of the case's `expected`."""

    describe: str | None = None
    outputs: list[list[Json]] = field(default_factory=list)
    failure: Failure | None = None
    stores: dict[str, list[Any]] = field(default_factory=dict)
    store_names: list[str] = field(default_factory=list)
    internal_topics: list[str] = field(default_factory=list)
    dropped_records_total: int = 0
