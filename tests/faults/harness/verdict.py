"""What is to be said about the results of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from .topics import Topics
from .truth import Truth

Values = Mapping[str, Mapping[str, Sequence[str | int]]]


class Verdict(Enum):
    """The result of a run."""

    OK = "OK"
    LOST = "LOST"
    DOUBLED = "DOUBLED"
    #: The order of results is not that of their keys' records.
    DISORDERED = "DISORDERED"
    #: The application says it runs, and gives no results.
    SILENT = "SILENT"
    #: The application does not go on, and says why.
    REFUSED = "REFUSED"
    #: Kafka has lost the end of a transaction, so that readers wait for ever, and the application says so.
    HANGING = "HANGING"


@dataclass(frozen=True)
class Found:
    """How far results are from the truth."""

    lost: int
    doubled: int
    disordered: int
    #: Some of what is wrong, for people.
    examples: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        if self.doubled:
            return Verdict.DOUBLED
        if self.lost:
            return Verdict.LOST
        return Verdict.DISORDERED if self.disordered else Verdict.OK

    def __str__(self) -> str:
        parts = [f"LOST {self.lost}"] * bool(self.lost) + [f"DOUBLED {self.doubled}"] * bool(self.doubled)
        parts += [f"DISORDERED {self.disordered}"] * bool(self.disordered)
        return " ".join(parts) or "OK"


def compare(truth: Truth, values: Values, topics: Topics, *, caching: bool) -> Found:
    """Hold results against the truth.

    Args:
        truth: what the inputs say.
        values: results, of each topic and key in their order.
        topics: the topics.
        caching: whether only the last count of a key is guaranteed to be there.
    """
    lost = doubled = disordered = 0
    examples: list[str] = []
    for topic, expected in truth.expected.items():
        found = values[topic]
        for key in expected.keys() | found.keys():
            count, seen = expected.get(key, 0), list(found.get(key, ()))
            if topic == topics.pairs:
                wrong = (max(0, count - len(seen)), max(0, len(seen) - count) + _not(seen, f"{key}+{key}"), 0)
            elif caching:
                wrong = _last_is(seen, count)
            else:
                wrong = _counts_up(seen, count)
            if any(wrong):
                lost, doubled, disordered = lost + wrong[0], doubled + wrong[1], disordered + wrong[2]
                if len(examples) < 3:
                    examples.append(f"{topic.rsplit('.')[-1]} of {key}: {_short(seen)} instead of 1 to {count}")
    return Found(lost, doubled, disordered, tuple(examples))


def _counts_up(seen: list[str | int], count: int) -> tuple[int, int, int]:
    """From 1 to a number, each once and in order: how many are lost, too many, and out of order."""
    right = set(range(1, count + 1))
    lost = len(right - set(seen))
    doubled = len(seen) - len(right & set(seen))
    return lost, doubled, int(not lost and not doubled and seen != sorted(seen))


def _last_is(seen: list[str | int], count: int) -> tuple[int, int, int]:
    last = int(seen[-1]) if seen else 0
    twice = len(seen) - len(set(seen))
    return max(0, count - last), max(0, last - count) + twice, 0


def _not(seen: list[str | int], right: str) -> int:
    return sum(value != right for value in seen)


def _short(seen: list[str | int]) -> str:
    times = Counter(seen)
    twice = [value for value, count in times.items() if count > 1]
    return f"{len(seen)} values up to {seen[-1] if seen else 'none'}, twice {twice[:5]}"
