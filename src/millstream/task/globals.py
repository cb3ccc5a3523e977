"""Global stores: full copies of topics that every task can read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, cast

from millstream.config import StreamsConfig
from millstream.errors import StreamsError, TopologyError
from millstream.handlers import Decision, ErrorHandlerContext
from millstream.processors.operator import Operator
from millstream.processors.user_context import HostContext
from millstream.records import Headers, Record
from millstream.serdes.serde import AnySerde
from millstream.state.store import StateStore
from millstream.task.context import host_context
from millstream.task.errors.failures import processing_error
from millstream.task.records import RawRecord
from millstream.task.serdes import node_serdes, store_with_serdes
from millstream.topology.nodes import ProcessorNode, SourceNode
from millstream.topology.topology import Topology

#: What Kafka Streams calls the task of global stores.
GLOBAL_TASK_ID = "-1_-1"


class GlobalState:
    """The global stores of a topology, and the nodes that write them.

    Records that cannot be deserialised are logged and dropped. Timestamps are the records' own.

    Args:
        topology: the whole topology.
        config: the application's configuration.
        context: the surroundings, if the host has its own kind.
    """

    def __init__(self, topology: Topology, config: StreamsConfig, context: HostContext | None = None) -> None:
        self.context = host_context(config, GLOBAL_TASK_ID, HostContext) if context is None else context
        self._config = config
        #: Open stores by name.
        self.stores: dict[str, StateStore] = {}
        self._writers: dict[str, tuple[str, Operator, AnySerde, AnySerde]] = {}
        for name, store in topology.global_stores.items():
            source = cast("SourceNode", topology.nodes[store.source])
            processor = cast("ProcessorNode", topology.nodes[store.processor])
            key, value = node_serdes(source, config)
            operator = processor.factory()
            operator.name = processor.name
            operator.forward = _no_forward(processor.name)
            operator.children = {}
            self.context.connected_stores[processor.name] = frozenset((name,))
            self.stores[name] = self.context.stores[name] = store_with_serdes(
                store.builder, config, store.topic
            ).build()
            self._writers[store.topic] = (
                source.name, operator, key.for_topic(store.topic, True), value.for_topic(store.topic, False),
            )  # fmt: skip
        for opened in self.stores.values():
            opened.init(self.context)
        for _, operator, _, _ in self._writers.values():
            operator.init(self.context)

    @property
    def topics(self) -> list[str]:
        """The topics that the stores are copies of."""
        return list(self._writers)

    def apply(self, topic: str, partition: int, records: Iterable[RawRecord]) -> None:
        """Bring a store up to date with records of its topic."""
        try:
            source, operator, key_serde, value_serde = self._writers[topic]
        except KeyError:
            raise TopologyError(
                f"no global store is filled from topic '{topic}'", detail=f"topics are {', '.join(self._writers)}"
            ) from None
        context = self.context
        context.topic, context.partition = topic, partition
        for raw_key, raw_value, timestamp, pairs, offset in records:
            context.offset = offset
            key: Any = raw_key
            value: Any = raw_value
            try:
                if key is not None:
                    key = key_serde.deserialize(key)
                if value is not None:
                    value = value_serde.deserialize(value)
            except Exception as error:
                context.drop(source, f"it could not be deserialised: {error!r}")
                continue
            context.timestamp = timestamp
            context.headers = headers = Headers(pairs or ())
            try:
                operator.process(key, value, timestamp, headers)
            except Exception as error:
                self._raised(operator.name, error, Record(key, value, max(timestamp, 0), headers), (raw_key, raw_value))

    def _raised(
        self, node: str, error: Exception, record: Record[Any, Any], raw: tuple[bytes | None, bytes | None]
    ) -> None:
        """A node raised: the handler decides, if it is to be asked here."""
        config, context = self._config, self.context
        if config.processing_exception_handler_global_enabled:
            where = ErrorHandlerContext(
                topic=context.topic,
                partition=context.partition,
                offset=context.offset,
                timestamp=record.timestamp,
                headers=record.headers,
                processor_node_id=node,
                task_id=context.task_id,
                source_raw_key=raw[0],
                source_raw_value=raw[1],
            )
            if config.processing_exception_handler.handle(where, record, error).decision is Decision.RESUME:
                context.drop(node, f"it raised {error!r}")
                return
        raise processing_error(error, "process", node, context) from error

    def flush(self) -> None:
        """Flush the stores."""
        for store in self.stores.values():
            store.flush()

    def close(self) -> None:
        """Close processors and stores."""
        for _, operator, _, _ in self._writers.values():
            operator.close()
        for store in self.stores.values():
            store.close()


def _no_forward(node: str) -> Any:
    def forward(*_: Any) -> NoReturn:
        raise StreamsError(f"'{node}' cannot forward", detail="it keeps a global store, which has nothing below it")

    return forward
