"""Where the tasks of an application and the copies of its stores are, and how far each is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from millstream.errors import MillstreamError
from millstream.hosting.restoring import Restoring
from millstream.views.answers import PartitionLag
from millstream.views.api import Views


class RunningTasks(Protocol):
    """What is asked of an application; `KafkaStreams` is one."""

    def tasks(self) -> dict[str, dict[str, Any]]:
        """What each task last reported."""

    def lanes(self) -> dict[int, list[str]]:
        """The names of the tasks in each lane."""


def tasks_json(running: RunningTasks, restores: Mapping[str, Restoring]) -> list[dict[str, Any]]:
    """All tasks: the lane of each, what it reported last, and how far it is restored if it was."""
    told = running.tasks()
    return [
        {
            "task": name,
            "lane": lane,
            "restored": restores[name].percent if name in restores else None,
            "rest": restores[name].rest if name in restores else None,
            **{
                shown: told.get(name, {}).get(reported)
                for shown, reported in (
                    ("processed", "processed"),
                    ("dropped", "dropped"),
                    ("streamTime", "stream_time"),
                    ("stateBytes", "state_bytes"),
                    ("restoredRecords", "restored"),
                )
            },
        }
        for lane, names in running.lanes().items()
        for name in names
    ]


def copies_json(views: Views) -> dict[str, Any]:
    """Which instance has which partitions of stores, as owner or standby; of those here, how far they have read."""
    try:
        lags = views.local_partition_lags()
        stores = {
            name: [
                {
                    "instance": has.instance.id,
                    "here": has.instance == views.instance,
                    "partitions": [
                        {
                            "partition": number,
                            "standby": number in has.standby_partitions,
                            **(_lag(lags.get(name, {}).get(number)) if has.instance == views.instance else {}),
                        }
                        for number in sorted(has.partitions | has.standby_partitions)
                    ],
                }
                for has in views.metadata_for_store(name)
            ]
            for name in views.stores()
        }
    except MillstreamError as error:  # they begin, or the broker is away
        return {"problem": error.primary, "stores": {}}
    return {"problem": None, "stores": stores}


def _lag(found: PartitionLag | None) -> dict[str, Any]:
    if found is None:
        return {}
    return {"position": found.position, "end": found.end, "staleMs": found.stale_ms}
