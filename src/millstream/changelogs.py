"""Changelog topics: where the changes of stores are kept in Kafka, so that state can be rebuilt from it and asked for.

A store of an application has the topic `<application id>-<store>-changelog`, with a partition for each task, unless it
is a table that is read straight from a topic and the optimisation lets that topic serve (`source_topic_changelogs`).
How a change lies in the topic is the store's business (`StateStore.log_records`, `StateStore.apply_records`): key and
value as Kafka Streams writes them, with timestamps as the records' own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millstream.config import StreamsConfig
from millstream.durations import milliseconds
from millstream.kafka.topics import NewTopic, changelog_topic, versioned_changelog_topic, window_changelog_topic
from millstream.state.builders import StoreBuilder
from millstream.task.stores import store_topic, used_stores
from millstream.topology.topology import Topology


@dataclass(frozen=True)
class Changelog:
    """The topic that a store can be rebuilt from.

    Args:
        store: the store's name.
        topic: the topic's name on the broker.
        is_source: it is a topic that the application reads; nothing is written to it.
        sub_topology: whose tasks have the store.
    """

    store: str
    topic: str
    is_source: bool
    sub_topology: int


def changelogs_of(topology: Topology, application_id: str) -> dict[str, Changelog]:
    """The changelogs of all logged stores, by store. Global stores have none: their topic is all there is."""
    found: dict[str, Changelog] = {}
    for part in topology.sub_topologies():
        if part.is_global:
            continue
        for store in used_stores(topology.nodes[name] for name in part.nodes):
            if not topology.stores[store].logging:
                continue
            is_source = store in topology.source_topic_changelogs
            found[store] = Changelog(store, store_topic(topology, store, application_id), is_source, part.id)
    return found


def new_topics(
    changelogs: Mapping[str, Changelog], topology: Topology, config: StreamsConfig, partitions: Mapping[int, int]
) -> list[NewTopic]:
    """The changelog topics that the application creates, with Kafka Streams' settings.

    Args:
        changelogs: of which stores.
        topology: where these are described.
        config: the application's configuration.
        partitions: how many tasks each sub-topology has.
    """
    return [
        _new_topic(topology.stores[name], changelog.topic, partitions[changelog.sub_topology], config)
        for name, changelog in changelogs.items()
        if not changelog.is_source
    ]


def _new_topic(builder: Any, topic: str, partitions: int, config: StreamsConfig) -> NewTopic:
    if not isinstance(builder, StoreBuilder):
        return changelog_topic(topic, partitions, getattr(builder, "log_config", None) or {})
    supplier, settings = builder.supplier, builder.log_config
    if supplier.history_retention_ms is not None:
        return versioned_changelog_topic(topic, partitions, history_ms=supplier.history_retention_ms, config=settings)
    if supplier.retention_ms is not None:
        additional = milliseconds(
            config.windowstore_changelog_additional_retention, "windowstore_changelog_additional_retention"
        )
        return window_changelog_topic(
            topic,
            partitions,
            retention_ms=supplier.retention_ms,
            additional_ms=additional,
            duplicates=supplier.retain_duplicates,
            config=settings,
        )
    return changelog_topic(topic, partitions, settings)
