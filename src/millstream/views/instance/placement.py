"""Which instance has copies of which tasks.

Kafka's group protocol says who answers for a task. Where the copies in reserve are, everybody works out alike: those
whose hash with the task is the least (rendezvous hashing), so that one that comes or goes moves few of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b

from millstream.views.instance.announcements import Announcement


def standbys(task: str, owner: str | None, instances: Iterable[str], replicas: int) -> list[str]:
    """The instances that keep a task's copies in reserve.

    >>> standbys("0_1", "a", ["a", "b"], 1)
    ['b']
    """
    others = sorted((name for name in instances if name != owner), key=lambda name: (_weight(task, name), name))
    return others[:replicas]


def _weight(task: str, instance: str) -> bytes:
    return blake2b(f"{task}\0{instance}".encode(), digest_size=8).digest()


def owner_of(task: str, members: Mapping[str, Announcement]) -> str | None:
    """Who says that he answers for a task. If two do, for a moment, the one whose copies have read up."""
    claims = [name for name, member in members.items() if task in member.owned]
    return next((name for name in claims if members[name].has_all_of(task)), claims[0] if claims else None)


def wanted(
    me: str, tasks: Iterable[str], members: Mapping[str, Announcement], held: Collection[str], replicas: int
) -> set[str]:
    """The tasks of which an instance is to have copies.

    Its own, those it is a standby of, and those that it has and nobody else could answer for: a copy goes only when
    its owner has one.

    Args:
        me: the instance.
        tasks: all tasks.
        members: the instances there are, this one included.
        held: the tasks of which it has copies.
        replicas: how many copies in reserve there are to be.
    """
    found = set()
    for task in tasks:
        owner = owner_of(task, members)
        alone = owner is None or not members[owner].has_all_of(task)
        if owner == me or me in standbys(task, owner, members, replicas) or (task in held and alone):
            found.add(task)
    return found
