"""What is told of a persistent query while it runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QueryError:
    """Something that went wrong with a query, shaped as ksqlDB tells it.

    Attributes:
        timestamp: when, in milliseconds.
        error_message: what a person is told.
        type: whose fault it is.
    """

    timestamp: int
    error_message: str
    type: str = "UNKNOWN"


@dataclass(frozen=True)
class QueryProgress:
    """What this server does for a query.

    Attributes:
        processed: how many records.
        dropped: how many of these could not be used.
        lag: about how many wait.
        rate: how many are processed per second, lately.
        last: when some were processed last, in milliseconds; None if none were.
    """

    processed: int = 0
    dropped: int = 0
    lag: int = 0
    rate: float = 0.0
    last: int | None = None


@dataclass(frozen=True)
class InputOffsets:
    """How far a query is in a partition that it reads.

    Attributes:
        start: the first offset that the partition has.
        end: the one after its last.
        position: that of the next record to process.
    """

    topic: str
    partition: int
    start: int
    end: int
    position: int
