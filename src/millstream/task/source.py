"""Sources: how a topic's records enter the topology."""

from __future__ import annotations

import re

from millstream.config import StreamsConfig
from millstream.extractors import FailOnInvalidTimestamp, TimestampExtractor
from millstream.processors.operator import Forward, forward_to_nobody
from millstream.serdes.serde import AnySerde
from millstream.task.serdes import node_serdes
from millstream.topology.nodes import SourceNode


class Source:
    """A source node in a task.

    Args:
        node: the topology's node.
        config: has the default serdes and extractor.
        topics: the real names of its topics.
        internal: True for the source of a repartition topic, which takes timestamps as they are.
    """

    def __init__(self, node: SourceNode, config: StreamsConfig, topics: tuple[str, ...], internal: bool) -> None:
        self.name = node.name
        self.topics = topics
        self.pattern: re.Pattern[str] | None = node.pattern
        self.forward: Forward = forward_to_nobody
        self._serdes = node_serdes(node, config)
        extractor = node.timestamp_extractor or config.default_timestamp_extractor
        plain = internal or type(extractor) is FailOnInvalidTimestamp
        #: None takes the record's own timestamp, which must not be negative.
        self.extractor: TimestampExtractor | None = None if plain else extractor

    def serdes_for(self, topic: str) -> tuple[AnySerde, AnySerde]:
        """The serdes of key and value for one of its topics."""
        key, value = self._serdes
        return key.for_topic(topic, True), value.for_topic(topic, False)
