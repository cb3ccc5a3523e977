"""Which lane stands by for which slot.

Nobody can tell the group's assignor (librdkafka's cooperative-sticky) to whom it should give the slots of a lane that
is gone, but it is known what it does: it begins with the last of them, and gives each to the lane that has fewest by
then. So every lane works out alike who would get a slot if its owner's machine went, and that lane stands by for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from hashlib import blake2b

from millstream.hosting.lanes.standing_by.group import Member


def standbys(members: Collection[Member], replicas: int) -> dict[int, list[str]]:
    """The ids of the members that stand by for each slot, the likeliest heir first.

    Of two lanes each has what the other one has:

    >>> one, two = Member("a", "", "h1", frozenset({0, 2})), Member("b", "", "h2", frozenset({1}))
    >>> standbys([one, two], 1)
    {0: ['b'], 2: ['b'], 1: ['a']}
    """
    found: dict[int, list[str]] = {}
    for owner in members:
        machine = [member for member in members if member.host == owner.host]
        by_machine = heirs(members, machine)
        by_lane = heirs(members, [owner])
        others = [member for member in members if member is not owner]
        for slot in sorted(owner.slots):
            further = sorted(others, key=lambda member: (member.host == owner.host, _weight(slot, member)))
            likely = [by_machine.get(slot), by_lane.get(slot), *(member.id for member in further)]
            found[slot] = [name for name in dict.fromkeys(likely) if name is not None][:replicas]
    return found


def heirs(members: Iterable[Member], gone: Collection[Member]) -> dict[int, str]:
    """Who gets the slots of members that are gone; nothing if nobody is left."""
    counts = {member.id: len(member.slots) for member in members if member not in gone}
    found: dict[int, str] = {}
    for slot in sorted((slot for member in gone for slot in member.slots), reverse=True):
        if counts:
            heir = min(counts, key=lambda name: (counts[name], name))
            counts[heir] += 1
            found[slot] = heir
    return found


def share_of_newcomer(members: Collection[Member], replicas: int) -> set[int]:
    """The slots that a lane should have warm before it joins.

    All, if it is to stand by for all that it does not get; else those it gets: the first one of who has most by then,
    as long as that one keeps more.
    """
    if len(members) <= replicas:
        return {slot for member in members for slot in member.slots}
    share: set[int] = set()
    left = {member.id: sorted(member.slots) for member in members}
    while True:
        richest = max(left, key=lambda name: (len(left[name]), name))
        if len(left[richest]) <= len(share) + 1:
            return share
        share.add(left[richest].pop(0))


def _weight(slot: int, member: Member) -> bytes:
    return blake2b(f"{slot}\0{member.client}".encode(), digest_size=8).digest()
