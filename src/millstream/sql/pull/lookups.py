"""What is to be looked up in a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from millstream.records import MAX_TIMESTAMP


@dataclass(frozen=True)
class Times:
    """A range of times in milliseconds, both included. It is empty when the first comes after the last."""

    first: int = 0
    last: int = MAX_TIMESTAMP

    def __contains__(self, time: int) -> bool:
        return self.first <= time <= self.last

    def __and__(self, other: Times) -> Times:
        """The times that are in both."""
        return Times(max(self.first, other.first), min(self.last, other.last))


@dataclass(frozen=True)
class KeyLookup:
    """One key; of a windowed table its windows that start and end within some times."""

    key: tuple[Any, ...]
    starts: Times = Times()
    ends: Times = Times()


@dataclass(frozen=True)
class RangeLookup:
    """The keys between two, both included; None: open. What should not be included is left out by the condition."""

    low: tuple[Any, ...] | None = None
    high: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class Scan:
    """Everything."""


Lookup: TypeAlias = KeyLookup | RangeLookup | Scan
