"""The harness sees what is wrong, and the same seed gives the same schedule."""

from __future__ import annotations

from typing import Any

import pytest

from .harness.schedule import schedule
from .harness.topics import Topics
from .harness.truth import Truth
from .harness.verdict import Verdict, compare

TOPICS = Topics("t.")


def found(values: dict[str, Any], *, caching: bool = False) -> str:
    truth = Truth(3, {TOPICS.counts: {"ann": 3}, TOPICS.pairs: {"7": 1}})
    return str(compare(truth, {TOPICS.counts: {}, TOPICS.pairs: {}, **values}, TOPICS, caching=caching))


@pytest.mark.parametrize(
    ("counts", "pairs", "said"),
    [
        ([1, 2, 3], ["7+7"], "OK"),
        ([1, 3], ["7+7"], "LOST 1"),
        ([1, 2, 2, 3], ["7+7"], "DOUBLED 1"),
        ([1, 2, 3, 4], ["7+7"], "DOUBLED 1"),
        ([1, 2, 4], ["7+7"], "LOST 1 DOUBLED 1"),
        ([1, 3, 2], ["7+7"], "DISORDERED 1"),
        ([1, 2, 3], [], "LOST 1"),
        ([1, 2, 3], ["7+7", "7+7"], "DOUBLED 1"),
    ],
)
def test_every_count_once_and_in_order(counts: list[int], pairs: list[str], said: str) -> None:
    assert found({TOPICS.counts: {"ann": counts}, TOPICS.pairs: {"7": pairs}}) == said


@pytest.mark.parametrize(("counts", "said"), [([3], "OK"), ([1, 3], "OK"), ([2], "LOST 1"), ([1, 4], "DOUBLED 1")])
def test_with_caching_the_last_count_is_right(counts: list[int], said: str) -> None:
    assert found({TOPICS.counts: {"ann": counts}, TOPICS.pairs: {"7": ["7+7"]}}, caching=True) == said


def test_what_nobody_asked_for_is_too_much() -> None:
    values = {TOPICS.counts: {"ann": [1, 2, 3], "bob": [1]}, TOPICS.pairs: {"7": ["7+7"]}}
    assert found(values) == "DOUBLED 1"


def test_doubled_is_worse_than_lost() -> None:
    truth = Truth(1, {TOPICS.counts: {"ann": 3}})
    assert compare(truth, {TOPICS.counts: {"ann": [1, 1]}}, TOPICS, caching=False).verdict is Verdict.DOUBLED


def test_a_seed_gives_the_same_schedule() -> None:
    assert schedule(17) == schedule(17)
    assert len({schedule(seed).faults for seed in range(50)}) > 30
    assert all(fault.for_peer for seed in range(50) for fault in schedule(seed, peer=True).faults)


def test_a_fault_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="no fault 'flood'"):
        schedule(1, only="flood")
