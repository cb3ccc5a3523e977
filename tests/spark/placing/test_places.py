"""Lanes stay where they are, and move few at a time."""

from __future__ import annotations

from collections import Counter

from millstream.spark.placing.places import Executor, Places


def executors(*cores: int) -> list[Executor]:
    return [Executor(str(number), f"host-{number}", count) for number, count in enumerate(cores)]


def names(places: list[Executor]) -> list[str]:
    return [place.id for place in places]


def test_every_lane_has_a_core_of_its_own() -> None:
    assert Counter(names(Places(6, 2).settle(executors(2, 3, 1)))) == {"0": 2, "1": 3, "2": 1}


def test_lanes_are_spread_over_hosts() -> None:
    one_host = [Executor("0", "a", 2), Executor("1", "a", 2), Executor("2", "b", 2)]
    assert Counter(place.host for place in Places(2, 2).settle(one_host)) == {"a": 1, "b": 1}


def test_nobody_moves_while_executors_live_also_if_others_come() -> None:
    places = Places(4, 2)
    before = places.settle(executors(2, 2))
    assert places.settle(executors(2, 2)) == before
    assert places.settle(executors(2, 2, 4)) == before


def test_lanes_of_a_lost_executor_go_to_the_others_at_once_and_others_stay() -> None:
    places = Places(6, 1)
    before = names(places.settle(executors(2, 2, 2)))
    after = names(places.settle(executors(2, 2, 2)[1:]))
    assert Counter(after) == {"1": 3, "2": 3}
    assert all(now == then for now, then in zip(after, before, strict=True) if then != "0")


def test_to_an_executor_that_comes_for_a_lost_one_few_move_at_a_time() -> None:
    places = Places(6, 1)
    places.settle(executors(3, 3))
    left = names(places.settle(executors(3)))
    both = [*executors(3), Executor("9", "host-9", 3)]
    for moved in (1, 2, 3, 3):
        now = names(places.settle(both))
        assert Counter(now) == {"0": 6 - moved, "9": moved}
        assert sum(one != other for one, other in zip(now, left, strict=True)) == moved


def test_more_lanes_than_cores_are_shared_out_evenly() -> None:
    assert Counter(names(Places(7, 2).settle(executors(1, 2)))) == {"0": 2, "1": 5}
