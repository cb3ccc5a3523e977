"""Where the tasks of queries are."""

from __future__ import annotations

from typing import Any

from millstream.console.kafka.looking import Looking
from millstream.console.service.overview import Lanes
from millstream.errors import MillstreamError
from millstream.hosting.lanes.notes import slots_topic


def lanes_json(lanes: Lanes, looking: Looking, service: str) -> dict[str, Any]:
    """The lanes of all servers with their slots, and the tasks in those of this server.

    Args:
        lanes: where queries run.
        looking: asks Kafka.
        service: the name that the service has in Kafka.
    """
    tasks = lanes.tasks()
    return {
        "here": [
            {
                "lane": lane,
                "host": host,
                "process": process,
                "queries": [
                    {"query": query, "tasks": list(found[lane][0]), "restoring": dict(found[lane][1])}
                    for query, found in tasks.items()
                    if any(found.get(lane, ()))
                ],
            }
            for lane, (host, process) in sorted(lanes.places().items())
        ],
        "slots": slots_topic(service).partitions,
        **_members(looking, service),
    }


def _members(looking: Looking, service: str) -> dict[str, Any]:
    try:
        group = looking.group(f"{service}-lanes")
    except MillstreamError as error:
        return {"state": None, "members": [], "problem": error.primary}
    return {
        "state": group.state,
        "members": [
            {"client": member.client, "host": member.host, "slots": sorted(number for _, number in member.partitions)}
            for member in group.members
        ],
    }
