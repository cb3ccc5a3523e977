"""Getting a query ready for lanes: its internal topics, and where it begins to read."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from millstream.changelogs import changelogs_of, new_topics
from millstream.config import StreamsConfig
from millstream.errors import ArgumentError
from millstream.hosting.lanes.query import HostedQuery
from millstream.kafka.admin import Admin, Partition
from millstream.kafka.topics import repartition_topic
from millstream.topology.nodes import OffsetReset
from millstream.topology.partitions import resolve_partitions
from millstream.topology.topology import Topology


def planned(query_id: str, topology: Topology, config: StreamsConfig, external: Mapping[str, int]) -> HostedQuery:
    """A query with the topics that it will have; nothing is made yet.

    Args:
        query_id: its name.
        topology: what it does.
        config: how, and under which `application_id`.
        external: the topics on the broker, and how many partitions they have.
    """
    between = {f"{config.application_id}-{name}": n for name, n in resolve_partitions(topology, external).items()}
    # Also those that are only written: functions of users may ask how many partitions a topic has.
    return HostedQuery(query_id, topology, config, {**external, **between}, {})


def prepare(
    query_id: str,
    topology: Topology,
    config: StreamsConfig,
    admin: Admin,
    *,
    known: Mapping[Partition, int] | None = None,
) -> HostedQuery:
    """Make what a query needs in Kafka; what is there already is left as it is.

    Args:
        query_id: its name.
        topology: what it does.
        config: how, and under which `application_id`.
        admin: Kafka.
        known: where to begin in inputs, if it is not for the policies of their sources to say.

    Raises:
        MillstreamError: an input is missing, or something does not fit.
    """
    application = config.application_id
    query = planned(query_id, topology, config, admin.topics())
    between = [repartition_topic(name, query.counts[name]) for name in map(query.real_name, topology.internal_topics)]
    tasks = {
        part: 1 + max(task.partition for task in query.tasks if task.sub_topology == part)
        for part in {task.sub_topology for task in query.tasks}
    }
    changelogs = changelogs_of(topology, application)
    admin.create_topics([*between, *new_topics(changelogs, topology, config, tasks)])
    inputs = set(query.external_inputs)
    found = dict(known or {})
    ids = admin.topic_ids({log.topic for log in changelogs.values()} | {topic for topic, _ in inputs})
    return replace(
        query,
        starts={**_starts(query, inputs - found.keys(), admin), **found},
        changelog_ids={store: ids.get(log.topic, "") for store, log in changelogs.items()},
        input_ids={topic: ids.get(topic, "") for topic, _ in inputs},
    )


def _starts(query: HostedQuery, inputs: set[Partition], admin: Admin) -> dict[Partition, int]:
    """Where inputs begin that were never read: as the policies of their sources say, now."""
    by_policy: dict[OffsetReset, list[Partition]] = {}
    for partition in inputs:
        by_policy.setdefault(query.reset_of(partition[0]), []).append(partition)
    starts: dict[Partition, int] = {}
    for policy, partitions in by_policy.items():
        if policy == "none":
            raise ArgumentError(
                f"query {query.id} does not know where to begin",
                detail=f"offset_reset of {partitions[0][0]} is 'none'",
                hint="set it to 'earliest' or 'latest'",
            )
        if policy == "earliest":
            starts |= admin.begin_offsets(partitions)
            continue
        ends = admin.end_offsets(partitions, committed=True)
        if isinstance(policy, timedelta):
            since = int((time.time() - policy.total_seconds()) * 1000)
            found = admin.offsets_for_times(dict.fromkeys(partitions, since), committed=True)
            starts |= {at: ends[at] if offset is None else offset for at, offset in found.items()}
        else:
            starts |= ends
    return starts
