"""Getting an application ready for lanes of its own: it is one query, and what it was before must fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from confluent_kafka import KafkaException

from millstream.changelogs import changelogs_of
from millstream.config import StreamsConfig
from millstream.errors import StreamsError
from millstream.hosting.lanes.notes import slots_topic
from millstream.hosting.lanes.outline import Outline, read_outline
from millstream.hosting.lanes.preparing import planned, prepare
from millstream.hosting.lanes.query import HostedQuery
from millstream.kafka.admin import Admin, Partition
from millstream.kafka.clients import make_producer
from millstream.kafka.errors import translate
from millstream.topology.topology import Topology

_SECONDS = 30.0


def prepare_application(topology: Topology, config: StreamsConfig, admin: Admin) -> HostedQuery:
    """Make what an application needs in Kafka; what is there already is left as it is.

    Args:
        topology: what it does.
        config: how, and under which `application_id`.
        admin: Kafka.

    Raises:
        MillstreamError: an input is missing, or the topology does not fit what the application was before.
    """
    application = config.application_id
    there = admin.topics()
    slots = slots_topic(application)
    is_new = slots.name not in there
    if is_new and f"{application}-progress" in there:
        raise StreamsError(
            f"application '{application}' has run in batches before",
            detail="where it stands is in its checkpoint; processing_mode is 'continuous', the default",
            hint="set processing_mode to 'micro_batch', begin anew with `millstream reset`, or take another "
            "application_id",
        )
    known: dict[Partition, int] = {}
    if is_new:  # else tasks have noted where they are
        _refuse_state_without_notes(topology, config, there, admin)
        read = HostedQuery(application, topology, config, there, {}).external_inputs
        known = admin.committed_offsets(read, application)
    before = None if is_new else read_outline(config, slots.name, application)
    if before is not None:
        before.check(Outline.of(planned(application, topology, config, there)))
    query = replace(prepare(application, topology, config, admin, known=known), tries=0)
    stride = len({task.sub_topology for task in query.tasks}) if before is None else before.stride
    count = max(1, len(query.tasks)) if is_new else there[slots.name]
    if is_new:
        admin.ensure_topic(slots_topic(application, count))
    query = replace(query, slots=count, stride=max(1, stride))
    outline = Outline.of(query)
    if outline != before:
        _write(config, slots.name, outline)
    return query


def _refuse_state_without_notes(
    topology: Topology, config: StreamsConfig, there: Mapping[str, int], admin: Admin
) -> None:
    """Begin with empty state only where there was none."""
    application = config.application_id
    topics = {log.topic for log in changelogs_of(topology, application).values() if not log.is_source}
    places = [(topic, number) for topic in sorted(topics & there.keys()) for number in range(there[topic])]
    written = sorted({topic for (topic, _), end in admin.end_offsets(places, committed=False).items() if end})
    if written:
        raise StreamsError(
            f"where application '{application}' stands is not known",
            detail=f"its stores have changes in {', '.join(written)}, but there is no topic "
            f"{slots_topic(application).name}",
            hint="begin anew with `millstream reset`, or take another application_id",
        )


def _write(config: StreamsConfig, topic: str, outline: Outline) -> None:
    producer = make_producer(replace(config, processing_guarantee="at_least_once"))
    try:
        producer.produce(topic, outline.encode(), outline.key, 0)
        left = producer.flush(_SECONDS)
    except KafkaException as error:
        raise translate(error, "write what the application is", config.bootstrap_servers) from error
    if left:
        raise StreamsError("what the application is could not be written", detail=f"to topic {topic}")
