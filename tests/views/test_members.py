"""Who is alive, who has which copies, and who is asked."""

from __future__ import annotations

import pytest

from millstream.views.answers import Instance
from millstream.views.instance import announcements, placement
from millstream.views.instance.announcements import Announcement, CopyState, Roster
from millstream.views.questions.routing import candidates

TASKS = [f"0_{number}" for number in range(64)]


def said(name: str, owned: str = "", copies: str = "", reading: str = "", position: int = 10) -> Announcement:
    """An announcement; tasks are named by letters, those of `reading` have not read up."""
    states = {task: {"s": CopyState(position, True)} for task in copies}
    states |= {task: {"s": CopyState(1, False)} for task in reading}
    return Announcement(id=name, host="host", port=1, sent_ms=0, owned=frozenset(owned), copies=states)


def test_the_silent_and_the_gone() -> None:
    roster = Roster("me")
    roster.speak(said("me"), 100.0)
    roster.hear(b"old", announcements.encode(said("old")), 100.0, is_old=True)
    roster.hear(b"other", announcements.encode(said("other", "a")), 100.0)
    roster.hear(b"strange", b"no announcement", 100.0)
    assert list(roster.alive(101.0)) == ["me", "other"]
    assert roster.alive(101.0)["other"].owned == {"a"}
    assert list(roster.alive(101.6)) == ["me"]
    assert list(roster.alive(101.6, announcements.GONE_SECONDS)) == ["me", "other"]
    roster.forget(111.0)
    assert list(roster.alive(111.0, 1000)) == ["me"]
    roster.hear(b"other", announcements.encode(said("other")), 112.0)
    roster.hear(b"other", None, 112.1)
    assert list(roster.alive(112.1)) == ["me"]


def test_what_is_said_is_heard() -> None:
    announcement = said("a", "xy", "x", "y")
    roster = Roster("me")
    roster.hear(b"a", announcements.encode(announcement), 0.0)
    assert roster.alive(0.0)["a"] == announcement
    assert announcement.instance == Instance("a", "host", 1)
    assert announcement.has_read_up("x", "s")
    assert not announcement.has_read_up("x", "t")
    assert not announcement.has_read_up("y", "s")
    assert (announcement.has_all_of("x"), announcement.has_all_of("y"), announcement.has_all_of("z")) == (
        True,
        False,
        False,
    )


def test_standbys_are_others_and_stay_where_they_are() -> None:
    instances = ["a", "b", "c", "d"]
    chosen = {task: placement.standbys(task, "a", instances, 2) for task in TASKS}
    assert all(len(set(found)) == 2 and "a" not in found for found in chosen.values())
    assert {name for found in chosen.values() for name in found} == {"b", "c", "d"}
    assert {task: placement.standbys(task, "a", reversed(instances), 2) for task in TASKS} == chosen
    # One that goes changes only what it had.
    for task in TASKS:
        left = placement.standbys(task, "a", ["a", "b", "c"], 2)
        assert set(chosen[task]) - {"d"} <= set(left)
    assert placement.standbys("0_0", None, ["a"], 3) == ["a"]
    assert placement.standbys("0_0", "a", ["a"], 3) == []


def test_a_copy_goes_only_when_its_owner_has_one() -> None:
    me = said("me", "a", "ab")
    for other, expected in (
        (said("other", "b", "b"), {"a"}),
        (said("other", "b", reading="b"), {"a", "b"}),
        (said("other", "b"), {"a", "b"}),
        (said("other"), {"a", "b"}),
    ):
        assert placement.wanted("me", "abc", {"me": me, "other": other}, {"a", "b"}, 0) == expected
    with_standby = placement.wanted("me", "abc", {"me": me, "other": said("other", "bc", "bc")}, {"a"}, 1)
    assert with_standby == {"a", "b", "c"}


def test_of_two_who_claim_a_task_the_one_that_can_answer_has_it() -> None:
    members = {"x": said("x", "a"), "y": said("y", "a", "a"), "z": said("z", "b")}
    assert placement.owner_of("a", members) == "y"
    assert placement.owner_of("b", members) == "z"
    assert placement.owner_of("c", members) is None


@pytest.mark.parametrize(
    ("local", "allow_standby", "expected"),
    [
        (False, False, ["owner", "far", "near"]),
        (True, False, ["owner", "me", "far", "near"]),
        (True, True, ["me", "owner", "far", "near"]),
    ],
)
def test_whom_to_ask(local: bool, allow_standby: bool, expected: list[str]) -> None:
    alive = {
        "me": said("me", "", "a"),
        "owner": said("owner", "a", "a", position=5),
        "near": said("near", "", "a", position=7),
        "far": said("far", "", "a", position=9),
        "behind": said("behind", "", "", "a"),
        "nothing": said("nothing"),
    }
    found = candidates("me", "s", "a", alive, local=local, allow_standby=allow_standby)
    assert [instance.id for instance in found] == expected


def test_while_nobody_can_answer_nobody_is_asked() -> None:
    alive = {"me": said("me", "", "a"), "new": said("new", "a", "", "a")}
    assert candidates("me", "s", "a", alive, local=False, allow_standby=True) == []
    assert [found.id for found in candidates("me", "s", "a", alive, local=True, allow_standby=False)] == ["me"]
