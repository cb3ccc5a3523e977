"""How many partitions repartition topics have, and whether joined topics have equally many.

A repartition topic gets the number the user fixed, else the greatest of all topics read by the sub-topologies that
write to it. Then topics that are joined are made to agree: repartition topics follow external ones, or a fixed number
among them, or the greatest of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.errors import TopologyError
from millstream.topology.nodes import SinkNode, SourceNode
from millstream.topology.topology import Topology


def resolve_partitions(topology: Topology, external: Mapping[str, int]) -> dict[str, int]:
    """Count the partitions of a topology's internal topics.

    Args:
        topology: the topology.
        external: partition counts of the topics that exist; those of all sources are needed, others do no harm.

    Returns:
        The count of every internal topic, by its name without the application's prefix.
    """
    sources = _source_topics(topology, external)
    counts = _own_counts(topology, sources, external)
    for group in _topic_groups(topology, sources):
        _agree(group, topology.internal_topics, counts, external)
    return counts


def check_fixed_partitions(topology: Topology) -> None:
    """Refuse a join of repartition topics for which the user fixed different numbers; needs no broker."""
    for names in topology.copartition_groups:
        fixed: dict[str, int | None] = {}
        for name in names:
            for topic in _source(topology, name).topics:
                fixed[topic] = topology.internal_topics.get(topic)
        if None not in fixed.values():
            _check_equal_fixed({topic: count for topic, count in fixed.items() if count is not None})


def _source(topology: Topology, name: str) -> SourceNode:
    node = topology.nodes.get(name)
    if not isinstance(node, SourceNode):
        raise TopologyError(
            f"{name} cannot be co-partitioned", detail="it is not a source of the topology", hint="name source nodes"
        )
    return node


def _source_topics(topology: Topology, external: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """The topics of every source that makes tasks, patterns replaced by what they match."""
    global_sources = {store.source for store in topology.global_stores.values()}
    found: dict[str, tuple[str, ...]] = {}
    missing: list[str] = []
    for node in topology.nodes.values():
        if not isinstance(node, SourceNode) or node.name in global_sources:
            continue
        if node.pattern is None:
            found[node.name] = node.topics
            missing += [
                topic for topic in node.topics if topic not in external and topic not in topology.internal_topics
            ]
        else:
            found[node.name] = tuple(topic for topic in external if node.pattern.fullmatch(topic))
    if missing:
        raise TopologyError(
            f"missing source topics {', '.join(sorted(missing))}",
            detail=f"there are {', '.join(sorted(external)) or 'no topics'}",
            hint="create the input topics before the application is started",
        )
    return found


def _own_counts(
    topology: Topology, sources: Mapping[str, tuple[str, ...]], external: Mapping[str, int]
) -> dict[str, int]:
    """The counts of internal topics before joined ones are made to agree."""
    read_by_writers: dict[str, set[str]] = {topic: set() for topic in topology.internal_topics}
    for sub_topology in topology.sub_topologies():
        read = {topic for name in sub_topology.nodes for topic in sources.get(name, ())}
        for name in sub_topology.nodes:
            node = topology.nodes[name]
            if isinstance(node, SinkNode) and isinstance(node.topic, str) and node.topic in read_by_writers:
                read_by_writers[node.topic] |= read

    counts = {topic: count for topic, count in topology.internal_topics.items() if count is not None}

    def known(topic: str) -> int | None:
        return counts.get(topic) if topic in topology.internal_topics else external[topic]

    while waiting := [topic for topic in topology.internal_topics if topic not in counts]:
        # A topic waits for all that its writers read. Where topics wait for one another (a foreign-key join's do),
        # those known so far must do.
        best = {topic: [known(other) for other in read_by_writers[topic]] for topic in waiting}
        complete = [topic for topic in waiting if best[topic] and None not in best[topic]]
        partial = [topic for topic in waiting if any(count is not None for count in best[topic])]
        chosen = complete or partial[:1]
        if not chosen:
            raise TopologyError(
                "failed to compute number of partitions for all repartition topics",
                detail=f"nothing is known about {', '.join(waiting)}",
                hint="make sure that all input topics exist and every pattern matches at least one",
            )
        for topic in chosen:
            counts[topic] = max(count for count in best[topic] if count is not None)
    return {topic: counts[topic] for topic in topology.internal_topics}


def _topic_groups(topology: Topology, sources: Mapping[str, tuple[str, ...]]) -> list[list[str]]:
    """Topics that must agree. Groups that have a topic in common are one."""
    groups: list[set[str]] = []
    for names in topology.copartition_groups:
        group = {topic for name in names for topic in sources[_source(topology, name).name]}
        for other in [other for other in groups if other & group]:
            groups.remove(other)
            group |= other
        groups.append(group)
    return [sorted(group) for group in groups if group]


def _agree(
    group: Iterable[str], internal: Mapping[str, int | None], counts: dict[str, int], external: Mapping[str, int]
) -> None:
    repartitioned = [topic for topic in group if topic in internal]
    given = {topic: external[topic] for topic in group if topic not in internal}
    fixed = {topic: count for topic in repartitioned if (count := internal[topic]) is not None}
    if given:
        if len(set(given.values())) > 1:
            raise TopologyError(
                f"topics not co-partitioned: {_listed(given)}",
                detail="they are joined, so that equal keys must be in partitions of equal number",
                hint="repartition() one side first, or create the topics with equally many partitions",
            )
        count = next(iter(given.values()))
    elif fixed:
        _check_equal_fixed(fixed)
        count = next(iter(fixed.values()))
    else:
        count = max(counts[topic] for topic in repartitioned)
    for topic in repartitioned:
        if fixed.get(topic, count) != count:
            raise TopologyError(
                f"number of partitions [{fixed[topic]}] of repartition topic [{topic}] doesn't match number of "
                f"partitions [{count}] of the source topic",
                detail=f"it is joined with {_listed(given)}",
                hint="leave out the number of partitions in Repartitioned, or give the source topic's",
            )
        counts[topic] = count


def _check_equal_fixed(fixed: Mapping[str, int]) -> None:
    if len(set(fixed.values())) > 1:
        raise TopologyError(
            f"following topics do not have the same number of partitions: {_listed(fixed)}",
            detail="they are joined, so that equal keys must be in partitions of equal number",
            hint="give the same number of partitions in both Repartitioned",
        )


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{topic} ({count})" for topic, count in sorted(counts.items()))
