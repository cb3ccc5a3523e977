"""A lane that comes to others waits until it is known who is alive, and until it is warm."""

from __future__ import annotations

import pytest

from millstream import StreamsConfig
from millstream.hosting.lanes.settings import LaneSettings
from millstream.hosting.lanes.standing_by.group import Member
from millstream.hosting.lanes.standing_by.joining import Joining


def joining(*, is_replacement: bool = False, **client: str) -> Joining:
    config = StreamsConfig(application_id="app", client=client)
    return Joining(LaneSettings(config, "app", "new-1", is_replacement=is_replacement))


def member(name: str, number: int = 0) -> Member:
    return Member(f"app-{name}-{number}", f"app-{name}", "here", frozenset({number}))


def test_the_first_one_joins_at_once() -> None:
    lane = joining()
    assert not lane.is_over
    assert not lane.waits
    lane.consider([], [], 100.0, has_all=True)
    assert lane.is_over


def test_those_that_start_together_join_at_once() -> None:
    lane = joining()
    lane.consider([member("new-0")], [], 100.0, has_all=False)
    assert lane.is_over


@pytest.mark.parametrize(("other", "is_replacement"), [("old-0", False), ("new-0", True)])
def test_one_that_comes_to_others_waits_until_it_is_warm(other: str, is_replacement: bool) -> None:
    lane = joining(is_replacement=is_replacement)
    for now in range(100, 120):
        lane.consider([member(other)], [0], float(now), has_all=False)
    lane.consider([member(other)], [0, None], 120.0, has_all=True)
    lane.consider([member(other)], [0, 10_001], 121.0, has_all=True)
    assert not lane.is_over
    assert lane.waits
    lane.consider([member(other)], [0, 10_000], 122.0, has_all=True)
    assert lane.is_over
    assert not lane.waits


def test_how_much_it_may_lack_is_configured() -> None:
    config = StreamsConfig(application_id="app", acceptable_recovery_lag=5)
    lane = Joining(LaneSettings(config, "app", "new-1"))
    for now in range(100, 120):
        lane.consider([member("old-0")], [6], float(now), has_all=True)
    assert not lane.is_over
    lane.consider([member("old-0")], [5], 120.0, has_all=True)
    assert lane.is_over


def test_it_waits_until_those_that_are_gone_are_known_to_be() -> None:
    """Else the group would give it the tasks of the one whose place it takes, which others have in reserve."""
    lane = joining(is_replacement=True)
    for now in (100.0, 103.0, 106.0):
        lane.consider([member("new-0"), member("new-1")], [], now, has_all=True)
    lane.consider(None, [], 106.1, has_all=True)  # slots are shared out anew
    lane.consider([member("new-0")], [], 106.5, has_all=True)
    lane.consider([member("new-0")], [], 113.0, has_all=True)
    assert not lane.is_over
    lane.consider([member("new-0")], [], 113.6, has_all=True)
    assert lane.is_over


def test_it_joins_when_all_others_are_gone() -> None:
    lane = joining(is_replacement=True)
    lane.consider([member("new-0")], [None], 100.0, has_all=False)
    lane.consider([], [None], 106.0, has_all=False)
    assert lane.is_over


def test_a_longer_session_is_waited_for() -> None:
    lane = joining(is_replacement=True, **{"session.timeout.ms": "20000"})
    lane.consider([member("new-0")], [], 100.0, has_all=True)
    lane.consider([member("new-0")], [], 120.0, has_all=True)
    assert not lane.is_over
    lane.consider([member("new-0")], [], 121.0, has_all=True)
    assert lane.is_over


def test_it_does_not_wait_for_ever() -> None:
    lane = joining(is_replacement=True)
    for now in range(100, 1900, 10):
        lane.consider([member("new-0")], [None], float(now), has_all=False)
    assert not lane.is_over
    lane.consider([member("new-0")], [None], 1901.0, has_all=False)
    assert lane.is_over


def test_it_joins_if_nobody_tells_who_is_there() -> None:
    lane = joining()
    lane.consider(None, [], 100.0, has_all=False)
    lane.consider(None, [], 130.0, has_all=False)
    assert not lane.is_over
    lane.consider(None, [], 130.1, has_all=False)
    assert lane.is_over
