"""What a lane is told, and what it tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from millstream.hosting.copartitioning import KeysSeen
from millstream.hosting.error_parts import ErrorParts
from millstream.hosting.lanes.query import HostedQuery
from millstream.task.watching.watch import Seen


@dataclass(frozen=True)
class Run:
    """Run a query, also in the place of one of the same id."""

    query: HostedQuery


@dataclass(frozen=True)
class Stop:
    """Run a query no more; for good: what is noted of its tasks goes too."""

    query: str
    for_good: bool


@dataclass(frozen=True)
class Pause:
    """Give a query no more records."""

    query: str


@dataclass(frozen=True)
class Resume:
    """Give a query records again."""

    query: str


@dataclass(frozen=True)
class Look:
    """Watch the tasks of a query for some seconds, and tell what is seen."""

    query: str
    seconds: float


@dataclass(frozen=True)
class Join:
    """Join the others: those that were started together are ready."""


@dataclass(frozen=True)
class Close:
    """Commit, and leave."""


Order: TypeAlias = Run | Stop | Pause | Resume | Look | Join | Close


@dataclass(frozen=True)
class Ready:
    """A lane of an application has all that it needs to join the others, and waits until it is told to."""


@dataclass(frozen=True)
class Stopped:
    """A query is not run here any more, and nothing of it is left here."""

    query: str


@dataclass(frozen=True)
class Failed:
    """A query failed.

    Args:
        query: which.
        error: what a person is told.
        is_final: it is not tried again.
        parts: the error in parts.
    """

    query: str
    error: str
    is_final: bool
    parts: ErrorParts | None = None


@dataclass(frozen=True)
class Figures:
    """What a lane has done for a query so far.

    Args:
        query: which.
        tasks: the names of its tasks that are here, and work.
        processed: how many records they have processed since the lane began with them.
        dropped: how many of these could not be used.
        positions: how far they are in their inputs, by `topic-partition`.
        lags: about how many records they have not processed yet, by `topic-partition`.
        restoring: by name, how much is there of those that are being made, which may take long where they have state;
            from 0 to 1.
        is_settled: it has all tasks that it should have now.
        reached: inputs, by `topic-partition`, of which everything before an offset is processed and committed.
        commits: how often the lane has committed something.
        counted: what the lane has done for the query so far, also tasks that are not here any more.
        details: what each task tells, by name.
        is_paused: it is given no records.
        times: when the lane got its first record, when it first committed and when last, in seconds since 1970; 0 if
            it did not.
        standbys: by name, the tasks of other lanes that it has in reserve, and how many records each of them lacks.
    """

    query: str
    tasks: tuple[str, ...]
    processed: int
    dropped: int
    positions: dict[str, int]
    lags: dict[str, int]
    restoring: Mapping[str, float] = field(default_factory=dict)
    is_settled: bool = True
    reached: Mapping[str, int] = field(default_factory=dict)
    commits: int = 0
    counted: Mapping[str, int] = field(default_factory=dict)
    details: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    is_paused: bool = False
    times: tuple[float, float, float] = (0.0, 0.0, 0.0)
    standbys: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Watched:
    """What a lane has seen of a query's tasks lately."""

    query: str
    seen: Seen


@dataclass(frozen=True)
class Looked:
    """Where the first keys lie that a lane has read of a query's joined topics, since it last told."""

    query: str
    keys: KeysSeen


Event: TypeAlias = Stopped | Failed | Figures | Watched | Looked
