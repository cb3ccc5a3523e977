"""Whether an application can go on with the state that another topology, or the same one, has left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Shape(NamedTuple):
    """What state depends on.

    Args:
        tasks: how many tasks each sub-topology has.
        stores: the sub-topology of each store.
        kinds: what the rows of stores are, where that is known.
    """

    tasks: Mapping[Any, int]
    stores: Mapping[str, Any]
    kinds: Mapping[str, str]


def what_cannot_follow(before: Shape, now: Shape) -> list[str]:
    """What is in the way, in words; nothing if state can follow."""
    problems = []
    for store, part in before.stores.items():
        if store not in now.stores:
            problems.append(f"store '{store}' is gone")
        elif now.stores[store] != part:
            problems.append(f"store '{store}' moved from sub-topology {part} to {now.stores[store]}")
    for store, kind in before.kinds.items():
        if now.kinds.get(store, kind) != kind:
            problems.append(f"store '{store}' was a {kind} store and is a {now.kinds[store]} store")
    stateful = set(map(str, before.stores.values()))
    for part, count in before.tasks.items():
        # Without state, it does not matter that equal keys may now lie in other partitions.
        if str(part) in stateful and now.tasks.get(part, count) != count:
            problems.append(f"sub-topology {part} had {count} partitions and has {now.tasks[part]}")
    return problems
