"""What can be asked of a store, and what the caller requires of the answer.

Keys are objects that the store's serde takes, or, once a query is on its way (`with_keys`), their bytes. Times are
milliseconds since 1970. Every pair of bounds includes both; None leaves an end open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, TypeAlias

from millstream.records import MAX_TIMESTAMP

Turn: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class KeyQuery:
    """The value of one key. Key-value stores; of a versioned store the latest value."""

    key: Any

    def with_keys(self, turn: Turn) -> KeyQuery:
        """The same question with its keys turned into something else."""
        return KeyQuery(turn(self.key))


@dataclass(frozen=True, slots=True)
class KeysQuery:
    """The values of several keys, in their order; keys that are not there have no row. Key-value stores."""

    keys: tuple[Any, ...]

    def with_keys(self, turn: Turn) -> KeysQuery:
        """The same question with its keys turned into something else."""
        return KeysQuery(tuple(map(turn, self.keys)))


@dataclass(frozen=True, slots=True)
class RangeQuery:
    """The entries between two keys, in the order of serialised keys. Key-value stores."""

    low: Any = None
    high: Any = None
    reverse: bool = False

    def with_keys(self, turn: Turn) -> RangeQuery:
        """The same question with its keys turned into something else."""
        return replace(self, **_turned(self.low, self.high, turn))


@dataclass(frozen=True, slots=True)
class PrefixQuery:
    """The entries whose serialised key starts with these bytes, in the order of serialised keys. Key-value stores."""

    prefix: bytes

    def with_keys(self, turn: Turn) -> PrefixQuery:
        """The prefix is made of bytes already."""
        return self


@dataclass(frozen=True, slots=True)
class CountQuery:
    """How many entries there are, about: `Answer.count`. Key-value stores."""

    def with_keys(self, turn: Turn) -> CountQuery:
        """There are no keys."""
        return self


@dataclass(frozen=True, slots=True)
class WindowKeyQuery:
    """A key's windows that start between two times, by start. Window stores."""

    key: Any
    earliest: int = 0
    latest: int = MAX_TIMESTAMP
    reverse: bool = False

    def with_keys(self, turn: Turn) -> WindowKeyQuery:
        """The same question with its keys turned into something else."""
        return replace(self, key=turn(self.key))


@dataclass(frozen=True, slots=True)
class WindowRangeQuery:
    """The windows of the keys between two keys that start between two times, in the store's order. Window stores."""

    low: Any = None
    high: Any = None
    earliest: int = 0
    latest: int = MAX_TIMESTAMP
    reverse: bool = False

    def with_keys(self, turn: Turn) -> WindowRangeQuery:
        """The same question with its keys turned into something else."""
        return replace(self, **_turned(self.low, self.high, turn))


@dataclass(frozen=True, slots=True)
class SessionKeyQuery:
    """A key's sessions that end not before and start not after the two times, by end, then start. Session stores."""

    key: Any
    earliest_end: int = 0
    latest_start: int = MAX_TIMESTAMP
    reverse: bool = False

    def with_keys(self, turn: Turn) -> SessionKeyQuery:
        """The same question with its keys turned into something else."""
        return replace(self, key=turn(self.key))


@dataclass(frozen=True, slots=True)
class SessionRangeQuery:
    """All sessions of the keys between two keys, in the store's order. Session stores."""

    low: Any = None
    high: Any = None
    reverse: bool = False

    def with_keys(self, turn: Turn) -> SessionRangeQuery:
        """The same question with its keys turned into something else."""
        return replace(self, **_turned(self.low, self.high, turn))


@dataclass(frozen=True, slots=True)
class VersionedKeyQuery:
    """The version of a key that was valid at a time; None: the latest. Versioned stores."""

    key: Any
    as_of: int | None = None

    def with_keys(self, turn: Turn) -> VersionedKeyQuery:
        """The same question with its keys turned into something else."""
        return replace(self, key=turn(self.key))


@dataclass(frozen=True, slots=True)
class VersionsQuery:
    """A key's versions that were valid at some time between the two, by timestamp. Versioned stores."""

    key: Any
    earliest: int | None = None
    latest: int | None = None
    reverse: bool = False

    def with_keys(self, turn: Turn) -> VersionsQuery:
        """The same question with its keys turned into something else."""
        return replace(self, key=turn(self.key))


Query: TypeAlias = (
    KeyQuery
    | KeysQuery
    | RangeQuery
    | PrefixQuery
    | CountQuery
    | WindowKeyQuery
    | WindowRangeQuery
    | SessionKeyQuery
    | SessionRangeQuery
    | VersionedKeyQuery
    | VersionsQuery
)


def _turned(low: Any, high: Any, turn: Turn) -> dict[str, Any]:
    return {"low": None if low is None else turn(low), "high": None if high is None else turn(high)}


@dataclass(frozen=True, slots=True)
class Position:
    """How far changelog partitions have been applied: by topic and partition, the offset of the next record.

    Who has written a record at offset n asks for a position of n + 1.

    >>> Position({"t": {0: 5}}).merged(Position({"t": {0: 7, 1: 2}})).offsets
    {'t': {0: 7, 1: 2}}
    """

    offsets: Mapping[str, Mapping[int, int]] = field(default_factory=dict)

    def at(self, topic: str, partition: int) -> int:
        """The offset in a partition; 0 if nothing is said of it."""
        return self.offsets.get(topic, {}).get(partition, 0)

    def merged(self, other: Position) -> Position:
        """Both; where both say something, the later."""
        merged = {topic: dict(offsets) for topic, offsets in self.offsets.items()}
        for topic, offsets in other.offsets.items():
            mine = merged.setdefault(topic, {})
            for partition, offset in offsets.items():
                mine[partition] = max(offset, mine.get(partition, 0))
        return Position(merged)


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a caller requires of an answer.

    Args:
        bound: the answer must be at least as new: a position that was seen in another answer, or that of an own write.
        max_staleness: the copy must have been at the end of its changelog not longer ago than this.
        allow_standby: any copy may answer, also one that is kept in reserve, which is often nearer and may lag.
        partitions: ask only these; None asks all that the question concerns.
        limit: only the first so many rows; `Answer.more` tells whether there are others.
        after: go on behind the row of this serialised key: the next page of a `RangeQuery` or `PrefixQuery`.
    """

    bound: Position | None = None
    max_staleness: timedelta | None = None
    allow_standby: bool = False
    partitions: frozenset[int] | None = None
    limit: int | None = None
    after: bytes | None = None


NO_REQUIREMENTS = Requirements()
