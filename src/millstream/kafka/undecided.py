"""Transactions that do not end: what readers of committed records wait for, perhaps for ever."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from millstream.kafka.admin import Partition


@dataclass(frozen=True)
class Undecided:
    """A transaction that has been open for too long.

    Args:
        partition: where it has written.
        decided: the offset before which all is decided.
        end: the offset after the last record.
        seconds: for how long it has been seen.
    """

    partition: Partition
    decided: int
    end: int
    seconds: float

    def __str__(self) -> str:
        topic, number = self.partition
        return (
            f"{topic}-{number}: readers of committed records have stood at offset {self.decided} for "
            f"{self.seconds:.0f} s, although records up to {self.end} are there: a transaction does not end. If no "
            "producer has one open for so long, Kafka has lost its end, which happens when a broker is killed while it "
            "ends transactions. Nobody but an administrator can mend that: `kafka-transactions.sh --bootstrap-server "
            f"... find-hanging --broker-id ...`, then `abort --topic {topic} --partition {number} --start-offset "
            f"{self.decided}`, which takes back what the transaction wrote there"
        )


class UndecidedTransactions:
    """Remembers since when readers stand still, and tells once of each partition, until it moves.

    Args:
        patience: after how many seconds it is told.
        clock: tells the time, in seconds.
    """

    def __init__(self, patience: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience = patience
        self._clock = clock
        #: Where readers stand although there is more, and since when.
        self._standing: dict[Partition, tuple[int, float]] = {}
        self._told: dict[Partition, int] = {}

    def look(self, decided: Mapping[Partition, int], ends: Mapping[Partition, int]) -> list[Undecided]:
        """Take in where partitions stand now; answers those that are to be told of.

        Args:
            decided: of each partition, the offset before which all is decided.
            ends: of each partition, the offset after the last record, asked for before the other.
        """
        now = self._clock()
        before = self._standing
        self._standing = {
            at: (offset, before[at][1] if at in before and before[at][0] == offset else now)
            for at, offset in decided.items()
            if offset < ends.get(at, 0)
        }
        self._told = {at: offset for at, offset in self._told.items() if self._standing.get(at, (-1,))[0] == offset}
        found = [
            Undecided(at, offset, ends[at], now - since)
            for at, (offset, since) in self._standing.items()
            if now - since >= self._patience and at not in self._told
        ]
        self._told |= {one.partition: one.decided for one in found}
        return found
