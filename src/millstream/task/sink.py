"""Sinks: records leave the topology, serialised, for a topic."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from millstream.errors import ProductionError, describe_callable
from millstream.processors.operator import Operator
from millstream.processors.user_context import HostContext
from millstream.records import Headers, Record, RecordContext
from millstream.serdes.serde import AnySerde
from millstream.serdes.windowed import WindowedSerde
from millstream.task.errors.handling import ErrorHandling
from millstream.task.records import OutputRecord
from millstream.topology.nodes import SinkNode


class PlainSink(NamedTuple):
    """What it takes to write a record to a topic."""

    serialize_key: Callable[[Any], bytes]
    serialize_value: Callable[[Any], bytes]
    append: Callable[[OutputRecord], None]
    #: Called with a record that could not be serialised, and why.
    unwritable: Callable[[Record[Any, Any], Exception], None]


class SinkOperator(Operator):
    """Appends what it gets to the task's outputs.

    Args:
        node: the topology's node.
        serdes: of key and value.
        real_name: turns an internal topic's name into the one with the application's prefix.
        context: the task's context.
        errors: the task's handlers, which also say where records go.
    """

    context: HostContext

    def __init__(
        self,
        node: SinkNode,
        serdes: tuple[AnySerde, AnySerde],
        real_name: Callable[[str], str],
        context: HostContext,
        errors: ErrorHandling,
    ) -> None:
        self.name = node.name
        self.context = context
        self._serdes = serdes
        self._errors = errors
        self._append = errors.writer(node.name)
        self._partitioner = node.partitioner
        # The producer would look at the whole key. Hosts that leave all to it need not be asked for each record.
        self._asks_context = (
            node.partitioner is None
            and isinstance(serdes[0], WindowedSerde)
            and type(context).default_partition is not HostContext.default_partition
        )
        self._by_topic: dict[str, tuple[AnySerde, AnySerde]] = {}
        #: The topic of all records, if nothing has to be found out for any of them.
        self.plain_topic: str | None = None
        if isinstance(node.topic, str):
            topic = real_name(node.topic)
            if node.partitioner is None and not self._asks_context:
                self.plain_topic = topic
                self.process = self._writer(topic)  # type: ignore[method-assign,assignment]  # the common case
            self._topic: str | None = topic
        else:
            self._topic = None
            self._extractor = node.topic
            errors.keeps_source_records = True  # which the extractor may ask for

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        topic = self._topic or self._extract(key, value, timestamp, headers)
        partitions: Collection[int | None] = (None,)
        if self._partitioner is not None:
            partitions = _chosen(self._partitioner(topic, key, value, self.context.partition_count(topic)))
            if not partitions:
                self.drop("its partitioner chose no partition")
                return
        key_serde, value_serde = serdes = self._serdes_for(topic)
        try:
            raw_key = None if key is None else key_serde.serialize(key)
            raw_value = None if value is None else value_serde.serialize(value)
        except Exception as error:
            self._errors.unwritable(self.name, topic, Record(key, value, timestamp, headers), serdes, error)
            return
        if self._asks_context and key is not None and isinstance(key_serde, WindowedSerde):
            partitions = (self.context.default_partition(topic, key_serde.inner.serialize(key.key)),)
        for partition in partitions:
            self._append((topic, partition, raw_key, raw_value, timestamp, list(headers) if headers else None))

    def _writer(self, topic: str) -> Callable[[Any, Any, int, Headers | None], None]:
        """`process` for a plain topic, all it needs in reach."""
        serdes = self._serdes_for(topic)
        serialize_key, serialize_value, append = serdes[0].serialize, serdes[1].serialize, self._append

        def write(key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
            try:
                append(
                    (
                        topic,
                        None,
                        None if key is None else serialize_key(key),
                        None if value is None else serialize_value(value),
                        timestamp,
                        list(headers) if headers else None,
                    )
                )
            except Exception as error:
                self._errors.unwritable(self.name, topic, Record(key, value, timestamp, headers), serdes, error)

        return write

    def plain(self, topic: str) -> PlainSink:
        """The parts of a sink with a plain topic, for code that does its work."""
        serdes = self._serdes_for(topic)

        def unwritable(record: Record[Any, Any], error: Exception) -> None:
            self._errors.unwritable(self.name, topic, record, serdes, error)

        return PlainSink(serdes[0].serialize, serdes[1].serialize, self._append, unwritable)

    def _serdes_for(self, topic: str) -> tuple[AnySerde, AnySerde]:
        serdes = self._by_topic.get(topic)
        if serdes is None:
            key, value = self._serdes
            serdes = self._by_topic[topic] = (key.for_topic(topic, True), value.for_topic(topic, False))
        return serdes

    def _extract(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> str:
        context = self.context
        raw = self._errors.current_source_record() or (None, None)
        place = (context.topic, context.partition, context.offset)
        where = RecordContext(*place, timestamp, headers or Headers(), raw[0], raw[1])
        topic = self._extractor(key, value, where)
        if not isinstance(topic, str) or not topic:
            raise ProductionError(
                f"sink '{self.name}' has no topic for a record",
                detail=f"{describe_callable(self._extractor)} returned {topic!r}",
                hint="a topic extractor must return the topic's name",
            )
        return topic


def _chosen(answer: int | Collection[int] | None) -> Collection[int | None]:
    """What a partitioner meant: None leaves it to the key, several partitions get a copy each."""
    return (answer,) if answer is None or isinstance(answer, int) else list(answer)
