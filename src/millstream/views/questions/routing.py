"""Whom to ask for a partition."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.views.answers import Instance
from millstream.views.instance.announcements import Announcement


def candidates(
    me: str, store: str, task: str, alive: Mapping[str, Announcement], *, local: bool, allow_standby: bool
) -> list[Instance]:
    """The instances that can answer, the best first: who answers for the task, else any other copy that has read up.

    Args:
        me: this instance.
        store: the store.
        task: the task whose copy is asked.
        alive: the instances that are alive.
        local: whether this instance has a copy that has read up: it knows that better than its announcement.
        allow_standby: the caller takes any copy, so that the nearest is the best.
    """
    found = []
    for name, member in alive.items():
        if local if name == me else member.has_read_up(task, store):
            position = member.copies.get(task, {}).get(store)
            rank = (
                not (allow_standby and name == me),
                task not in member.owned,
                name != me,
                0 if position is None else -position.position,
            )
            found.append((rank, name))
    return [alive[name].instance for _, name in sorted(found)]
