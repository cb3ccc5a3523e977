"""Who stands by for what follows what the group's assignor does, as it was seen to do."""

from __future__ import annotations

import pytest

from millstream.hosting.lanes.standing_by.group import Member, assigned
from millstream.hosting.lanes.standing_by.placement import heirs, share_of_newcomer, standbys

Slots = dict[str, list[int]]

# Seen with librdkafka 2.16: who went, the slots of each before, and after.
LOSSES: list[tuple[str, Slots, Slots]] = [
    (
        "c3-bc2",
        {"c0-c59": [0, 4, 8, 12], "c1-3fc": [1, 5, 9], "c2-35d": [2, 6, 10], "c3-bc2": [3, 7, 11]},
        {"c0-c59": [0, 3, 4, 8, 12], "c1-3fc": [1, 5, 9, 11], "c2-35d": [2, 6, 7, 10]},
    ),
    (
        "c0-450",
        {"c0-450": [0, 2, 4], "c1-b97": [5, 6, 7], "c2-7f2": [1, 3]},
        {"c1-b97": [2, 5, 6, 7], "c2-7f2": [0, 1, 3, 4]},
    ),
    (
        "c3-b5e",
        {"c1-b97": [5, 6, 7], "c2-7f2": [1, 3, 4], "c3-b5e": [0, 2]},
        {"c1-b97": [2, 5, 6, 7], "c2-7f2": [0, 1, 3, 4]},
    ),
    (
        "c4-b12",
        {"c0-c59": [4, 8, 12], "c1-3fc": [5, 9, 11], "c2-35d": [6, 7, 10], "c4-b12": [1, 2], "c5-d57": [0, 3]},
        {"c0-c59": [1, 4, 8, 12], "c1-3fc": [5, 9, 11], "c2-35d": [6, 7, 10], "c5-d57": [0, 2, 3]},
    ),
    (
        "c5-d57",
        {"c0-c59": [1, 4, 8, 12], "c1-3fc": [5, 9, 11], "c2-35d": [6, 7, 10], "c5-d57": [0, 2, 3]},
        {"c0-c59": [0, 1, 4, 8, 12], "c1-3fc": [3, 5, 9, 11], "c2-35d": [2, 6, 7, 10]},
    ),
    (
        "c1-b97",
        {"c1-b97": [5, 6, 7], "c2-7f2": [1, 3, 4], "c4-986": [0, 2]},
        {"c2-7f2": [1, 3, 4, 6], "c4-986": [0, 2, 5, 7]},
    ),
    (
        "c0-c59",
        {"c0-c59": [0, 1, 4, 8, 12], "c1-3fc": [3, 5, 9, 11], "c2-35d": [2, 6, 7, 10]},
        {"c1-3fc": [0, 3, 4, 5, 9, 11, 12], "c2-35d": [1, 2, 6, 7, 8, 10]},
    ),
    (
        "c6-169",
        {"c1-3fc": [4, 5, 9, 11, 12], "c2-35d": [6, 7, 8, 10], "c6-169": [0, 1, 2, 3]},
        {"c1-3fc": [0, 2, 4, 5, 9, 11, 12], "c2-35d": [1, 3, 6, 7, 8, 10]},
    ),
]
# The same with who came.
JOINS: list[tuple[str, Slots, Slots]] = [
    (
        "c4-b12",
        {"c0-c59": [0, 3, 4, 8, 12], "c1-3fc": [1, 5, 9, 11], "c2-35d": [2, 6, 7, 10]},
        {"c0-c59": [3, 4, 8, 12], "c1-3fc": [5, 9, 11], "c2-35d": [6, 7, 10], "c4-b12": [0, 1, 2]},
    ),
    (
        "c3-b5e",
        {"c1-b97": [2, 5, 6, 7], "c2-7f2": [0, 1, 3, 4]},
        {"c1-b97": [5, 6, 7], "c2-7f2": [1, 3, 4], "c3-b5e": [0, 2]},
    ),
    (
        "c5-d57",
        {"c0-c59": [3, 4, 8, 12], "c1-3fc": [5, 9, 11], "c2-35d": [6, 7, 10], "c4-b12": [0, 1, 2]},
        {"c0-c59": [4, 8, 12], "c1-3fc": [5, 9, 11], "c2-35d": [6, 7, 10], "c4-b12": [1, 2], "c5-d57": [0, 3]},
    ),
    (
        "c4-986",
        {"c1-b97": [2, 5, 6, 7], "c2-7f2": [0, 1, 3, 4]},
        {"c1-b97": [5, 6, 7], "c2-7f2": [1, 3, 4], "c4-986": [0, 2]},
    ),
    (
        "c5-dd4",
        {"c2-7f2": [1, 3, 4, 6], "c4-986": [0, 2, 5, 7]},
        {"c2-7f2": [3, 4, 6], "c4-986": [2, 5, 7], "c5-dd4": [0, 1]},
    ),
    (
        "c6-169",
        {"c1-3fc": [0, 3, 4, 5, 9, 11, 12], "c2-35d": [1, 2, 6, 7, 8, 10]},
        {"c1-3fc": [4, 5, 9, 11, 12], "c2-35d": [6, 7, 8, 10], "c6-169": [0, 1, 2, 3]},
    ),
    (
        "c6-9f7",
        {"c2-7f2": [3, 4, 6], "c4-986": [2, 5, 7], "c5-dd4": [0, 1]},
        {"c2-7f2": [4, 6], "c4-986": [5, 7], "c5-dd4": [0, 1], "c6-9f7": [2, 3]},
    ),
    (
        "c7-df3",
        {"c1-3fc": [0, 2, 4, 5, 9, 11, 12], "c2-35d": [1, 3, 6, 7, 8, 10]},
        {"c1-3fc": [4, 5, 9, 11, 12], "c2-35d": [6, 7, 8, 10], "c7-df3": [0, 1, 2, 3]},
    ),
]


def members(slots: Slots, hosts: dict[str, str] | None = None) -> list[Member]:
    return [Member(name, name, (hosts or {}).get(name, "here"), frozenset(has)) for name, has in slots.items()]


@pytest.mark.parametrize(("lost", "before", "after"), LOSSES)
def test_the_heir_is_who_gets_the_slot(lost: str, before: Slots, after: Slots) -> None:
    group = members(before)
    found = heirs(group, [member for member in group if member.id == lost])
    assert found == {slot: name for name, slots in after.items() for slot in slots if slot in before[lost]}
    assert {slot: names[0] for slot, names in standbys(group, 1).items() if slot in before[lost]} == found


@pytest.mark.parametrize(("new", "before", "after"), JOINS)
def test_a_newcomer_gets_what_it_has_in_reserve(new: str, before: Slots, after: Slots) -> None:
    assert share_of_newcomer(members(before), 1) == set(after[new])


def test_a_newcomer_has_all_in_reserve_if_it_is_to_stand_by_for_all() -> None:
    assert share_of_newcomer(members({"a": [0, 2]}), 1) == {0, 2}
    assert share_of_newcomer(members({"a": [0], "b": [1]}), 2) == {0, 1}


def test_a_standby_is_on_another_machine_if_there_is_one() -> None:
    hosts = {"a": "one", "b": "one", "c": "two", "d": "two"}
    group = members({"a": [0, 4], "b": [1, 5], "c": [2, 6], "d": [3, 7]}, hosts)
    for slot, (first,) in standbys(group, 1).items():
        owner = next(member for member in group if slot in member.slots)
        assert hosts[first] != hosts[owner.id]
    gone = [member for member in group if member.host == "one"]
    expected = heirs(group, gone)  # whole machines go
    assert {slot: names[0] for slot, names in standbys(group, 1).items() if slot in expected} == expected


def test_there_are_as_many_as_wanted_and_possible() -> None:
    group = members({"a": [0], "b": [1], "c": [2]})
    assert all(len(set(names)) == 2 for names in standbys(group, 2).values())
    assert all(len(set(names)) == 2 for names in standbys(group, 5).values())
    assert standbys(members({"a": [0, 1]}), 1) == {0: [], 1: []}
    assert standbys([], 1) == {}


def test_an_assignment_is_read() -> None:
    data = b"\0\1" + b"\0\0\0\2" + b"\0\1x" + b"\0\0\0\1\0\0\0\7" + b"\0\1t" + b"\0\0\0\2\0\0\0\3\0\0\1\0" + b"\0\0\0\0"
    assert list(assigned(data, "t")) == [3, 256]
    assert list(assigned(b"", "t")) == []
