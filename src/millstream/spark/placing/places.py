"""Which executor each lane is on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Executor:
    """One of Spark's.

    Args:
        id: Spark's name for it.
        host: where it is.
        cores: how many lanes can work there at the same time.
    """

    id: str
    host: str
    cores: int


class Places:
    """The places of an application's lanes: a lane stays where it is as long as its executor lives.

    Args:
        lanes: how many there are.
        most_moves: how many lanes at most leave an executor that lives, at the edge of one batch. What a lane had has
            to be read where it comes to, and the batch waits for that.
    """

    def __init__(self, lanes: int, most_moves: int) -> None:
        self._lanes = range(lanes)
        self._most_moves = most_moves
        self._of: dict[int, str] = {}

    def settle(self, executors: Collection[Executor]) -> list[Executor]:
        """Where each lane is for the next batch, in their order.

        Args:
            executors: those that live; one at least.
        """
        known = {executor.id: executor for executor in executors}
        self._of = {lane: place for lane, place in self._of.items() if place in known}
        for lane in self._lanes:
            if lane not in self._of:
                self._of[lane] = self._emptiest(known.values()).id
        self._even_out(known)
        return [known[self._of[lane]] for lane in self._lanes]

    def _even_out(self, known: dict[str, Executor]) -> None:
        """Have lanes that share a core move to one that has none."""
        for _ in range(self._most_moves):
            fullest = min(known.values(), key=self._spare)
            emptiest = self._emptiest(known.values())
            if self._spare(fullest) >= 0 or self._spare(emptiest) <= 0:
                return
            self._of[max(lane for lane, place in self._of.items() if place == fullest.id)] = emptiest.id

    def _emptiest(self, executors: Collection[Executor]) -> Executor:
        """Where the next lane has the most of a core; of two, on the host that has fewer lanes."""
        hosts = {executor.id: executor.host for executor in executors}
        there = Counter(hosts[place] for place in self._of.values())
        return min(executors, key=lambda one: ((self._count(one) + 1) / one.cores, there[one.host], one.id))

    def _spare(self, executor: Executor) -> int:
        return executor.cores - self._count(executor)

    def _count(self, executor: Executor) -> int:
        return sum(1 for place in self._of.values() if place == executor.id)
