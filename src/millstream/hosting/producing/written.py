"""The topics that an application writes: are they there?"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from millstream.config import StreamsConfig
from millstream.errors import StreamsError
from millstream.kafka.admin import Admin
from millstream.kafka.errors import KafkaError
from millstream.kafka.topics import NewTopic
from millstream.topology.nodes import SinkNode
from millstream.topology.topology import Topology

log = logging.getLogger("millstream.client")

_DEAD_LETTERS = "dead_letter_queue_topic"


def written_topics(topology: Topology, config: StreamsConfig) -> dict[str, str]:
    """The topics that are written by name, and by whom. Those that are chosen for each record are not known."""
    found = {
        node.topic: f"'{node.name}'"
        for node in topology.nodes.values()
        if isinstance(node, SinkNode) and isinstance(node.topic, str) and node.topic not in topology.internal_topics
    }
    if config.dead_letter_queue_topic is not None:
        found.setdefault(config.dead_letter_queue_topic, _DEAD_LETTERS)
    return found


def made_topics(written: Mapping[str, str], known: Mapping[str, int], admin: Admin) -> dict[str, int]:
    """Have all topics that are written: the partitions of those that the broker has just made.

    A broker that creates topics by itself has it done here, so that the first record need not wait for it.

    Raises:
        StreamsError: some are missing, and the broker creates none.
    """
    missing = {topic: writer for topic, writer in written.items() if topic not in known}
    if not missing:
        return {}
    try:
        creates = admin.creates_topics()
    except KafkaError as error:
        log.warning("topics %s are missing; whether the broker makes them is not known: %s", list(missing), error)
        return {}
    if not creates:
        raise StreamsError(
            "topics that are to be written are missing",
            detail=", ".join(f"'{topic}' (written by {writer})" for topic, writer in sorted(missing.items())),
            hint="create them, for instance with: millstream topics create NAME --partitions 4",
        )
    admin.create_topics([NewTopic(topic) for topic in missing])
    return admin.partition_counts(missing)
